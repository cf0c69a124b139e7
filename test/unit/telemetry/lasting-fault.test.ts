import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { logLastingFault } from '../../../src/telemetry/lasting-fault.ts';

beforeEach(() => void vi.useFakeTimers({ now: Date.parse('2026-11-24T00:00:00Z') }));
afterEach(() => void vi.useRealTimers());

it('a lasting fault has a beginning, a line a minute with the time of that, and an end, whenever it comes', () => {
  const lines: [string, string, Record<string, unknown>][] = [];
  const log = {
    warn: (fields: Record<string, unknown>, text: string) => void lines.push(['warn', text, fields]),
    info: (fields: Record<string, unknown>, text: string) => void lines.push(['info', text, fields]),
  };
  const texts = { began: 'it fails', ended: 'it works again' };
  const fault = logLastingFault(log, { stream: 'TRACES' }, texts, Date.now);
  fault.worked();
  expect(lines).toEqual([]);
  for (let second = 0; second < 130; second++) {
    fault.failed(new Error('away'));
    vi.advanceTimersByTime(1_000);
  }
  const [began, since] = [{ stream: 'TRACES', error: 'away' }, '2026-11-24T00:00:00.000Z'];
  expect(lines.splice(0)).toEqual([
    ['warn', 'it fails', began],
    ['warn', 'it fails', { ...began, since }],
    ['warn', 'it fails', { ...began, since }],
  ]);
  fault.worked();
  fault.worked();
  expect(lines.splice(0)).toEqual([['info', 'it works again', { stream: 'TRACES', since }]]);
  // Another one is none of the first.
  fault.failed(new Error('away'));
  expect(lines).toEqual([['warn', 'it fails', began]]);
});
