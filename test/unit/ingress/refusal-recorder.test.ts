import { BlockList } from 'node:net';
import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import type { Incoming } from '../../../src/http/incoming.ts';
import { createRefusalRecorder } from '../../../src/ingress/refusal-recorder.ts';
import { createRedaction } from '../../../src/outcomes/redaction.ts';
import { createRefusals } from '../../../src/outcomes/refusals.ts';
import { createSamples } from '../../../src/outcomes/samples.ts';
import { createIngressMetrics } from '../../../src/telemetry/ingress-metrics.ts';

const requestFrom = (remoteAddress: string): Incoming =>
  Object.assign(Readable.from([], { objectMode: false }), { headers: {}, socket: { remoteAddress } });

const openRecorder = () => {
  const metrics = createIngressMetrics();
  const samples = createSamples({
    now: () => 60_000,
    redaction: createRedaction(() => false),
    onLost: () => {},
  });
  const refusals = createRefusals({ now: () => 60_000 });
  const trustedProxies = new BlockList();
  const recorder = createRefusalRecorder('otlp', 'traces', { metrics, refusals, samples, trustedProxies });
  return { metrics, samples, recorder };
};

it('a connection that never became a request is counted, and an example has its address and the remedy', async () => {
  const { metrics, samples, recorder } = openRecorder();
  recorder.refusedConnection('protocol_error', '192.0.2.7', 'this port takes HTTP/1.1, not HTTP/2 or gRPC');
  expect(samples.take(1)).toMatchObject([
    {
      reason: 'protocol_error',
      sender: '192.0.2.7',
      detail: 'this port takes HTTP/1.1, not HTTP/2 or gRPC',
      ordinal: -1,
    },
  ]);
  expect(await metrics.registry.metrics()).toMatch(
    /^tidemark_ingress_requests_refused_total\{receiver="otlp",reason="protocol_error".*\} 1$/m,
  );
});

// A restart of many senders with a token that has ended: all of them fail in the same second.
it('a sender that fails while no further sample is kept has one at its next failure', () => {
  const { samples, recorder } = openRecorder();
  const failAll = (): string[] => {
    for (let host = 0; host < 600; host++) {
      const request = requestFrom(`10.0.${host >> 8}.${host & 255}`);
      if (!recorder.wantsRefused(request, 0, 'unauthorized', 0)) continue;
      const example = { reason: 'unauthorized', ordinal: -1, field: '', value: undefined, detail: '' };
      recorder.sample({ request, requestId: 'id' }, 0, '', { ...example, payload: undefined });
    }
    return samples.take(1).map(({ sender }) => sender);
  };
  const first = failAll();
  expect(first).toHaveLength(500);
  const next = failAll();
  expect(next).toHaveLength(100);
  expect(new Set([...first, ...next]).size).toBe(600);
  expect(failAll()).toEqual([]);
});
