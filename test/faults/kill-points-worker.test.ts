import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectBus } from '../../src/bus/connection.ts';
import { type Batch, pointsBatch, settledOnce, spansBatch, storedOnce } from '../support/push/batches.ts';
import { fetchEngine } from '../support/stack/fetch-engine.ts';
import type { Gate } from '../support/stack/gate.ts';
import { type GatedStack, startGatedStack } from '../support/stack/gated-stack.ts';
import {
  ackOf,
  ackOfOutcomes,
  insertOfOutcomes,
  insertOfSpans,
  isWholeRequest,
  outcomesStored,
  pointsStored,
  pubAckOf,
  publishTo,
  type StepMatch,
  second,
  spansStored,
  writeOfPoints,
} from '../support/steps.ts';
import { until } from '../support/until.ts';
import { waitFor } from '../support/wait.ts';

// Transfer, killed at each instant between a delivery and its ack. What kills the databases themselves do is in
// kill-points/stores, and at every rename of a part in test/engines/clickhouse-kills.test.ts.

let stack: GatedStack;
beforeAll(async () => {
  // A window this short lets the guard down soon after each start: fresh messages take the plain insert.
  stack = await startGatedStack({ duplicateWindowSeconds: 2, transfer: 2 });
  await stack.transfer[1]?.stop();
});
afterAll(() => stack?.stop());

type Signal = {
  readonly name: string;
  readonly engine: 'questdb' | 'clickhouse';
  readonly write: StepMatch;
  readonly stored: StepMatch;
  make(): Promise<Batch>;
};

let batches = 0;
const signals: Signal[] = [
  {
    name: 'points',
    engine: 'questdb',
    write: writeOfPoints(),
    stored: pointsStored,
    make: () => pointsBatch(stack, `worker ${++batches}`, { key: 'k' }),
  },
  {
    name: 'spans',
    engine: 'clickhouse',
    write: insertOfSpans,
    stored: spansStored,
    make: () => spansBatch(stack, `worker ${++batches}`),
  },
];

/** Sends the batch, kills transfer when this step is reached, and starts it again. Answers what was stored at the kill. */
const killAt = async (batch: Batch, gate: Gate, what: string, step: StepMatch) => {
  const hold = gate.hold(what, step);
  await batch.sendUntilTaken();
  await hold.arrived();
  await stack.transfer[0]?.kill();
  hold.lose();
  const left = await batch.stored();
  stack.transfer[0]?.start();
  await stack.transfer[0]?.ready();
  return left;
};

/** Waits until fresh messages are inserted without the guard. */
const guardIsDown = async (): Promise<void> => {
  const guarded = async (): Promise<number> =>
    Number(/guarded_inserts_total\S* (\d+)/.exec((await stack.transfer[0]?.metrics()) ?? '')?.[1] ?? 0);
  await waitFor('the guard is down', 60_000, async () => {
    const before = await guarded();
    const again = await spansBatch(stack, `worker ${++batches}`, { items: 1 });
    await again.sendUntilTaken();
    await again.settled();
    return (await guarded()) === before;
  });
};

const command = async (statement: string): Promise<void> => {
  const answer = await fetchEngine(stack.engines.clickhouse.url, { method: 'POST', body: statement });
  expect([answer.status, await answer.text()]).toEqual([200, '']);
};

