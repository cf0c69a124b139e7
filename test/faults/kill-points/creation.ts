import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bus, connectBus } from '../../../src/bus/connection.ts';
import { buckets } from '../../../src/directory/keys.ts';
import { pointsBatch, settledOnce, spansBatch, storedOnce } from '../../support/push/batches.ts';
import { fetchEngine } from '../../support/stack/fetch-engine.ts';
import type { GatedStack } from '../../support/stack/gated-stack.ts';
import { ackOf, pubAckOf, publishTo, putInto, type StepMatch, sqlStatement } from '../../support/steps.ts';
import { waitFor } from '../../support/wait.ts';
import { sharedStack } from './stack.ts';

// Kills while something is made or brought back: a table, a column, a dead letter. Every gap between two writes of metadata is walked in
// test/operations/metadata-gaps.test.ts (make test-long).

let stack: GatedStack;
let bus: Bus;
beforeAll(async () => {
  stack = await sharedStack();
  bus = await connectBus(stack.engines.nats.url, 'test');
});
afterAll(async () => {
  await bus?.close();
});

let batches = 0;
const nextName = (): string => `creation ${++batches}`;

const streamBodies = async (name: string): Promise<string[]> => {
  const manager = await bus.manager();
  const { state } = await manager.streams.info(name);
  const bodies: string[] = [];
  for (let sequence = state.first_seq; sequence <= state.last_seq; sequence++) {
    const message = await manager.streams.getMessage(name, { seq: sequence });
    if (message !== null) bodies.push(Buffer.from(message.data).toString('latin1'));
  }
  return bodies;
};

describe('metadata killed during table creation', () => {
  it.each<[string, StepMatch]>([
    ['before the table is made', sqlStatement(/CREATE TABLE/)],
    ['after it was made', sqlStatement(/CREATE TABLE/, 'server')],
  ])('%s: the same call again makes it usable, once', async (_, step) => {
    const name = nextName();
    const hold = stack.gate('metadata', 'questdb').hold('the statement', step);
    const refused = stack.createReport(name).catch(() => 'unanswered');
    await hold.arrived();
    await stack.metadata.kill();
    hold.lose();
    expect(await refused).toBe('unanswered');
    stack.metadata.start();
    await stack.metadata.ready();
    // A client that had no answer looks before it calls again: the name is taken once.
    const batch = await waitFor('the report can be used', 60_000, () => pointsBatch(stack, name));
    await batch.sendUntilTaken();
    expect(await batch.settled()).toEqual(settledOnce(batch.items));
    const { dataset } = await stack.query(
      "SELECT count() FROM tables() WHERE table_name LIKE '%__default__'",
    );
    expect(dataset).toEqual([[batches]]);
  });
});

describe('ingress killed during column creation', () => {
  it.each<[string, StepMatch]>([
    ['before the name is registered', putInto(buckets.columns)],
    ['between the name and its first point', publishTo('METRICS')],
  ])('%s: the retry finds or makes the same column', async (_, step) => {
    const batch = await pointsBatch(stack, nextName(), { key: 'k', metric: 'Fresh' });
    const hold = stack.gate('ingress-0', 'nats').hold('the step', step);
    const answer = batch.send();
    await hold.arrived();
    await stack.ingress[0]?.kill();
    hold.lose();
    expect((await answer).status).toBe('unanswered');
    stack.ingress[0]?.start();
    await stack.ingress[0]?.ready();
    await batch.sendUntilTaken();
    expect(await batch.settled()).toEqual(settledOnce(batch.items));
    const { dataset } = await stack.query(
      `SELECT "column" FROM table_columns('${batch.table}') WHERE lower("column") LIKE 'fresh%'`,
    );
    expect(dataset).toEqual([['Fresh']]);
  });
});

describe('transfer killed during dead-lettering', () => {
  const steps: [string, StepMatch][] = [
    ['before its publish', publishTo('DEADLETTER')],
    ['after its PubAck, before the ack', pubAckOf('DEADLETTER')],
    ['at the ack', ackOf('METRICS')],
  ];

  const killAt = async (step: StepMatch, send: () => Promise<unknown>): Promise<void> => {
    const hold = stack.gate('transfer-0', 'nats').hold('the step', step);
    await send();
    await hold.arrived();
    await stack.transfer[0]?.kill();
    hold.lose();
    stack.transfer[0]?.start();
    await stack.transfer[0]?.ready();
    await stack.waitForEmptyStream('METRICS');
  };

  it.each(steps)('%s: a malformed message is dead-lettered once', async (_, step) => {
    const garbage = `garbage ${nextName()}`;
    await killAt(step, () => bus.js.publish('metrics.0', garbage));
    expect((await streamBodies('DEADLETTER')).filter((body) => body.includes(garbage))).toHaveLength(1);
  });

  it.each(steps)(
    '%s: a row that QuestDB refuses is dead-lettered once, its neighbours are stored once',
    async (_, step) => {
      const batch = await pointsBatch(stack, nextName(), { key: 'k' });
      await stack.query(`ALTER TABLE "${batch.table}" ADD COLUMN poison BOOLEAN`);
      await killAt(step, () =>
        batch.push([
          { metrics: { good: 1 }, target: 'before' },
          { metrics: { poison: 1.5 }, target: `refused ${batch.dataId}` },
          { metrics: { good: 2 }, target: 'after' },
        ]),
      );
      expect(await batch.settled()).toEqual({ ...storedOnce(2), received: 3, recorded: 2 });
      const letters = (await streamBodies('DEADLETTER')).filter((body) =>
        body.includes(`refused\\ ${batch.dataId}`),
      );
      expect(letters).toHaveLength(1);
    },
  );
});

describe('metadata killed during a redrive', () => {
  const command = async (statement: string): Promise<void> => {
    const answer = await fetchEngine(stack.engines.clickhouse.url, { method: 'POST', body: statement });
    if (!answer.ok) throw new Error(await answer.text());
  };

  it.each<[string, StepMatch]>([
    ['before its publish', publishTo('TRACES')],
    ['after its PubAck', pubAckOf('TRACES')],
    ['before the letter is removed', ({ text }) => text.includes('$JS.API.STREAM.MSG.DELETE.DEADLETTER')],
  ])('%s: the next redrive stores the span once, and it counts as stored', async (_, step) => {
    const batch = await spansBatch(stack, nextName(), { items: 1 });
    await command(`ALTER TABLE otel.otel_traces ADD CONSTRAINT refused CHECK AppId != ${batch.appId}`);
    await batch.sendUntilTaken();
    expect(await batch.settled()).toEqual({ ...storedOnce(0), received: 1, recorded: 0 });
    const { last_seq: letter, messages } = await stack.streamState('DEADLETTER');
    await command('ALTER TABLE otel.otel_traces DROP CONSTRAINT refused');
    const redrive = () => stack.api('POST', `/api/v1/dead-letters/${letter}/redrive`, {});
    const hold = stack.gate('metadata', 'nats').hold('the step', step);
    const unanswered = redrive().catch(() => 'unanswered');
    await hold.arrived();
    await stack.metadata.kill();
    hold.lose();
    stack.metadata.start();
    await stack.metadata.ready();
    expect(await unanswered).toBe('unanswered');
    expect((await stack.streamState('DEADLETTER')).messages).toBe(messages);
    expect((await redrive()).status).toBe(200);
    expect((await stack.streamState('DEADLETTER')).messages).toBe(messages - 1);
    expect(await batch.settled()).toEqual(settledOnce(1));
  });
});
