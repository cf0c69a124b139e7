import { BlockList } from 'node:net';
import { expect, it } from 'vitest';
import { createRefusalRecorder } from '../../../src/ingress/refusal-recorder.ts';
import { createRedaction } from '../../../src/outcomes/redaction.ts';
import { createRefusals } from '../../../src/outcomes/refusals.ts';
import { createSamples } from '../../../src/outcomes/samples.ts';
import { createIngressMetrics } from '../../../src/telemetry/ingress-metrics.ts';

it('a connection that never became a request is counted, and an example has its address and the remedy', async () => {
  const metrics = createIngressMetrics();
  const samples = createSamples({
    now: () => 60_000,
    redaction: createRedaction(() => false),
    onLost: () => {},
  });
  const refusals = createRefusals({ now: () => 60_000 });
  const recorder = createRefusalRecorder('otlp', 'traces', {
    metrics,
    refusals,
    samples,
    trustedProxies: new BlockList(),
  });
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
