import { expect, it, onTestFinished, vi } from 'vitest';

it('the shared stream is asked for at most eight topics: beyond them for the samples of all owners', async () => {
  vi.stubGlobal('BroadcastChannel', class {});
  onTestFinished(() => void vi.unstubAllGlobals());
  const { askedTopics } = await import('../../../console/src/api/live.ts');
  const owners = Array.from({ length: 8 }, (_, index) => `drops:app:${index + 1}` as const);
  expect(askedTopics(['line', ...owners.slice(0, 7), 'line'])).toBe([...owners.slice(0, 7), 'line'].join());
  expect(askedTopics(['line', ...owners, 'dead_letters'])).toBe('dead_letters,drops,line');
});
