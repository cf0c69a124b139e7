import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type PointsBatch, pointsBatch, settledOnce } from '../support/push/batches.ts';
import type { Gate } from '../support/stack/gate.ts';
import { type GatedStack, startGatedStack } from '../support/stack/gated-stack.ts';
import { pubAckOf, publishTo, type StepMatch, second } from '../support/steps.ts';
import { waitFor } from '../support/wait.ts';

// Pushes without a key that take several messages. Their sender cannot send them again, so all of one is stored or nothing.

let stack: GatedStack;
let gate: Gate;
beforeAll(async () => {
  // Room for one of them and a half.
  stack = await startGatedStack({ bytesMax: { METRICS: '3MiB' } });
  gate = stack.gate('ingress-0', 'nats');
});
afterAll(() => stack?.stop());

let batches = 0;
/** 1.4 MB together, cut into two messages by the rule of architecture 5.3. */
const ofTwoMessages = (): Promise<PointsBatch> =>
  pointsBatch(stack, `whole ${++batches}`, { items: 3_000, targetLength: 400 });

const restart = async (role: 'ingress' | 'transfer'): Promise<void> => {
  stack[role][0]?.start();
  await stack[role][0]?.ready();
};

const nothing = settledOnce(0);

/** What may be stored of it, by its answer. */
const allowed = (batch: PointsBatch, { status, text }: Awaited<ReturnType<PointsBatch['send']>>) => {
  const whole = settledOnce(batch.items);
  if (status === 200) return [whole];
  if (status === 'unanswered') return [nothing, whole];
  expect(status).toBe(503);
  return JSON.parse(text).reason === 'not_stored' ? [nothing] : [nothing, whole];
};

it('a push of several messages without a key that the stream has no room for is not stored, and its answer is 503', async () => {
  const large = await pointsBatch(stack, `whole ${++batches}`, { items: 9_000, targetLength: 400 });
  // At its deadline, 7.5 s, a receiver on a slow machine has sent nothing: that answer would be the same.
  const answer = await waitFor('an answer before the deadline', 60_000, async () => {
    const sentAt = performance.now();
    const given = await large.send();
    return performance.now() - sentAt < 7_000 && given;
  });
  expect(await large.settled()).toEqual(nothing);
  expect([answer.status, JSON.parse(answer.text).reason]).toEqual([503, 'not_stored']);
});

const instants: [what: string, step: () => StepMatch][] = [
  ['before its first message', () => publishTo('METRICS')],
  ['before its last message', () => second(publishTo('METRICS'))],
  ['before the answer to its first message', () => pubAckOf('METRICS')],
  ['before the answer to its last message', () => second(pubAckOf('METRICS'))],
];

describe.each(instants)('a push of several messages without a key, %s', (what, step) => {
  it('is stored whole or not at all when NATS is killed', async () => {
    const batch = await ofTwoMessages();
    const hold = gate.hold(what, step());
    const answering = batch.send();
    await hold.arrived();
    await stack.engines.nats.kill();
    hold.lose();
    await stack.engines.nats.start();
    const answer = await answering;
    await stack.ingress[0]?.ready();
    expect(allowed(batch, answer)).toContainEqual(await batch.settled());
  });

  it('is stored whole or not at all when its receiver is killed', async () => {
    const batch = await ofTwoMessages();
    const hold = gate.hold(what, step());
    const answering = batch.send();
    await hold.arrived();
    await stack.ingress[0]?.kill();
    hold.lose();
    const answer = await answering;
    await restart('ingress');
    expect(allowed(batch, answer)).toContainEqual(await batch.settled());
  });

  it('is stored once when the step is lost on its way', async () => {
    const batch = await ofTwoMessages();
    const hold = gate.hold(what, step());
    const answering = batch.send();
    await hold.arrived();
    hold.lose();
    expect((await answering).status).toBe(200);
    expect(await batch.settled()).toEqual(settledOnce(batch.items));
  });
});
