import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { parseTrustedProxies } from '../../../../src/http/client-address.ts';
import { newSender } from '../../../../src/ingress/line.ts';
import { type EncodedPush, encodePush, type PushTask } from '../../../../src/ingress/push/encode.ts';
import { pointsReply, strictReply } from '../../../../src/ingress/push/reply.ts';
import { samplePoints } from '../../../../src/ingress/push/samples.ts';
import { createRefusalRecorder } from '../../../../src/ingress/refusal-recorder.ts';
import { createRedaction } from '../../../../src/outcomes/redaction.ts';
import { createRefusals } from '../../../../src/outcomes/refusals.ts';
import type { SampleRow } from '../../../../src/outcomes/rows.ts';
import { createSamples } from '../../../../src/outcomes/samples.ts';
import { createIngressMetrics } from '../../../../src/telemetry/ingress-metrics.ts';
import { looksLikeToken } from '../../../../src/transfer/samples.ts';
import { arrivedAt, contextWith, sourceWith } from '../../../support/push/source.ts';

// A count alone does not tell a sender which of its metrics the table has no column for.

const table = sourceWith('wide', ['cpu'], []);
const { dataId, token } = table;
const task: PushTask = {
  ...contextWith(table, { caps: { metricsMax: 1, dimensionsMax: 64 } }),
  ...{ pair: { dataId, token }, table, pointsMax: 50_000, elementsMax: 4_000_000 },
};

const pushOf = (data: readonly object[]): EncodedPush => {
  const push = encodePush(Buffer.from(JSON.stringify({ data_id: dataId, access_token: token, data })), task);
  if (push.kind === 'refused') throw new Error(push.reason);
  return push;
};

const limit =
  'the table is at the limit of 1 metric; use fewer metric names; send the variable parts of a name as dimensions';
const lost = (index: number, name: string) => ({
  ...{ index, reason: 'metric_columns_exceeded', field: `metrics.${name}`, detail: limit },
});

const examplesOf = (push: EncodedPush, replyOf = pointsReply): unknown =>
  JSON.parse(String(replyOf(push.encoded).body)).examples;

const trusted = parseTrustedProxies('127.0.0.1');
if ('wrong' in trusted) throw new Error(trusted.wrong);

/** The samples that a receiver takes of a push that is the first of its minute. */
const sampled = (push: EncodedPush): SampleRow[] => {
  const samples = createSamples({
    now: () => arrivedAt,
    redaction: createRedaction(looksLikeToken),
    onLost: () => {},
  });
  const recorder = createRefusalRecorder('push', 'metrics', {
    metrics: createIngressMetrics(),
    refusals: createRefusals({ now: () => arrivedAt }),
    samples,
    trustedProxies: trusted.proxies,
  });
  const sender = newSender(new IncomingMessage(new Socket()));
  samplePoints(recorder, Object.assign(sender, { owner: dataId, secrets: [token] }), push);
  return samples.take(1);
};

const one = pushOf([{ metrics: { cpu: 1 } }, { metrics: { cpu: 2, lostone: 3, lostother: 4 } }]);

it.each([
  ['a push that is kept', pointsReply],
  ['a push that strict refuses', strictReply],
])('the answer to %s names each metric that has no column, the limit and the remedy', (_, replyOf) => {
  expect(examplesOf(one, replyOf)).toEqual([lost(1, 'lostone'), lost(1, 'lostother')]);
});

it('a sample shows each metric that has no column, its value and its point', () => {
  expect(sampled(one)).toMatchObject(
    [
      { field: 'metrics.lostone', value: '3' },
      { field: 'metrics.lostother', value: '4' },
    ].map((shown) => ({
      ...{ stage: 'receiver', reason: 'metric_columns_exceeded', ordinal: 1, detail: limit, ...shown },
      payload: '{"metrics":{"cpu":2,"lostone":3,"lostother":4}}',
    })),
  );
});

it.each([
  ['dimensions.host', '[1]', { dimensions: { host: [1] } }],
  ['dimensions.host', '[1]', { dimension: null, dimensions: { host: [1] } }],
  ['dimensions', '5', { dimensions: 5 }],
  ['dimension.host', '[1]', { dimension: { host: [1] }, dimensions: { host: 'other' } }],
])('a sample of a point that is dropped for its %s shows that value', (field, value, dimensions) => {
  const push = pushOf([{ metrics: { cpu: 1 }, ...dimensions }]);
  expect(examplesOf(push)).toMatchObject([{ field }]);
  expect(sampled(push)).toMatchObject([{ field, value }]);
});

it('a name is shown once, with its first point', () => {
  const point = { metrics: { a: 1, cpu: 1, b: 1 } };
  const push = pushOf([point, point, { metrics: { cpu: 1, c: 1 } }]);
  expect(examplesOf(push)).toEqual([lost(0, 'a'), lost(0, 'b'), lost(2, 'c')]);
  expect(push.encoded.valuesDropped.get('metric_columns_exceeded')).toBe(5);
});

it('of thousands of names the first twenty are shown, and they keep no dropped point out', () => {
  const names = Array.from({ length: 5_000 }, (_, index) => `m${index}`);
  const many = { metrics: { cpu: 1, ...Object.fromEntries(names.map((name) => [name, 1])) } };
  const bad = { metrics: {} };
  const push = pushOf([many, ...Array.from({ length: 30 }, () => bad), many]);
  expect(examplesOf(push)).toEqual([
    ...Array.from({ length: 20 }, (_, index) => expect.objectContaining({ index: index + 1 })),
    ...names.slice(0, 20).map((name) => lost(0, name)),
  ]);
});

it('the next push shows the same names again', () => {
  for (let count = 0; count < 2; count++)
    expect(examplesOf(pushOf([{ metrics: { cpu: 1, a: 1 } }]))).toEqual([lost(0, 'a')]);
});
