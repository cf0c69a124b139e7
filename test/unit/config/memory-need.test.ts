import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it, onTestFinished } from 'vitest';
import { memoryWarning } from '../../../src/config/memory-need.ts';
import { loadPipelines } from '../../../src/config/pipelines.ts';
import { loadSettings, ownPipelinesFolder } from '../../../src/config/settings.ts';
import { root } from '../../support/docs-code.ts';

const mebi = 2 ** 20;
const pipelines = loadPipelines(ownPipelinesFolder);
const warningOf = (limit: number, room = '192MiB', largest?: number) => {
  const settings = loadSettings({ TIDEMARK_INGRESS_BYTES_IN_FLIGHT_MAX: room });
  const small = <T extends { limits: object }>(signal: T): T =>
    largest === undefined ? signal : { ...signal, limits: { ...signal.limits, inflatedBytesMax: largest } };
  const { metrics, traces, logs, otel_metrics } = pipelines;
  const own = {
    metrics: small(metrics),
    traces: small(traces),
    logs: small(logs),
    otel_metrics: small(otel_metrics),
  };
  return memoryWarning(settings, { ...pipelines, ...own }, limit * mebi);
};

// Such a container was killed under load, and nothing had said why.
it.each<[limit: number, room: string, largest: number | undefined]>([
  [128, '192MiB', undefined],
  [375, '192MiB', undefined],
  // The largest body alone goes beyond a smaller room.
  [256, '64MiB', undefined],
  [256, '192MiB', 8 * mebi],
])('an ingress with %i MiB of memory and room of %s for bodies is warned of', (limit, room, largest) => {
  const warning = warningOf(limit, room, largest);
  expect(warning).toContain(`and has ${limit} MiB here: beyond them it is killed`);
  expect(warning).toContain('TIDEMARK_INGRESS_BYTES_IN_FLIGHT_MAX');
});

it.each<[limit: number, room: string, largest: number | undefined]>([
  [376, '192MiB', undefined],
  [1024, '192MiB', undefined],
  [256, '64MiB', 8 * mebi],
])('one with %i MiB of memory and room of %s fits', (limit, room, largest) => {
  expect(warningOf(limit, room, largest)).toBeUndefined();
});

it('names what it needs, what it has and both values that make it smaller', () => {
  expect(warningOf(128)).toBe(
    'an ingress process may need 376 MiB of memory, 216 MiB of it for bodies in flight, and has 128 MiB here: beyond them it is killed. Raise the limit of the container, or lower TIDEMARK_INGRESS_BYTES_IN_FLIGHT_MAX (now 192 MiB) and inflated_bytes_max of the pipelines (a body of that size takes 192 MiB)',
  );
});

it('ingress says so at its start, before it reaches NATS', async () => {
  const ports = ['PUSH', 'OTLP', 'OPS'].map((name) => [`TIDEMARK_INGRESS_${name}_PORT`, '0']);
  const env = {
    ...Object.fromEntries(ports),
    TIDEMARK_INGRESS_GRPC_PORT: 'off',
    TIDEMARK_NATS_URL: 'nats://127.0.0.1:1',
    // More than any machine has.
    TIDEMARK_INGRESS_BYTES_IN_FLIGHT_MAX: '8388607GiB',
  };
  const ingress = spawn(process.execPath, [join(root, 'src/main.ts'), 'ingress'], { env });
  onTestFinished(() => void ingress.kill('SIGKILL'));
  for await (const line of createInterface({ input: ingress.stderr })) {
    expect(JSON.parse(line)).toMatchObject({
      level: 40,
      role: 'ingress',
      error: expect.stringMatching(/^an ingress process may need \d+ MiB of memory/),
    });
    return;
  }
  throw new Error('ingress ended without a line');
}, 60_000);
