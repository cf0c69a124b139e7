import { Registry } from 'prom-client';
import { expect, it, onTestFinished } from 'vitest';
import type { Readiness } from '../../../src/runtime/checks.ts';
import { readinessAnswer, startOpsServer } from '../../../src/runtime/ops-server.ts';

const readiness = (failing: string | undefined, degraded: string | undefined): Readiness => ({
  checks: { receiver: () => failing, other: () => undefined },
  degraded: { nats: () => degraded, streams: () => undefined },
});

// A process that leaves its Service because of what all of them share takes away the answers that say so.
it.each([
  ['well', undefined, undefined, 200, { ready: true, failing: {}, degraded: {} }],
  ['without NATS', undefined, 'away', 200, { ready: true, failing: {}, degraded: { nats: 'away' } }],
  ['stopping', 'stops', undefined, 503, { ready: false, failing: { receiver: 'stops' }, degraded: {} }],
  [
    'both',
    'stops',
    'away',
    503,
    { ready: false, failing: { receiver: 'stops' }, degraded: { nats: 'away' } },
  ],
])('a process that is %s answers /readyz by what it can do', (_what, failing, degraded, status, body) => {
  const answer = readinessAnswer(readiness(failing, degraded));
  expect([answer.status, JSON.parse(answer.body)]).toEqual([status, body]);
});

it('the metrics tell what fails from what is degraded', async () => {
  const registry = new Registry();
  const ops = await startOpsServer({
    host: '127.0.0.1',
    port: 0,
    variable: 'PORT',
    registry,
    readiness: readiness(undefined, 'away'),
  });
  onTestFinished(ops.stop);
  const text = await registry.metrics();
  expect(text).toMatch(/^tidemark_ready 1$/m);
  expect(text).toMatch(/^tidemark_check_failing\{check="receiver"\} 0$/m);
  expect(text).toMatch(/^tidemark_check_degraded\{check="nats"\} 1$/m);
  expect(text).toMatch(/^tidemark_check_degraded\{check="streams"\} 0$/m);
});
