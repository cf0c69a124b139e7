import { ClickHouseError } from '@clickhouse/client';
import { expect, it } from 'vitest';
import { toFault } from '../../../../src/stores/clickhouse/faults.ts';
import { createLoneFailures } from '../../../../src/transfer/blocks/lone-failures.ts';
import type { Piece } from '../../../../src/transfer/blocks/pieces.ts';
import { createWriteApart } from '../../../../src/transfer/blocks/write-apart.ts';
import type { HeldMessage } from '../../../../src/transfer/held-message.ts';
import type { BlocksEnvelope } from '../../../../src/wire/blocks-envelope.ts';

const day = 20_000;
const part = {
  ...{ appId: 7, bizId: 2, day, base: '1', first: 0, last: 0, rows: 1, bytes: 1 },
  ...{ timeMin: '0', timeMax: '0' },
};

const messageOf = (streamSequence: number): HeldMessage<BlocksEnvelope> => ({
  delivery: {
    ...{
      payload: Buffer.alloc(0),
      subject: 'traces.0',
      version: 1,
      streamSequence,
      redelivered: true,
      redrive: 0,
    },
    ...{ ack: () => {}, nak: () => {}, working: () => {}, free: () => {} },
  },
  envelope: { header: { kind: 'spans', parts: [part] }, blocks: [Buffer.alloc(1)] } as never,
  ...{ rows: 1, bytes: 1, touchedAt: 0, takenAt: 0 },
});

const pieceOf = (message: HeldMessage<BlocksEnvelope>): Piece => ({
  ...{ message, table: 'otel_traces', tableAndDay: `otel_traces ${day}`, part, block: Buffer.alloc(1) },
});

/** Five batches of which the first message fails with these answers in each try, and the others are stored. */
const writeOften = async (answers: readonly string[]) => {
  const bad = messageOf(1);
  const write = createWriteApart(
    async (message, _refused, _onWrite, onUnstored) => {
      if (message !== bad) return;
      for (const code of answers)
        onUnstored([pieceOf(bad)], toFault(new ClickHouseError({ message: 'no', code, type: 'SOME_CODE' })));
    },
    createLoneFailures(5),
    { table: 'otel_traces', key: 'otel_traces' },
  );
  let letters = 0;
  let waits = 0;
  for (let round = 0; round < 5; round++) {
    const { deadLettered, retryLater } = await write([bad, messageOf(10 + round)], () => {});
    letters += [...deadLettered.values()].flat().length;
    waits += retryLater.size;
  }
  return { letters, waits };
};

// A message whose turn comes last meets a table with too many parts in each round, while the others are stored.
it.each([
  ['TOO_MANY_SIMULTANEOUS_QUERIES', ['202']],
  ['NOT_ENOUGH_SPACE', ['243']],
  ['TOO_MANY_PARTS', ['252']],
  ['PART_IS_TEMPORARILY_LOCKED', ['384']],
  ['SERVER_OVERLOADED', ['745']],
  ['one that rows can cause, beside one that they cannot', ['241', '252']],
])('no valid row is dead-lettered for the state of a table or of the server: %s', async (_, answers) => {
  expect(await writeOften(answers)).toEqual({ letters: 0, waits: 5 });
});

it.each([['241'], ['7777']])('a message that alone fails each time is dead-lettered: %s', async (code) => {
  expect(await writeOften([code])).toEqual({ letters: 1, waits: 4 });
});

/** One batch: its messages fail with these codes, in this order, and are stored without one. */
const delayOf = async (codes: readonly (string | undefined)[]) => {
  const batch = codes.map((_, at) => messageOf(1 + at));
  const write = createWriteApart(
    async (message, _refused, _onWrite, onUnstored) => {
      const code = codes[batch.indexOf(message)];
      if (code === undefined) return;
      const answer = new ClickHouseError({ message: 'no', code, type: 'SOME_CODE' });
      onUnstored([pieceOf(message)], toFault(answer));
    },
    createLoneFailures(5),
    { table: 'otel_traces', key: 'otel_traces' },
  );
  const { retryLater, retryLaterMs } = await write(batch, () => {});
  return { waits: retryLater.size, retryLaterMs };
};

// At each redelivery of such a message its batch fails six times, five seconds in all, before it is written apart.
it('a message that waits for the state of a table or of the server does not hold up the others every few seconds', async () => {
  expect(await delayOf(['243', undefined])).toEqual({ waits: 1, retryLaterMs: 30_000 });
  expect(await delayOf(['201', '210', undefined])).toEqual({ waits: 2, retryLaterMs: 30_000 });
});

it('a message that waits for another reason is not delayed so long', async () => {
  expect(await delayOf(['241', undefined])).toEqual({ waits: 1 });
  expect(await delayOf(['243', '241', undefined])).toEqual({ waits: 2 });
});

it('messages that were not tried, because the store takes none, are not delayed so long', async () => {
  expect(await delayOf(['243', '243', '243', undefined])).toEqual({ waits: 4 });
});