describe.each(signals)('transfer killed with $name', ({ name, engine, write, stored, make }) => {
  const toStore = () => stack.gate('transfer-0', engine);

  it('after delivery, before the database call: delivered again, stored once', async () => {
    const batch = await make();
    expect(await killAt(batch, toStore(), 'the write', write)).toEqual(storedOnce(0));
    expect(await batch.settled()).toEqual(settledOnce(batch.items));
  });

  it('between database success and outcome: written again, stored once', async () => {
    if (name === 'spans') await guardIsDown();
    const batch = await make();
    const left = await killAt(batch, toStore(), 'the answer of the store', stored);
    if (name === 'spans') expect(left).toEqual(storedOnce(batch.items));
    expect(await batch.settled()).toEqual(settledOnce(batch.items));
  });

  it('after database success, before its outcome is recorded: stored once, recorded once', async () => {
    if (name === 'spans') await guardIsDown();
    const batch = await make();
    await killAt(batch, stack.gate('transfer-0', 'nats'), 'the outcome', publishTo('LEDGER'));
    expect(await batch.settled()).toEqual(settledOnce(batch.items));
  });

  it('after its outcome is recorded, before the PubAck arrives: stored once, recorded once', async () => {
    const batch = await make();
    await killAt(batch, stack.gate('transfer-0', 'nats'), 'the PubAck of the outcome', pubAckOf('LEDGER'));
    expect(await batch.settled()).toEqual(settledOnce(batch.items));
  });

  it('between outcome and ack: written again, stored once, recorded once', async () => {
    if (name === 'spans') await guardIsDown();
    const batch = await make();
    await killAt(batch, stack.gate('transfer-0', 'nats'), 'the ack', ackOf(batch.stream));
    expect(await batch.settled()).toEqual(settledOnce(batch.items));
  });

  it('an ack that is lost: delivered again, stored once', async () => {
    const batch = await make();
    const hold = stack.gate('transfer-0', 'nats').hold('the ack', ackOf(batch.stream));
    await batch.sendUntilTaken();
    await hold.arrived();
    hold.lose();
    expect(await batch.settled()).toEqual(settledOnce(batch.items));
  });
});

describe('transfer killed with outcomes', () => {
  // The ledger's consumer settles like the others.
  it.each([
    ['before their insert', insertOfOutcomes],
    ['after their insert, before its answer', outcomesStored],
  ])('%s: recorded once', async (_, step) => {
    const batch = await pointsBatch(stack, `worker ${++batches}`);
    await killAt(batch, stack.gate('transfer-0', 'clickhouse'), 'the insert of outcomes', step);
    expect(await batch.settled()).toEqual(settledOnce(batch.items));
  });

  it('at their ack: recorded once', async () => {
    const batch = await pointsBatch(stack, `worker ${++batches}`);
    await killAt(batch, stack.gate('transfer-0', 'nats'), 'the ack of outcomes', ackOfOutcomes());
    expect(await batch.settled()).toEqual(settledOnce(batch.items));
  });
});

describe('transfer killed with spans of several days', () => {
  it('between parts of a multi-day insert: the guard inserts the days that are missing', async () => {
    await guardIsDown();
    const batch = await spansBatch(stack, `worker ${++batches}`, { items: 30, days: 3 });
    const gate = stack.gate('transfer-0', 'clickhouse');
    expect(await killAt(batch, gate, 'the insert of the second day', second(insertOfSpans))).toEqual(
      storedOnce(10),
    );
    expect(await batch.settled()).toEqual(settledOnce(30));
  });
});

describe.each(signals)('a worker of $name', ({ name, engine, write, make }) => {
  /** Sends the batch and holds the first worker's write on the wire until the second has taken over and stored it. */
  const overtake = async (batch: Batch, stopFirst: () => Promise<void> | void) => {
    if (name === 'spans') await guardIsDown();
    const hold = stack.gate('transfer-0', engine).hold('the write', write, { outlivesClient: true });
    await batch.sendUntilTaken();
    const { text } = await hold.arrived();
    // The body comes behind the head, and a worker that is killed before has no write on the wire.
    await until('all of the write is on the wire', () => isWholeRequest(text + hold.behind()));
    await stopFirst();
    stack.transfer[1]?.start();
    await stack.transfer[1]?.ready();
    expect(await batch.settled()).toEqual(settledOnce(batch.items));
    return hold;
  };

  it('paused longer than its ack wait with its write on the wire: another takes over, the late write is made undone', async () => {
    const [first] = stack.transfer;
    const batch = await make();
    try {
      const hold = await overtake(batch, () => first?.signal('SIGSTOP'));
      const late = stack.gate('transfer-0', 'nats').hold('the late ack', ackOf(batch.stream));
      hold.release();
      first?.signal('SIGCONT');
      await late.arrived();
      late.release();
    } finally {
      first?.signal('SIGCONT');
      await stack.transfer[1]?.stop();
    }
    await waitFor('every row is there once', 60_000, async () => (await batch.stored()).rows === batch.items);
    expect(await batch.settled()).toEqual(settledOnce(batch.items));
  });

  it('killed with its write on the wire, which arrives after another took over: equal rows that merge into one', async () => {
    const [first] = stack.transfer;
    const batch = await make();
    try {
      const hold = await overtake(batch, () => first?.kill());
      // Otherwise a merge may come before the test has seen the rows twice.
      await command('SYSTEM STOP MERGES otel.otel_traces');
      hold.release();
      if (name === 'spans') {
        await waitFor(
          'the late write is there',
          60_000,
          async () => (await batch.stored()).rows > batch.items,
        );
        await command('SYSTEM START MERGES otel.otel_traces');
        await command('OPTIMIZE TABLE otel.otel_traces FINAL');
      }
    } finally {
      await command('SYSTEM START MERGES otel.otel_traces');
      first?.start();
      await first?.ready();
      await stack.transfer[1]?.stop();
    }
    expect(await batch.settled()).toEqual(settledOnce(batch.items));
  });
});

