import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Incoming } from '../../../../src/http/incoming.ts';
import type { OtlpPipeline } from '../../../../src/ingress/otlp/signals.ts';
import { doorAppId, doorToken, openOtlpDoor } from '../../../support/otlp/door.ts';

let door: Awaited<ReturnType<typeof openOtlpDoor>>;
beforeAll(async () => {
  door = await openOtlpDoor();
});
afterAll(() => door.close());

type Case = readonly [
  ...[pipeline: OtlpPipeline, reason: string],
  ...[top: string, scope: string, list: string],
];

/** One more than the limit of each signal. */
const items = 50_001;

const signals: readonly Case[] = [
  ['traces', 'too_many_spans', 'resourceSpans', 'scopeSpans', 'spans'],
  ['logs', 'too_many_records', 'resourceLogs', 'scopeLogs', 'logRecords'],
  ['otel_metrics', 'too_many_data_points', 'resourceMetrics', 'scopeMetrics', 'metrics'],
];

/** `filler` makes the request a large body, which a thread reads. */
const requestOf = ([pipeline, , top, scope, list]: Case, filler = ''): string => {
  const empty = `[${'{},'.repeat(items - 1)}{}]`;
  const all = pipeline === 'otel_metrics' ? `[{"name":"a","gauge":{"dataPoints":${empty}}}]` : empty;
  return `{"other":"${filler}","${top}":[{"${scope}":[{"${list}":${all}}]}]}`;
};

const arriving = (body: string): Incoming =>
  Object.assign(Readable.from([Buffer.from(body)], { objectMode: false }), {
    headers: { 'content-type': 'application/json', 'x-mon-token': doorToken },
    socket: { remoteAddress: '127.0.0.1' },
  });

describe.each(signals.map((signal) => ({ signal, name: signal[0] })))(
  'a request of $name with too many items',
  ({ signal }) => {
    const [pipeline, reason] = signal;
    const recorded = { reason, owner: doorAppId, items };

    it('is recorded with the items that were counted until its refusal', async () => {
      expect((await door.post(pipeline, requestOf(signal))).status).toBe(413);
      expect(door.refused.at(-1)).toEqual(recorded);
    });

    it('is recorded like that when a thread reads it', async () => {
      expect((await door.post(pipeline, requestOf(signal, 'x'.repeat(600_000)))).status).toBe(413);
      expect(door.refused.at(-1)).toEqual(recorded);
    });

    it('is recorded like that when it comes over gRPC', async () => {
      expect((await door.lineOfGrpc(pipeline)?.(arriving(requestOf(signal))))?.status).toBe(413);
      expect(door.refused.at(-1)).toEqual(recorded);
    });
  },
);
