import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bus, connectBus } from '../../../src/bus/connection.ts';
import { holdKey } from '../../../src/bus/stream-differences.ts';
import { readyzOf } from '../../support/stack/readiness.ts';
import type { Application, Report, RoleProcess, Stack } from '../../support/stack/stack.ts';
import { limitStream } from '../../support/stack/stream-limits.ts';
import { until } from '../../support/until.ts';
import { waitFor } from '../../support/wait.ts';
import { sharedStack } from './stack.ts';

let stack: Stack;
let bus: Bus;
let report: Report;
let application: Application;
let points = 0;

beforeAll(async () => {
  stack = await sharedStack();
  bus = await connectBus(stack.engines.nats.url, 'test');
  report = await stack.createReport('away');
  application = await stack.createApplication('away');
  await waitFor('both receivers take', 60_000, async () => {
    const [pushed, exported] = [await push(), await exportSpan()];
    return pushed.status === 200 && exported.status === 200;
  });
});
afterAll(() => bus?.close());

type Answer = {
  readonly status: number;
  readonly text: string;
  readonly retryAfter: string | null;
  readonly ms: number;
};

const post = async (url: string, headers: Record<string, string>, body: unknown): Promise<Answer> => {
  const startedAt = performance.now();
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  const text = await response.text();
  const { status } = response;
  return { status, text, retryAfter: response.headers.get('retry-after'), ms: performance.now() - startedAt };
};

/** A push of one point; `points` counts those that were taken. */
async function push(): Promise<Answer> {
  const { mon_data_id: dataId, token } = report.data_source;
  const data = [{ metrics: { cpu: 1 }, timestamp: Date.now(), dimension: { n: String(points) } }];
  const url = `http://127.0.0.1:${stack.ingress[0]?.ports['push']}/v2/push/`;
  const answer = await post(url, {}, { data_id: dataId, access_token: token, data });
  if (answer.status === 200) points++;
  return answer;
}

async function exportSpan(): Promise<Answer> {
  const time = `${Date.now()}000000`;
  const span = {
    traceId: 'a'.repeat(32),
    spanId: String(points).padStart(16, 'b'),
    name: 'span',
    startTimeUnixNano: time,
    endTimeUnixNano: time,
  };
  const headers = { 'content-type': 'application/json', 'x-mon-token': application.token };
  const url = `http://127.0.0.1:${stack.ingress[0]?.ports['otlp']}/v1/traces`;
  return post(url, headers, { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] });
}

/** 100 ms are promised; a machine that does other things gets five times as long. */
const promptMs = 5 * 100;

const expectPromptRefusal = ({ status, text, retryAfter, ms }: Answer): void => {
  expect([status, retryAfter], text).toEqual([503, expect.stringMatching(/^[13]$/)]);
  expect(ms).toBeLessThan(promptMs);
};

const rolesOf = ({ ingress, transfer, metadata }: Stack): RoleProcess[] => [
  ...ingress,
  ...transfer,
  metadata,
];

const linesWith = ({ lines }: RoleProcess, ...texts: string[]): string[] =>
  lines.filter((line) => texts.every((text) => line.includes(text)));

const stateOf = async (stream: string) => {
  const { config, state } = await (await bus.manager()).streams.info(stream);
  return { config, state };
};

describe('a stream that is gone', () => {
  it.each(['METRICS', 'TRACES'])(
    '%s is named by every role, refused at once, told once, and made again above every number',
    async (stream) => {
      const send = stream === 'METRICS' ? push : exportSpan;
      await stack.waitForEmptyStream(stream === 'METRICS' ? 'METRICS' : 'TRACES');
      const before = (await stateOf(stream)).state.last_seq;
      const others = [...stack.ingress, ...stack.transfer];
      stack.metadata.signal('SIGSTOP');
      try {
        await (await bus.manager()).streams.delete(stream);
        expectPromptRefusal(await send());
        for (const role of others)
          await until(`${role.name} names it`, async () => {
            const { status, failing, degraded } = await readyzOf(role);
            expect([status, failing]).toEqual([200, {}]);
            return degraded['streams']?.includes(`${stream}: it does not exist`);
          });
        const seenAt = performance.now();
        await until('pulls have failed for seconds', () => performance.now() - seenAt > 3_000);
        expectPromptRefusal(await send());
      } finally {
        stack.metadata.signal('SIGCONT');
      }
      const startedAt = performance.now();
      await until('it is taken again', async () => (await send()).status === 200);
      expect(performance.now() - startedAt).toBeLessThan(5 * 10_000);
      for (const role of rolesOf(stack))
        await until(
          `${role.name} is well`,
          async () => (await readyzOf(role)).degraded['streams'] === undefined,
        );
      expect((await stateOf(stream)).config.first_seq).toBeGreaterThan(before);
      const toldOnce = async (
        role: RoleProcess,
        begins: string,
        ends: string,
        name: string,
      ): Promise<void> => {
        await until(`${role.name}: ${ends}`, () => linesWith(role, ends, `"${name}"`).length > 0);
        expect(linesWith(role, begins, `"${name}"`)).toHaveLength(1);
        expect(linesWith(role, ends, `"${name}"`)).toHaveLength(1);
      };
      for (const role of rolesOf(stack))
        await toldOnce(role, 'a stream is missing or changed', 'a stream is as defined again', stream);
      for (const role of stack.transfer) await toldOnce(role, 'pulls fail', 'pulls work again', stream);
    },
  );

  it('and what came before and after it is stored', async () => {
    await stack.waitForRows(report.result_table.table_id, points);
  });
});