describe('a day of spans that are stored twice', () => {
  const mergeOfDay: StepMatch = ({ from, text, request }) =>
    from === 'client' && `${request} ${text}`.includes('OPTIMIZE TABLE otel.otel_traces PARTITION');

  // The parts of an old day may never be merged by themselves, and a plain count would stay wrong.
  it('whose worker is killed after its acks and before the merge that it owes is merged by the next', async () => {
    const [first, second] = stack.transfer;
    const gate = stack.gate('transfer-0', 'clickhouse');
    await guardIsDown();
    const batch = await spansBatch(stack, `worker ${++batches}`);
    try {
      const write = gate.hold('the write', insertOfSpans, { outlivesClient: true });
      await batch.sendUntilTaken();
      const { text } = await write.arrived();
      await until('all of the write is on the wire', () => isWholeRequest(text + write.behind()));
      first?.signal('SIGSTOP');
      second?.start();
      await second?.ready();
      expect(await batch.settled()).toEqual(settledOnce(batch.items));
      await second?.stop();
      const acked = stack.gate('transfer-0', 'nats').hold('the late ack', ackOf(batch.stream));
      const merge = gate.hold('the merge', mergeOfDay);
      // Once it goes on, the worker may end its late write, and a merge of the server's own may come first: nothing would be owed then.
      await command('SYSTEM STOP MERGES otel.otel_traces');
      write.release();
      await waitFor('every row is there twice', 60_000, async () => {
        return (await batch.stored()).rows === 2 * batch.items;
      });
      first?.signal('SIGCONT');
      await Promise.all([acked.arrived(), merge.arrived()]);
      acked.release();
      await first?.kill();
      merge.lose();
    } finally {
      await command('SYSTEM START MERGES otel.otel_traces');
      first?.signal('SIGCONT');
      await second?.stop();
    }
    const again = gate.hold('the merge that was owed', mergeOfDay);
    first?.start();
    await again.arrived();
    again.release();
    await first?.ready();
    await waitFor('every row is there once', 60_000, async () => (await batch.stored()).rows === batch.items);
  });
});

describe('a consumer that is deleted and created again by hand', () => {
  // Unacknowledged messages arrive from it as if for the first time, and nothing in the delivery shows that they were
  // inserted.
  it('brings spans that are stored already: they are stored once', async () => {
    await guardIsDown();
    const batch = await spansBatch(stack, `worker ${++batches}`);
    const hold = stack.gate('transfer-0', 'nats').hold('the ack', ackOf(batch.stream));
    await command('SYSTEM STOP MERGES otel.otel_traces');
    const bus = await connectBus(stack.engines.nats.url, 'operator');
    try {
      await batch.sendUntilTaken();
      await hold.arrived();
      const { consumers } = await bus.manager();
      const { config } = await consumers.info('TRACES', 'clickhouse');
      await consumers.delete('TRACES', 'clickhouse');
      await consumers.add('TRACES', config);
      hold.lose();
      expect(await batch.settled()).toEqual(settledOnce(batch.items));
    } finally {
      await bus.close();
      await command('SYSTEM START MERGES otel.otel_traces');
    }
  });
});
