import { expect, it, onTestFinished, vi } from 'vitest';
import { tooLarge } from '../../../src/bus/too-large.ts';
import type { DeadLetterHeader } from '../../../src/dead-letters/dead-letters.ts';
import { retryingDeadLetters } from '../../../src/dead-letters/retrying.ts';
import { Fault } from '../../../src/model/fault.ts';

const header: DeadLetterHeader = {
  ...{ version: 1, reason: 'span_refused', error: 'no', stream: 'TRACES', streamSequence: 7 },
  ...{ subject: 'traces.0', items: 1, redrive: 0, at: 0 },
};

/** Dead letters that end with these faults in turn, then are kept; and what held their consumer. */
const withFaults = (faults: Fault[]) => {
  const held: (string | undefined)[] = [];
  let tries = 0;
  const letters = retryingDeadLetters(
    {
      put: async () => {
        tries++;
        const fault = faults.shift();
        if (fault !== undefined) throw fault;
      },
    },
    { isStopping: () => false, onHeld: (why) => held.push(why) },
  );
  return { letters, held, tries: () => tries };
};

it('a dead letter that has no room holds its consumer until it is kept', async () => {
  vi.useFakeTimers();
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const { letters, held, tries } = withFaults([
    new Fault('transient', 'stream_full', 'full'),
    new Fault('transient', 'stream_full', 'full'),
  ]);
  const kept = letters.put('a', header, Buffer.alloc(1));
  await vi.advanceTimersByTimeAsync(1_000);
  await kept;
  expect([held, tries()]).toEqual([['full', 'full', undefined], 3]);
});

// No retry makes it smaller: it stopped the messages of all owners.
it('a dead letter that is larger than NATS takes holds nothing', async () => {
  const { letters, held, tries } = withFaults([tooLarge(600_000, 262_144)]);
  await expect(letters.put('a', header, Buffer.alloc(1))).rejects.toThrow('the limit of NATS is 262144');
  expect([held, tries()]).toEqual([[], 1]);
});
