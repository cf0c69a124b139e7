import type { PipelinePulse, Pulse } from '../../src/telemetry/pulse.ts';

/** A pulse of a process that is well. */
export const pulseOf = (fields: Partial<Pulse> = {}): Pulse => ({
  version: '1.0.0',
  host: 'host',
  pid: 1,
  startedAt: 1_800_000_000,
  failing: {},
  degraded: {},
  cpu: 0.1,
  loopP99Ms: 1,
  rssBytes: 1_000,
  dropped: [],
  isLast: false,
  ...fields,
});

/** What a receiver says. */
export const ingressOf = (fields: Partial<NonNullable<Pulse['ingress']>> = {}): Pulse['ingress'] => ({
  items: { metrics: 10, traces: 5, logs: 0, otel_metrics: 0 },
  bytes: { push: 1_000, otlp: 500 },
  refused: 2,
  dropped: 1,
  bytesInFlight: 0,
  connections: 1,
  ...fields,
});

/** What transfer says of a pipeline. */
export const pipelineOf = (fields: Partial<PipelinePulse> = {}): PipelinePulse => ({
  items: 9,
  rows: 9,
  dropped: 1,
  deadLettered: 0,
  bytes: 900,
  acks: 1,
  retries: 0,
  writeP99Ms: 5,
  heldBytes: 0,
  setAside: 0,
  waiting: 0,
  isBreakerOpen: false,
  isHeld: false,
  ...fields,
});

/** As it is published. */
export const bytesOf = (pulse: unknown): Uint8Array => Buffer.from(JSON.stringify(pulse));
