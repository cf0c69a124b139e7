import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Balance } from '../../../src/outcomes/balance.ts';
import { createOutcomeReader, type OutcomeReader } from '../../support/outcomes/outcomes.ts';
import { pointsBatch, settledOnce } from '../../support/push/batches.ts';
import type { Gate } from '../../support/stack/gate.ts';
import type { GatedStack } from '../../support/stack/gated-stack.ts';
import { type LiveRecords, openLiveRecords } from '../../support/stack/live-records.ts';
import { pubAckOf } from '../../support/steps.ts';
import { waitFor } from '../../support/wait.ts';
import { sharedStack } from './stack.ts';

// What a request leaves behind by which its repeat is recognised: a name for what was stored, and none for what was not.

let stack: GatedStack;
let gate: Gate;
let live: LiveRecords;
let outcomes: OutcomeReader;
beforeAll(async () => {
  stack = await sharedStack();
  gate = stack.gate('ingress-0', 'nats');
  live = await openLiveRecords(stack);
  outcomes = createOutcomeReader(stack);
});
afterAll(async () => {
  await outcomes?.close();
  await live?.close();
});

let appIds = 900_000;
const newToken = (): string => randomBytes(16).toString('hex');

let spansMade = 0;
/** This many spans with two attributes, each in traces of its own. */
const spans = (count: number, ageMs = 0): object[] =>
  Array.from({ length: count }, () => {
    const nanos = `${Date.now() - ageMs}000000`;
    const number = ++spansMade;
    return {
      traceId: `${number}`.padStart(32, 'd'),
      spanId: `${number}`.padStart(16, 'd'),
      name: 'repeated',
      startTimeUnixNano: nanos,
      endTimeUnixNano: nanos,
      attributes: ['a', 'b'].map((key) => ({ key, value: { stringValue: key } })),
    };
  });

const resource = (items: object[], token?: string) => ({
  resource:
    token === undefined ? {} : { attributes: [{ key: 'mon.data.token', value: { stringValue: token } }] },
  scopeSpans: [{ spans: items }],
});

type Answer = { readonly status: number; readonly text: string };

