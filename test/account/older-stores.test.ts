import { cpSync, globSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type AccountStack,
  seenMsMax,
  startAccountStack,
  wrongIn,
} from '../support/account/account-stack.ts';
import { messagesOf } from '../support/outcomes/books.ts';
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

const store = (): string => join(on.stack.folder, 'nats', 'store');
const copy = (): string => join(on.stack.folder, 'nats-copy');

/** Stops NATS for a copy of its store, and starts it again. */
const copyStore = async (): Promise<void> => {
  const { nats } = on.stack.engines;
  await nats.stop();
  rmSync(copy(), { recursive: true, force: true });
  cpSync(store(), copy(), { recursive: true });
  await nats.start();
  await waitFor('the connection of this test is back', 60_000, async () => {
    await (await on.bus.manager()).streams.info('METRICS');
    return true;
  });
};

const putBack = (): void => {
  rmSync(store(), { recursive: true });
  cpSync(copy(), store(), { recursive: true });
};

const sequences = async (): Promise<number[]> =>
  (await messagesOf(on.bus, 'METRICS')).map(({ sequence }) => sequence);

describe('transfer that stops in order under load', () => {
  it('has put the line of every message that it acknowledged into ClickHouse', async () => {
    const report = await on.stack.createReport('stopped under load');
    await on.pushEach(report, 1, 1);
    await on.settled();
    const { last_seq: before } = await on.stack.streamState('METRICS');
    let isStopped = false;
    const load = (async () => {
      while (!isStopped) await on.push(report, 1);
    })();
    await waitFor(
      'messages come',
      60_000,
      async () => (await on.stack.streamState('METRICS')).last_seq > before,
    );
    expect(await transfer().stop()).toBe(0);
    isStopped = true;
    await load;
    const { last_seq: last, messages } = await on.stack.streamState('METRICS');
    const [settled] = await on.stack.spansQuery(
      `SELECT toUInt32(uniqExact(sequence)) AS messages FROM otel.ingest_settled WHERE stream = 'METRICS' AND sequence > ${before}`,
    );
    expect(settled).toEqual({ messages: last - before - messages });
    transfer().start();
    await transfer().ready();
  });
});

