import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type AccountStack,
  seenMsMax,
  startAccountStack,
  wrongIn,
} from '../support/account/account-stack.ts';
import { messagesOf } from '../support/outcomes/books.ts';
import { createPointMessages } from '../support/push/point-messages.ts';
import type { RoleProcess } from '../support/stack/stack.ts';
import { waitFor } from '../support/wait.ts';

let on: AccountStack;

beforeAll(async () => {
  on = await startAccountStack();
});
afterAll(() => on?.stop());

const transfer = (): RoleProcess => {
  const [role] = on.stack.transfer;
  if (role === undefined) throw new Error('there is no transfer');
  return role;
};

/** Pushes while nothing takes messages from the streams, then does something to them, and lets transfer go on. */
const whileNothingSettles = async (
  pushes: () => Promise<void>,
  fault: () => Promise<void>,
): Promise<void> => {
  await on.settled();
  await transfer().kill();
  await pushes();
  await fault();
  transfer().start();
  await transfer().ready();
};

describe('what befalls a stream', () => {
  it('its purge is a loss of exactly the messages that it held', async () => {
    const report = await on.stack.createReport('purged');
    await on.pushEach(report, 3, 2);
    await on.whole(report, 6);
    let startedAt = 0;
    await whileNothingSettles(
      () => on.pushEach(report, 20, 3),
      async () => {
        expect(await messagesOf(on.bus, 'METRICS')).toHaveLength(20);
        startedAt = performance.now();
        await (await on.bus.manager()).streams.purge('METRICS');
      },
    );
    const account = await on.seen(
      'a purge of 20 messages',
      report,
      [{ kind: 'lost_in_the_stream', stream: 'METRICS', items: 60, messages: 20 }],
      startedAt,
    );
    expect(account).toMatchObject({ received: 66, stored: 6, lost: 60, in_flight: 0 });
  });

  it('5 of 10 deleted messages are a loss of 5', async () => {
    const report = await on.stack.createReport('deleted');
    let startedAt = 0;
    await whileNothingSettles(
      () => on.pushEach(report, 10, 4),
      async () => {
        const messages = await messagesOf(on.bus, 'METRICS');
        expect(messages).toHaveLength(10);
        const { streams } = await on.bus.manager();
        startedAt = performance.now();
        for (const { sequence } of messages.filter((_, index) => index % 2 === 0))
          await streams.deleteMessage('METRICS', sequence);
      },
    );
    const account = await on.seen(
      'deletion of 5 messages of 10',
      report,
      [{ kind: 'lost_in_the_stream', stream: 'METRICS', items: 20, messages: 5 }],
      startedAt,
    );
    expect(account).toMatchObject({ received: 40, stored: 20, lost: 20, in_flight: 0 });
  });

  it('its deletion is a loss of exactly the messages that it held, and nothing that comes after it is one', async () => {
    const report = await on.stack.createReport('stream deleted');
    await on.pushEach(report, 4, 2);
    await on.whole(report, 8);
    let startedAt = 0;
    await whileNothingSettles(
      () => on.pushEach(report, 15, 3),
      async () => {
        const { streams } = await on.bus.manager();
        const { last_seq: last } = (await streams.info('METRICS')).state;
        startedAt = performance.now();
        await streams.delete('METRICS');
        await waitFor('metadata makes it again, above every number', 60_000, async () => {
          const made = await streams.info('METRICS').catch(() => undefined);
          return (made?.config.first_seq ?? 0) > last;
        });
      },
    );
    await on.seen(
      'a deleted stream of 15 messages',
      report,
      [{ kind: 'lost_in_the_stream', stream: 'METRICS', items: 45, messages: 15 }],
      startedAt,
    );
    await on.pushEach(report, 5, 1);
    await on.settled();
    await waitFor('what came after it is stored, and the loss is the same', 120_000, async () => {
      const { received, stored, lost, in_flight: inFlight } = (await on.account(report)) ?? {};
      expect([received, stored, lost, inFlight]).toEqual([58, 13, 45, 0]);
      return true;
    });
    expect(await on.unexpected()).toEqual([]);
  });

  it('messages that the consumer was moved past are stuck, and are not removed', async () => {
    const report = await on.stack.createReport('moved past');
    let startedAt = 0;
    let sequences: number[] = [];
    await whileNothingSettles(
      () => on.pushEach(report, 10, 2),
      async () => {
        sequences = (await messagesOf(on.bus, 'METRICS')).map(({ sequence }) => sequence);
        expect(sequences).toHaveLength(10);
        startedAt = performance.now();
        await (await on.bus.manager()).consumers.reset('METRICS', 'questdb', sequences[7]);
      },
    );
    await on.seen(
      'a consumer moved past 7 messages',
      report,
      [{ kind: 'stuck', stream: 'METRICS', items: 14, messages: 7 }],
      startedAt,
    );
    await waitFor('the sweep has looked at them', 60_000, () =>
      transfer().lines.some((line) => line.includes('the consumer has passed messages that nobody settled')),
    );
    const kept = (await messagesOf(on.bus, 'METRICS')).map(({ sequence }) => sequence);
    expect(kept).toEqual(sequences.slice(0, 7));
    // Moved back, they settle, and the difference is gone.
    await (await on.bus.manager()).consumers.reset('METRICS', 'questdb', sequences[0]);
    await on.whole(report, 20);
    await waitFor('none is left', 60_000, async () => (await on.stack.streamState('METRICS')).messages === 0);
  });

  it('deleted messages beside stuck ones are lost in the stream, each in one difference', async () => {
    const report = await on.stack.createReport('deleted and moved past');
    let startedAt = 0;
    let third = 0;
    await whileNothingSettles(
      () => on.pushEach(report, 6, 2),
      async () => {
        const sequences = (await messagesOf(on.bus, 'METRICS')).map(({ sequence }) => sequence);
        const [first = 0, second = 0] = sequences;
        third = sequences[2] ?? 0;
        const { streams, consumers } = await on.bus.manager();
        startedAt = performance.now();
        await streams.deleteMessage('METRICS', first);
        await streams.deleteMessage('METRICS', second);
        await consumers.reset('METRICS', 'questdb', sequences[4]);
      },
    );
    await on.seen(
      'deletion of 2 messages, and a consumer moved past 2 others',
      report,
      [
        { kind: 'lost_in_the_stream', stream: 'METRICS', items: 4, messages: 2 },
        { kind: 'stuck', stream: 'METRICS', items: 4, messages: 2 },
      ],
      startedAt,
    );
    await (await on.bus.manager()).consumers.reset('METRICS', 'questdb', third);
    await waitFor('none is left', 60_000, async () => (await on.stack.streamState('METRICS')).messages === 0);
  });

  it('messages without a line are those of nobody, and their owner’s once a line comes', async () => {
    const dataId = 2_950_001;
    const publish = createPointMessages(on.bus);
    await on.settled();
    await transfer().kill();
    for (let count = 0; count < 6; count++) await publish(dataId, count);
    const sequences = (await messagesOf(on.bus, 'METRICS')).map(({ sequence }) => sequence);
    expect(sequences).toHaveLength(6);
    await (await on.bus.manager()).streams.purge('METRICS');
    transfer().start();
    const lossesOf = async (owner: number): Promise<string[]> =>
      (await on.accounts())
        .filter((each) => each.data_id === owner && each.app_id === 0)
        .flatMap(wrongIn)
        .map(({ kind, items, messages }) => `${kind} ${items} ${messages}`);
    await waitFor('a loss of nobody', seenMsMax, async () => {
      const found = await lossesOf(0);
      if (String(found) !== 'lost_in_the_stream 0 6') throw new Error(found.join());
      return true;
    });
    const [first, last] = [Math.min(...sequences), Math.max(...sequences)];
    const line = (owner: number): string =>
      `('METRICS', 7, toStartOfMinute(now()), ${owner}, 6, 6, ${first}, ${last}, 6, 1)`;
    await on.change(
      `INSERT INTO otel.ingest_published
        (stream, life, minute, data_id, messages, items, sequence_first, sequence_last, closed, version)
        VALUES ${line(0)}, ${line(dataId)}`,
    );
    await waitFor('it is the loss of its owner, and of nobody else', seenMsMax, async () => {
      const found = [await lossesOf(dataId), await lossesOf(0)];
      if (JSON.stringify(found) !== JSON.stringify([['lost_in_the_stream 6 6'], []]))
        throw new Error(JSON.stringify(found));
      return true;
    });
  });
});
