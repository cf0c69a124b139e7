import { describe, expect, it } from 'vitest';
import { timeDistance } from '../../../src/model/time-distance.ts';

const arrivedAt = Date.UTC(2026, 0, 2, 3, 4, 5);
const policy = { aheadMsMax: 3_600_000, ageMsMax: 7 * 86_400_000 };

describe('the distance of a time outside its window', () => {
  it.each([
    [
      'timestamp_too_far_ahead',
      arrivedAt + 2 * 3_600_000 + 61_000,
      "2 h 1 min after the server's time 2026-01-02T03:04:05.000Z; the window is 1 h",
    ],
    [
      'timestamp_too_old',
      arrivedAt - 9 * 86_400_000,
      "9 d before the server's time 2026-01-02T03:04:05.000Z; the window is 7 d",
    ],
    ['timestamp_too_far_ahead', arrivedAt + 3_600_001, /^1 h after /],
    ['timestamp_too_old', arrivedAt - 8 * 86_400_000 - 61, /^8 d before /],
  ] as const)('%s names the time of the server, the distance and the window', (reason, time, text) => {
    expect(timeDistance(reason, time, arrivedAt, policy)).toEqual(
      typeof text === 'string' ? text : expect.stringMatching(text),
    );
  });

  it('is not told where the window is not the reason', () => {
    expect(timeDistance('timestamp_unit_seconds', 5, arrivedAt, policy)).toBe('');
    const open = { aheadMsMax: undefined, ageMsMax: undefined };
    expect(timeDistance('timestamp_too_old', 5, arrivedAt, open)).toBe('');
  });
});