describe('a stream that was changed', () => {
  it('is changed back, with its messages', async () => {
    const { config } = await stateOf('METRICS');
    await (await bus.manager()).streams.update('METRICS', { max_bytes: 4_096 });
    await until(
      'the budget is the defined one',
      async () => (await stateOf('METRICS')).config.max_bytes === config.max_bytes,
    );
    const told = () => linesWith(stack.metadata, 'a stream was created again or changed back', '"changed"');
    await until('the change is in the log', async () => told().length > 0);
    expect(told()).toHaveLength(1);
  });

  it('and that an operator holds is named, and stays', async () => {
    const restore = await limitStream(bus, 'DEADLETTER', 2 ** 20);
    await until('it is named', async () =>
      /^DEADLETTER: max_bytes is 1048576 and not \d+; held: a test$/.test(
        (await readyzOf(stack.metadata)).degraded['streams'] ?? '',
      ),
    );
    expect((await stateOf('DEADLETTER')).config.metadata?.[holdKey]).toBe('a test');
    await restore();
    await until('it is well', async () => (await readyzOf(stack.metadata)).degraded['streams'] === undefined);
  });
});

describe('buckets that are gone', () => {
  const names = ['KV_tidemark-records', 'KV_tidemark-columns', 'KV_tidemark-system'];
  const streamsGone = async (): Promise<void> => {
    for (const name of names) await (await bus.manager()).streams.delete(name);
  };

  it('are made again by metadata with what they held; receivers take points all the time', async () => {
    const { config } = await stateOf('KV_tidemark-records');
    stack.metadata.signal('SIGSTOP');
    try {
      await streamsGone();
      expect((await push()).status).toBe(200);
      expect((await exportSpan()).status).toBe(200);
    } finally {
      stack.metadata.signal('SIGCONT');
    }
    const startedAt = performance.now();
    for (const name of names)
      await until(
        `${name} is whole`,
        () => linesWith(stack.metadata, 'a bucket is there again', name).length > 0,
      );
    expect(performance.now() - startedAt).toBeLessThan(5 * 10_000);
    for (const name of names)
      expect(linesWith(stack.metadata, 'a bucket is missing or empty', name)).toHaveLength(1);
    await until(
      'metadata is well',
      async () => (await readyzOf(stack.metadata)).degraded['streams'] === undefined,
    );
    expect((await stateOf('KV_tidemark-records')).config.max_msgs_per_subject).toBe(
      config.max_msgs_per_subject,
    );
    const reports = await stack.api('GET', '/api/v1/custom-reports');
    expect(JSON.stringify(reports.body)).toContain('"away"');
    expect((await push()).status).toBe(200);
    const later = await stack.createReport('after the loss');
    expect(later.data_source.mon_data_id).toBeGreaterThan(report.data_source.mon_data_id + 1);
    await stack.waitForRows(report.result_table.table_id, points);
  });
});

describe('a dependency that is away', () => {
  it('NATS: receivers refuse at once, every role stays ready and names it, and all continues by itself', async () => {
    await stack.engines.nats.kill();
    for (const role of rolesOf(stack))
      await until(`${role.name} names it`, async () => (await readyzOf(role)).degraded['nats']);
    for (const role of rolesOf(stack))
      expect(await readyzOf(role)).toMatchObject({ status: 200, ready: true, failing: {} });
    for (let count = 0; count < 3; count++) {
      expectPromptRefusal(await push());
      expectPromptRefusal(await exportSpan());
    }
    // Exporters have few tries: once the trouble lasts, each of them has to last longer.
    for (const send of [push, exportSpan])
      await until('senders get the longer wait', async () => (await send()).retryAfter === '3');
    await stack.engines.nats.start();
    await until('points are taken again', async () => (await push()).status === 200);
    await stack.ready();
    await stack.waitForRows(report.result_table.table_id, points);
  });

  it('the stores: transfer and metadata stay ready, and metadata starts and serves without them', async () => {
    await stack.engines.questdb.kill();
    await stack.engines.clickhouse.kill();
    const { metadata } = stack;
    await waitFor(
      'metadata names ClickHouse soon',
      20_000,
      async () => (await readyzOf(metadata)).degraded['clickhouse'] !== undefined,
    );
    await metadata.stop();
    metadata.start();
    await until(
      'metadata serves',
      async () => (await readyzOf(metadata).catch(() => undefined))?.status === 200,
    );
    expect((await stack.api('GET', '/api/v1/custom-reports')).status).toBe(200);
    expect((await push()).status).toBe(200);
    await until(
      'transfer names QuestDB',
      async () => (await readyzOf(stack.transfer[0])).degraded['questdb'],
    );
    await until('metadata names both', async () => {
      const { degraded } = await readyzOf(metadata);
      return degraded['questdb'] !== undefined && degraded['clickhouse'] !== undefined;
    });
    for (const role of rolesOf(stack)) expect((await readyzOf(role)).status).toBe(200);
    await stack.engines.questdb.start();
    await stack.engines.clickhouse.start();
    await stack.ready();
    await stack.waitForRows(report.result_table.table_id, points);
  });
});
