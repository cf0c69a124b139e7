import { beforeAll, describe, expect, it } from 'vitest';
import { type Batch, pointsBatch, settledOnce, spansBatch } from '../../support/push/batches.ts';
import type { Gate } from '../../support/stack/gate.ts';
import type { GatedStack } from '../../support/stack/gated-stack.ts';
import { pubAckOf, publishTo, type StepMatch, second } from '../../support/steps.ts';
import { until } from '../../support/until.ts';
import { sharedStack } from './stack.ts';

// Ingress and NATS, killed at each instant between a request and its answer. The worker's instants are in kill-points-worker.

let stack: GatedStack;
let gate: Gate;
beforeAll(async () => {
  stack = await sharedStack();
  gate = stack.gate('ingress-0', 'nats');
});

let batches = 0;
type Make = (options?: { items?: number; length?: number }) => Promise<Batch>;
const signals: [signal: string, make: Make][] = [
  [
    'points with an Idempotency-Key',
    ({ items = 20, length = 10 } = {}) =>
      pointsBatch(stack, `ingress ${++batches}`, { items, targetLength: length, key: 'k' }),
  ],
  [
    'spans',
    ({ items = 20, length = 10 } = {}) =>
      spansBatch(stack, `ingress ${++batches}`, { items, attributeLength: length }),
  ],
];

/** Cut into two messages by the rule of architecture 5.3. */
const ofTwoMessages = { items: 3_000, length: 400 };

const restart = async (role: 'ingress' | 'transfer'): Promise<void> => {
  stack[role][0]?.start();
  await stack[role][0]?.ready();
};

const lastSequence = async (batch: Batch): Promise<number> =>
  (await stack.streamState(batch.stream)).last_seq;

/** Sends the batch and kills ingress when this step is reached, `stored` messages of it being in the stream; the client never has an answer. */
const killAt = async (batch: Batch, what: string, step: StepMatch, stored = 0): Promise<void> => {
  const before = await lastSequence(batch);
  const hold = gate.hold(what, step);
  const answer = batch.send();
  await hold.arrived();
  await until(`${stored} messages are stored`, async () => (await lastSequence(batch)) >= before + stored);
  // An answer that waits for nothing would be given before this one.
  await stack.ingress[0]?.metrics();
  await stack.ingress[0]?.kill();
  hold.lose();
  expect((await answer).status).toBe('unanswered');
  await restart('ingress');
};

const duplicates = async (): Promise<number> =>
  [
    ...((await stack.ingress[0]?.metrics()) ?? '').matchAll(/duplicate_requests_total\{[^}]*\} (\d+)/g),
  ].reduce((sum, [, count]) => sum + Number(count), 0);

describe.each(signals)('ingress killed with a request of %s', (_signal, make) => {
  it('before publish: nothing is stored, and the retry is stored once', async () => {
    const batch = await make();
    await killAt(batch, 'the publish', publishTo(batch.stream));
    expect(await batch.settled()).toEqual(settledOnce(0));
    await batch.sendUntilTaken();
    expect(await batch.settled()).toEqual(settledOnce(batch.items));
  });

  it('after PubAck before the reply: the retry is a repeat, and stored once', async () => {
    const batch = await make();
    await killAt(batch, 'the PubAck', pubAckOf(batch.stream));
    await batch.sendUntilTaken();
    expect(await duplicates()).toBe(1);
    expect(await batch.settled()).toEqual(settledOnce(batch.items));
  });

  it('between two messages of one request: the retry adds the missing ones', async () => {
    const batch = await make(ofTwoMessages);
    await killAt(batch, 'the second publish', second(publishTo(batch.stream)), 1);
    const { rows } = await batch.settled();
    expect(rows).toBeGreaterThan(0);
    expect(rows).toBeLessThan(batch.items);
    await batch.sendUntilTaken();
    // A request of which a part is new is no repeat.
    expect(await duplicates()).toBe(0);
    expect(await batch.settled()).toEqual(settledOnce(batch.items));
  });
});

describe.each(signals)('a request of %s whose first PubAck is dropped', (_signal, make) => {
  it('is published again with the same id, answered 200 as no repeat, and stored once', async () => {
    const batch = await make();
    const before = await duplicates();
    const hold = gate.hold('the PubAck', pubAckOf(batch.stream));
    const answer = batch.send();
    await hold.arrived();
    hold.lose();
    expect((await answer).status).toBe(200);
    expect(await duplicates()).toBe(before);
    expect(await batch.settled()).toEqual(settledOnce(batch.items));
  });
});

describe.each(signals)('NATS killed with a request of %s', (_signal, make) => {
  /** Sends the batch, kills NATS when this step is reached, and has the client send until it is taken. */
  const killNatsAt = async (
    batch: Batch,
    what: string,
    step: StepMatch,
    meanwhile: () => Promise<unknown> = async () => {},
  ): Promise<void> => {
    const hold = gate.hold(what, step);
    const answer = batch.send();
    await hold.arrived();
    await meanwhile();
    await stack.engines.nats.kill();
    hold.lose();
    await stack.engines.nats.start();
    const { status } = await answer;
    await stack.ingress[0]?.ready();
    if (status !== 200) await batch.sendUntilTaken();
  };

  it('before it has the message: it is published again once the connection is back', async () => {
    const batch = await make();
    await killNatsAt(batch, 'the publish', publishTo(batch.stream));
    expect(await batch.settled()).toEqual(settledOnce(batch.items));
  });

  it('between the first store and the retry, while the message waits: the stream knows its id again', async () => {
    const batch = await make();
    await stack.transfer[0]?.kill();
    const before = await lastSequence(batch);
    await killNatsAt(batch, 'the PubAck', pubAckOf(batch.stream));
    expect(await lastSequence(batch)).toBe(before + 1);
    await restart('transfer');
    expect(await batch.settled()).toEqual(settledOnce(batch.items));
  });

  it('between the first store and the retry, the message consumed: the stream has forgotten its id, the store has not', async () => {
    const batch = await make();
    const before = await lastSequence(batch);
    await killNatsAt(batch, 'the PubAck', pubAckOf(batch.stream), () => batch.settled());
    expect(await lastSequence(batch)).toBe(before + 2);
    expect(await batch.settled()).toEqual(settledOnce(batch.items));
  });
});

describe('a push without a key', () => {
  it('whose receiver was killed after PubAck is a new one when it is sent again, as equal heartbeats are', async () => {
    const batch = await pointsBatch(stack, `ingress ${++batches}`);
    await killAt(batch, 'the PubAck', pubAckOf('METRICS'));
    await batch.sendUntilTaken();
    expect(await batch.settled()).toEqual(settledOnce(2 * batch.items));
  });
});
