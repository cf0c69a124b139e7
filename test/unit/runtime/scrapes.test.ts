import { Gauge, Registry } from 'prom-client';
import { expect, it, onTestFinished } from 'vitest';
import { startOpsServer } from '../../../src/runtime/ops-server.ts';
import { answersIn, exchange } from '../../support/http/raw-client.ts';

const started = async () => {
  const registry = new Registry();
  let made = 0;
  const gauge = new Gauge({
    name: 'things',
    help: 'things',
    registers: [registry],
    collect: () => {
      made++;
    },
  });
  const { port, stop } = await startOpsServer({
    host: '127.0.0.1',
    port: 0,
    variable: 'PORT',
    registry,
    readiness: { checks: {}, degraded: {} },
  });
  onTestFinished(stop);
  const ask = async () => {
    const text = await exchange(port, 'GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    return answersIn(text)[0];
  };
  return { gauge, ask, port, made: () => made };
};

it('many requests for the metrics at once share a text', async () => {
  const { ask, made } = await started();
  const since = performance.now();
  const answers = await Promise.all(Array.from({ length: 200 }, ask));
  const textsMax = 2 + (performance.now() - since) / 100;
  expect(new Set(answers.map((answer) => answer?.status))).toEqual(new Set([200]));
  expect(made()).toBeLessThanOrEqual(textsMax);
});

it('no answer is older than its request', async () => {
  const { gauge, ask } = await started();
  for (let value = 1; value <= 5; value++) {
    gauge.set(value);
    expect((await ask())?.body).toContain(`things ${value}\n`);
  }
});

it('a connection with more than four open requests is ended', async () => {
  const { port, made } = await started();
  await exchange(port, 'GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(120));
  expect(made()).toBeLessThanOrEqual(1);
});
