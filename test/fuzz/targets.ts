import type { Target } from './target.ts';
import { metricsEnvelopeTarget, spansEnvelopeTarget } from './targets/envelope.ts';
import { inflateTarget } from './targets/inflate.ts';
import { logsJsonTarget, logsProtobufTarget } from './targets/logs.ts';
import { nativeTarget } from './targets/native.ts';
import { otelMetricsJsonTarget, otelMetricsProtobufTarget } from './targets/otel-metrics.ts';
import { otlpEqualTarget, otlpJsonTarget, otlpProtobufTarget } from './targets/otlp.ts';
import { pushTarget } from './targets/push.ts';

/** Every decoder that sees bytes from outside or from the stream, with its part of a run's cases. */
export const targets: readonly { readonly target: Target; readonly share: number }[] = [
  { target: pushTarget, share: 0.1 },
  { target: otlpJsonTarget, share: 0.1 },
  { target: otlpProtobufTarget, share: 0.1 },
  { target: otlpEqualTarget, share: 0.05 },
  { target: logsJsonTarget, share: 0.1 },
  { target: logsProtobufTarget, share: 0.1 },
  { target: otelMetricsJsonTarget, share: 0.1 },
  { target: otelMetricsProtobufTarget, share: 0.1 },
  { target: metricsEnvelopeTarget, share: 0.075 },
  { target: spansEnvelopeTarget, share: 0.075 },
  { target: nativeTarget, share: 0.1 },
  { target: inflateTarget, share: 0.05 },
];