describe('NATS that comes back with less than it confirmed', () => {
  it('from an older copy of its store: what was published since and not settled is a loss, what was settled is none', async () => {
    const report = await on.stack.createReport('older copy');
    await on.pushEach(report, 4, 2);
    await on.whole(report, 8);
    await on.settled();
    await copyStore();
    await on.stack.ready();
    await on.pushEach(report, 5, 2);
    await on.whole(report, 18);
    await on.settled();
    await transfer().kill();
    await on.pushEach(report, 7, 3);
    expect(await sequences()).toHaveLength(7);
    const startedAt = performance.now();
    await on.stack.engines.nats.kill();
    putBack();
    await on.stack.engines.nats.start();
    transfer().start();
    const account = await on.seen(
      'an older copy of NATS without 7 messages',
      report,
      [{ kind: 'lost_by_the_engine', stream: 'METRICS', items: 21, messages: 7 }],
      startedAt,
    );
    expect(account).toMatchObject({ received: 39, stored: 18, lost: 21, in_flight: 0 });
    // Later messages get the sequences of the lost and of the settled ones again.
    await on.stack.ready();
    const later = await on.stack.createReport('after an older copy');
    await on.pushEach(later, 20, 1);
    await on.whole(later, 20);
    expect(await on.unexpected()).toEqual([]);
  });

  it('and receivers that ended in order while messages waited: their last lines are in ClickHouse, and name the loss', async () => {
    const report = await on.stack.createReport('ended in order');
    await on.pushEach(report, 4, 2);
    await on.whole(report, 8);
    await on.settled();
    await copyStore();
    await on.stack.ready();
    await (await on.bus.manager()).consumers.pause('METRICS', 'questdb', new Date(Date.now() + 3_600_000));
    await on.pushEach(report, 7, 3);
    const { ingress, metadata, engines } = on.stack;
    // As `tidemark up` stops.
    for (const role of [...ingress, transfer(), metadata]) expect(await role.stop()).toBe(0);
    const [last] = await on.stack.spansQuery(
      'SELECT argMax(ended, (life, version)) AS ended FROM otel.ingest_published WHERE data_id = 0',
    );
    expect(last).toEqual({ ended: 1 });
    const startedAt = performance.now();
    await engines.nats.stop();
    putBack();
    await engines.nats.start();
    for (const role of [...ingress, transfer(), metadata]) role.start();
    await on.stack.ready();
    await on.seen(
      'an older copy of NATS after everything had stopped in order, without 7 messages',
      report,
      [{ kind: 'lost_by_the_engine', stream: 'METRICS', items: 21, messages: 7 }],
      startedAt,
    );
    expect(await on.unexpected()).toEqual([]);
  });

  it('and no receiver whose lines name the loss: its messages show without items and owner, also once their sequences are used again', async () => {
    const report = await on.stack.createReport('without lines');
    // Beyond the numbers that an earlier copy has lost already.
    await on.pushEach(report, 20, 1);
    await on.whole(report, 20);
    await on.settled();
    await copyStore();
    await on.stack.ready();
    const { ingress, engines } = on.stack;
    await transfer().kill();
    await on.pushEach(report, 7, 3);
    const end = (await on.stack.streamState('METRICS')).last_seq;
    await waitFor('metadata has noted how far the stream is', 120_000, async () => {
      const [noted] = await on.stack.spansQuery(
        "SELECT toUInt32(max(last)) AS last FROM otel.ingest_stream_ends WHERE stream = 'METRICS'",
      );
      return noted?.['last'] === end;
    });
    for (const role of ingress) await role.kill();
    const startedAt = performance.now();
    await engines.nats.kill();
    putBack();
    await engines.nats.start();
    for (const role of [...ingress, transfer()]) role.start();
    await on.stack.ready();
    const ofNobody = async (): Promise<string[]> =>
      (await on.accounts())
        .filter((each) => each.data_id === 0 && each.app_id === 0)
        .flatMap(wrongIn)
        .map(({ kind, stream, items, messages }) => `${kind} ${stream} ${items} ${messages}`);
    const lost = ['lost_in_the_stream METRICS 0 7'];
    await waitFor('a loss of nobody', seenMsMax, async () => {
      const found = await ofNobody();
      if (String(found) !== String(lost)) throw new Error(found.join());
      return true;
    });
    process.stdout.write(
      `7 messages that no line names: seen after ${((performance.now() - startedAt) / 1_000).toFixed(1)} s\n`,
    );
    const later = await on.stack.createReport('after receivers without lines');
    await on.pushEach(later, 20, 1);
    await on.whole(later, 20);
    expect(await ofNobody()).toEqual(lost);
  });

  it('with a cut tail: the messages of the tail are a loss, those before it settle', async () => {
    const report = await on.stack.createReport('cut tail');
    await on.settled();
    await transfer().kill();
    await on.pushEach(report, 12, 2);
    const before = await sequences();
    expect(before).toHaveLength(12);
    const startedAt = performance.now();
    await on.stack.engines.nats.kill();
    const block = globSync(join(store(), '**/streams/METRICS/msgs/*.blk')).toSorted().at(-1) ?? '';
    truncateSync(block, statSync(block).size - 900);
    await on.stack.engines.nats.start();
    const kept = await waitFor('NATS answers again', 60_000, sequences);
    const lost = before.length - kept.length;
    expect(lost).toBeGreaterThan(0);
    expect(lost).toBeLessThan(12);
    transfer().start();
    await on.seen(
      `a cut tail of ${lost} messages`,
      report,
      [{ kind: 'lost_by_the_engine', stream: 'METRICS', items: 2 * lost, messages: lost }],
      startedAt,
    );
    // But for what no line names of the copy before.
    expect((await on.unexpected()).filter(({ owners }) => owners.length > 0)).toEqual([]);
  });
});
