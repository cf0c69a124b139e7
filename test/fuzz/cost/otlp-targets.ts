import type { ApplicationPipeline } from '../../../src/model/signals.ts';
import type { Encoding } from '../../support/otlp/plain/agreement.ts';
import type { OtlpTargetName, TargetName } from './recipe.ts';

/** The signal that a reader of OTLP reads, and its encoding. */
export type OtlpTarget = { readonly pipeline: ApplicationPipeline; readonly encoding: Encoding };

const otlpTargets: Readonly<Record<OtlpTargetName, OtlpTarget>> = {
  'otlp-json': { pipeline: 'traces', encoding: 'json' },
  'otlp-protobuf': { pipeline: 'traces', encoding: 'protobuf' },
  'logs-json': { pipeline: 'logs', encoding: 'json' },
  'logs-protobuf': { pipeline: 'logs', encoding: 'protobuf' },
  'otel-metrics-json': { pipeline: 'otel_metrics', encoding: 'json' },
  'otel-metrics-protobuf': { pipeline: 'otel_metrics', encoding: 'protobuf' },
};

/** Undefined for what is not read as OTLP. */
export const otlpTargetOf = (target: TargetName): OtlpTarget | undefined =>
  target === 'push' || target === 'inflate' ? undefined : otlpTargets[target];