const post = async (token: string, body: string): Promise<Answer> => {
  const answer = await fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['otlp']}/v1/traces`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-mon-token': token },
    body,
  });
  return { status: answer.status, text: await answer.text() };
};

const bodyOf = (...resources: object[]): string => JSON.stringify({ resourceSpans: resources });

const plainSuccess = { status: 200, text: '{}' };
const repeat = { status: 200, text: expect.stringContaining('counted as duplicate_request') };

/** An application that the receiver has read. */
const newApplication = async (): Promise<{ appId: number; token: string }> => {
  const [appId, token] = [++appIds, newToken()];
  await live.application(appId, token);
  await taken(token);
  return { appId, token };
};

const taken = (token: string): Promise<unknown> =>
  waitFor('the token is known', 60_000, async () => (await post(token, '{}')).status === 200);

/** Rows as a plain query sees them, and different uids. */
const rowsOf = async (appId: number): Promise<unknown> => {
  const [row] = await stack.spansQuery(
    `SELECT count() AS rows, uniqExact(uid) AS uids FROM otel.otel_traces WHERE AppId = ${appId}`,
  );
  return { rows: Number(row?.['rows']), uids: Number(row?.['uids']) };
};

const balanceOf = async (appId: number): Promise<Partial<Balance> | undefined> => {
  const [balance] = await outcomes.settled({ appId });
  if (balance === undefined) return undefined;
  const { received, stored, dropped, deadLettered } = balance;
  return { received, stored, dropped, deadLettered };
};

describe('an export of which nothing is kept', () => {
  // The same bytes would count as stored before, and never be stored.
  it.each([
    ['rejected for a limit', { attributes_max: 1 }, {}, 'too_many_attributes', 0],
    [
      'dropped for its time',
      { age_seconds_max: 60 },
      { age_seconds_max: null },
      'timestamp_too_old',
      600_000,
    ],
  ] as const)(
    'is a first one again once its policy is corrected (%s)',
    async (_, strict, mended, reason, age) => {
      const { appId, token } = await newApplication();
      const body = bodyOf(resource(spans(5, age)));
      await live.applicationPolicy(appId, strict);
      await waitFor('the policy holds', 60_000, async () =>
        (await post(token, bodyOf(resource(spans(1, age))))).text.includes(reason),
      );
      const before = await balanceOf(appId);
      // A probe that came before the policy held was stored.
      const probes = { stored: before?.stored ?? 0, dropped: before?.dropped?.[reason] ?? 0 };
      for (let tries = 0; tries < 2; tries++)
        expect(await post(token, body)).toEqual({
          status: 200,
          text: expect.stringContaining(`${reason} 5`),
        });
      await live.applicationPolicy(appId, mended);
      await waitFor('the policy is mended', 60_000, async () => {
        return (await post(token, bodyOf(resource(spans(1, age))))).text === '{}';
      });
      expect(await post(token, body)).toEqual(plainSuccess);
      expect(await post(token, body)).toEqual(repeat);
      const balance = await balanceOf(appId);
      const stored = balance?.stored ?? 0;
      expect(await rowsOf(appId)).toEqual({ rows: stored, uids: stored });
      const mendProbes = stored - 5 - probes.stored;
      expect(mendProbes).toBeGreaterThan(0);
      const dropped = balance?.dropped?.[reason] ?? 0;
      // Each try of a request that left no name is a request of its own.
      expect(dropped).toBeGreaterThanOrEqual(probes.dropped + 10);
      expect(balance?.received).toBe(stored + dropped);
    },
  );
});

it('a push with a key of which nothing is kept is a first one again once its policy is mended', async () => {
  const batch = await pointsBatch(stack, 'nothing kept', { key: 'k', items: 5 });
  await live.sourcePolicy(batch.dataId, { age_seconds_max: 10 });
  await waitFor('the policy holds', 60_000, async () => (await batch.send()).status === 400);
  expect((await batch.send()).text).toContain('timestamp_too_old');
  await live.sourcePolicy(batch.dataId, {});
  await waitFor('the policy is mended', 60_000, async () => (await batch.send()).status === 200);
  expect((await batch.send()).text).toContain('received before');
  expect(await batch.settled()).toEqual(settledOnce(batch.items));
});

describe('an export with several credentials', () => {
  it.each([
    ['unknown', 'token_invalid'],
    ['disabled', 'application_disabled'],
  ])('of which one was %s at its first try stores what that stands for at the next', async (_, reason) => {
    const known = await newApplication();
    const [appId, token] = [++appIds, newToken()];
    if (reason === 'application_disabled') {
      await live.application(appId, token);
      await taken(token);
      await live.edit(`application.${appId}`, { is_enable: false });
      await waitFor('it is disabled', 60_000, async () => (await post(token, '{}')).status === 403);
    }
    const body = bodyOf(resource(spans(3)), resource(spans(4), token), resource(spans(2)));
    // Its PubAck is lost: it is stored, and its sender gets the answer only after another try of the receiver.
    const hold = gate.hold('the PubAck', pubAckOf('TRACES'));
    const answering = post(known.token, body);
    await hold.arrived();
    hold.lose();
    expect(await answering).toEqual({ status: 200, text: expect.stringContaining(`${reason} 4`) });
    expect(await balanceOf(known.appId)).toMatchObject({ received: 5, stored: 5 });
    expect(await balanceOf(appId)).toBeUndefined();
    await live.application(appId, token);
    await taken(token);
    expect(await post(known.token, body)).toEqual(plainSuccess);
    expect(await post(known.token, body)).toEqual(repeat);
    expect(await balanceOf(known.appId)).toEqual({ received: 5, stored: 5, dropped: {}, deadLettered: 0 });
    expect(await balanceOf(appId)).toEqual({ received: 4, stored: 4, dropped: {}, deadLettered: 0 });
    expect(await rowsOf(known.appId)).toEqual({ rows: 5, uids: 5 });
    expect(await rowsOf(appId)).toEqual({ rows: 4, uids: 4 });
  });

  // Both tries then have spans of the same application, and no message id separates them.
  it('of one application stores once what one of them stood for at the first try and both at the next', async () => {
    const known = await newApplication();
    const token = newToken();
    const body = bodyOf(resource(spans(3)), resource(spans(4), token));
    const first = await post(known.token, body);
    expect(first).toEqual({ status: 200, text: expect.stringContaining('token_invalid 4') });
    await live.rotateApplication(known.appId, known.token, token, Math.floor(Date.now() / 1000) + 3_600);
    await taken(token);
    expect(await post(known.token, body)).toEqual(plainSuccess);
    expect(await balanceOf(known.appId)).toMatchObject({ received: 7, stored: 7 });
    expect(await rowsOf(known.appId)).toEqual({ rows: 7, uids: 7 });
  });
});
