import { Agent, request } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Balancer, startBalancer } from '../support/stack/balancer.ts';
import { type Application, type Report, type Stack, startStack } from '../support/stack/stack.ts';
import { waitFor } from '../support/wait.ts';

const clients = 12;
/** Between two requests of a client: its connection is idle when the receiver stops. */
const pauseMs = 100;

let stack: Stack;
let report: Report;
let application: Application;
const balancers: Balancer[] = [];

beforeAll(async () => {
  stack = await startStack({ ingress: 2, traces: true, env: { TIDEMARK_INGRESS_DRAIN_MS: '20000' } });
  report = await stack.createReport('keep-alive');
  application = await stack.createApplication('keep-alive');
});
afterAll(async () => {
  for (const balancer of balancers) await balancer.close();
  await stack?.stop();
});

type Signal = { readonly name: 'push' | 'otlp'; readonly path: string; body(): string };

const signals: readonly Signal[] = [
  {
    name: 'push',
    path: '/v2/push/',
    body: () => {
      const { mon_data_id: dataId, token } = report.data_source;
      const data = [{ metrics: { cpu: 1 }, timestamp: Date.now() }];
      return JSON.stringify({ data_id: dataId, access_token: token, data });
    },
  },
  {
    name: 'otlp',
    path: '/v1/traces',
    body: () => {
      const time = `${Date.now()}000000`;
      const ids = {
        traceId: 'c'.repeat(32),
        spanId: String(Math.trunc(performance.now() * 1000)).padStart(16, '0'),
      };
      const span = { ...ids, name: 'span', startTimeUnixNano: time, endTimeUnixNano: time };
      return JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] });
    },
  },
];

/** The answer to one request: its status, or the error of the connection. No client repeats a request. */
const send = ({ path, body }: Signal, port: number, agent: Agent): Promise<string> =>
  new Promise((resolve) => {
    const headers = { 'content-type': 'application/json', 'x-mon-token': application.token };
    const sent = request({ port, path, method: 'POST', agent, headers }, (response) => {
      response.resume();
      response.once('end', () => resolve(String(response.statusCode)));
    });
    sent.once('error', (error) => resolve(error.message));
    sent.end(body());
  });

/** Clients with a connection each, that send again and again until they are stopped. */
const startClients = (signal: Signal, port: number) => {
  const answers = new Map<string, number>();
  let isStopped = false;
  const run = async (): Promise<void> => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    while (!isStopped) {
      const answer = await send(signal, port, agent);
      answers.set(answer, (answers.get(answer) ?? 0) + 1);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
    agent.destroy();
  };
  const running = Promise.all(Array.from({ length: clients }, run));
  return {
    answers,
    total: () => [...answers.values()].reduce((sum, times) => sum + times, 0),
    stop: async () => {
      isStopped = true;
      await running;
    },
  };
};

// An upgrade reaches each receiver: a client that is not told learns of it by a request that is lost on its way.
it('a receiver that is restarted, without being taken out of rotation, fails no request of twelve clients on each port', async () => {
  const agent = new Agent({ keepAlive: false });
  for (const { ports } of stack.ingress)
    for (const signal of signals)
      await waitFor(
        'the token is known',
        60_000,
        async () => (await send(signal, ports[signal.name] ?? 0, agent)) === '200',
      );
  const running: ReturnType<typeof startClients>[] = [];
  for (const signal of signals) {
    const balancer = await startBalancer(stack.ingress.map(({ ports }) => ports[signal.name] ?? 0));
    balancers.push(balancer);
    running.push(startClients(signal, balancer.port));
  }
  const goOn = async (): Promise<void> => {
    const before = running.map(({ total }) => total());
    await waitFor('every client goes on', 60_000, () =>
      running.every(({ total }, index) => total() > (before[index] ?? 0) + 3 * clients),
    );
  };
  for (const receiver of stack.ingress) {
    await goOn();
    const startedAt = performance.now();
    expect(await receiver.stop()).toBe(0);
    // Each client has sent once more by then: nothing waits for the end of the drain, nor for the end of its grace time.
    expect(performance.now() - startedAt).toBeLessThan(15_000);
    await goOn();
    receiver.start();
    await receiver.ready();
  }
  await goOn();
  for (const { stop } of running) await stop();
  for (const { answers } of running) expect([...answers.keys()]).toEqual(['200']);
});
