import { expect, it } from 'vitest';
import { tooLarge } from '../../../src/bus/too-large.ts';
import { createLedger } from '../../../src/outcomes/ledger.ts';
import type { SettledLine } from '../../../src/outcomes/rows.ts';

const lineOf = (sequence: number): SettledLine => ({
  ...{ pipeline: 'logs', data_id: 0, app_id: 7, base: '1', first: 0, ordinal: -1, redrive: 0 },
  ...{ minute: '2026-02-03 04:05:00', received: 1, outcomes: { stored: 1 }, at: '2026-02-03 04:05:06.789' },
  ...{ stream: 'LOGS', life: 9, serial: 5, sent: '2026-02-03 04:05:00', sequence, owners: 1, items: 1 },
});

// The consumer of the stream waits for its lines, with the messages of all owners.
it('the lines of settled messages are recorded with any limit of NATS, also where its limit was lowered since the last try', async () => {
  const recorded: number[] = [];
  const sizes: number[] = [];
  const limit = { sizeMax: 8 * 2 ** 20, holds: 8 * 2 ** 20 };
  const ledger = createLedger(
    {
      publish: async (_, messageId, payload) => {
        const bytes = Buffer.from(payload as Uint8Array);
        const size = bytes.length + 300;
        sizes.push(size);
        if (size > limit.holds) {
          limit.sizeMax = limit.holds;
          throw tooLarge(size, limit.holds);
        }
        for (const line of bytes.toString().split('\n').slice(0, -1))
          recorded.push(JSON.parse(line).sequence);
        return { duplicate: false, wasKnown: false, tries: 1, sequence: messageId.length };
      },
      get sizeMax() {
        return limit.sizeMax;
      },
      ...{ pending: 0, askSizeMax: async () => {}, close: () => {} },
    },
    1,
  );
  const lines = Array.from({ length: 3_000 }, (_, index) => lineOf(index));
  await ledger.record(lines);
  expect(recorded.splice(0)).toEqual(lines.map(({ sequence }) => sequence));
  expect(sizes.splice(0)).toHaveLength(2);
  limit.holds = 256 * 1024;
  await expect(ledger.record(lines)).rejects.toMatchObject({ code: 'message_too_large' });
  recorded.length = 0;
  await ledger.record(lines);
  expect(recorded).toEqual(lines.map(({ sequence }) => sequence));
});
