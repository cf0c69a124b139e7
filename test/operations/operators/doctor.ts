import { once } from 'node:events';
import { createServer } from 'node:net';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { runCli } from '../../support/clients/cli.ts';
import type { Stack } from '../../support/stack/stack.ts';
import { sharedStack } from './stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await sharedStack();
});

const answerSchema = z.object({
  well: z.boolean(),
  findings: z.array(
    z.object({ name: z.string(), ok: z.boolean(), detail: z.string(), ms: z.number().nonnegative() }),
  ),
});

const doctor = async (env: Record<string, string> = {}, ...options: string[]) => {
  const ports = stack.ingress[0]?.ports ?? {};
  const { code, stdout, stderr } = await runCli(
    [
      'doctor',
      '--json',
      '--push-url',
      `http://127.0.0.1:${ports['push']}`,
      '--otlp-url',
      `http://127.0.0.1:${ports['otlp']}`,
      '--grpc-url',
      `http://127.0.0.1:${ports['grpc']}`,
      ...options,
    ],
    { ...process.env, ...stack.env, ...env },
  );
  expect(stderr).toBe('');
  return { code, ...answerSchema.parse(JSON.parse(stdout)), text: stdout };
};

const failing = (findings: z.output<typeof answerSchema>['findings']) =>
  findings.filter(({ ok }) => !ok).map(({ name }) => name);

describe('tidemark doctor', () => {
  // The second time finds what the first one made, and must not take an earlier trial for its own.
  it.each([1, 2])('sees a well deployment through to the end (time %i)', async () => {
    const { code, well, findings, text } = await doctor();
    expect(failing(findings)).toEqual([]);
    expect([code, well]).toEqual([0, true]);
    expect(findings.map(({ name }) => name)).toEqual([
      'admin api',
      'troubles',
      'disk',
      'records',
      'nats',
      'clock of nats',
      ...['METRICS', 'TRACES', 'LOGS', 'OTEL_METRICS', 'LEDGER', 'DEADLETTER', 'AUDIT'].map(
        (name) => `stream ${name}`,
      ),
      'questdb',
      'clock of questdb',
      'tables of questdb',
      'clickhouse',
      'clock of clickhouse',
      'tables of clickhouse',
      'reader of clickhouse',
      ...['records', 'acknowledged', 'in QuestDB', 'in the balance'].map((stage) => `point: ${stage}`),
      ...['records', 'acknowledged', 'acknowledged over gRPC', 'in ClickHouse', 'in the balance'].map(
        (stage) => `span: ${stage}`,
      ),
      ...['records', 'acknowledged', 'in ClickHouse', 'in the balance'].map(
        (stage) => `log record: ${stage}`,
      ),
      ...['records', 'acknowledged', 'in ClickHouse', 'in the balance'].map(
        (stage) => `data point: ${stage}`,
      ),
    ]);
    expect(text).not.toMatch(/[0-9a-f]{32}\.|token":/);
  });

  it('leaves its own records out of lists, exports, ledgers and subscriptions, unless a query has system=true', async () => {
    await stack.api('POST', '/operations/metadata.task.custom_report.refresh_custom_report_2_node_man', {});
    const lists = ['custom-reports', 'data-sources', 'time-series-groups', 'result-tables', 'placements'];
    const paths = [...lists, 'applications', 'outcomes', 'export'].map((name) => `/api/v1/${name}`);
    const answerOf = async (path: string): Promise<string> => {
      const { status, body } = await stack.api('GET', path);
      expect([path, status]).toEqual([path, 200]);
      return JSON.stringify(body);
    };
    const reports = z.object({ items: z.array(z.object({ mon_data_id: z.number() })) });
    const own = reports
      .parse(JSON.parse(await answerOf('/api/v1/custom-reports?name=tidemark_doctor')))
      .items.map(({ mon_data_id: id }) => id);
    expect(own).toHaveLength(1);
    const mark = new RegExp(`tidemark_doctor|"data_id":${own[0]},"app_id"|_time_series_${own[0]}\\.`);
    for (const path of paths) {
      expect([path, mark.exec(await answerOf(path))?.[0]]).toEqual([path, undefined]);
      expect(await answerOf(`${path}?system=true`), path).toMatch(mark);
    }
    expect(await answerOf(`/api/v1/outcomes?data_id=${own[0]}`)).toMatch(mark);
    expect(await answerOf('/api/v1/subscriptions')).not.toContain(String(own[0]));
    const { stdout } = await runCli(['report', 'list', '--system'], { ...process.env, ...stack.env });
    expect(stdout).toContain('tidemark_doctor');
  });

  it('leaves its own items out of queries of all applications', async () => {
    const applications = z.object({ items: z.array(z.object({ app_id: z.number() })) });
    const { body } = await stack.api('GET', '/api/v1/applications?app_name=tidemark_doctor');
    const [own] = applications.parse(body).items;
    const items = z.object({ items: z.array(z.unknown()) });
    const itemsOf = async (path: string, ofOne: boolean): Promise<string> => {
      const app = ofOne ? { app_id: own?.app_id } : {};
      const { status, body: answer } = path.endsWith('services')
        ? await stack.api('GET', ofOne ? `${path}?app_id=${own?.app_id}` : path)
        : await stack.api('POST', path, path.endsWith('red') ? { ...app, kinds: ['unspecified'] } : app);
      expect([path, status]).toEqual([path, 200]);
      return JSON.stringify(items.parse(answer).items);
    };
    for (const path of ['query/traces', 'query/logs', 'query/metrics', 'query/red', 'traces/services']) {
      expect(await itemsOf(`/api/v1/${path}`, true), path).toContain('tidemark_doctor');
      expect(await itemsOf(`/api/v1/${path}`, false), path).not.toContain('tidemark_doctor');
    }
  });

  it('names a dependency that is down, and continues with the others', async () => {
    const { code, findings } = await doctor({ TIDEMARK_QUESTDB_URL: 'http://127.0.0.1:1' }, '--no-trial');
    expect(code).toBe(1);
    expect(failing(findings)).toEqual(['questdb']);
    expect(findings.map(({ name }) => name)).toContain('tables of clickhouse');
  });

  it('names a ClickHouse that answers the roles and not its readers', async () => {
    const wrong = {
      TIDEMARK_CLICKHOUSE_READONLY_USER: 'readonly',
      TIDEMARK_CLICKHOUSE_READONLY_PASSWORD: 'wrong',
    };
    const { code, findings } = await doctor(wrong, '--no-trial');
    expect([code, failing(findings)]).toEqual([1, ['reader of clickhouse']]);
  });

  it('names a store that accepts connections and does not answer once, after five seconds', async () => {
    const frozen = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1');
    await once(frozen, 'listening');
    const { port } = z.object({ port: z.number() }).parse(frozen.address());
    const url = `http://127.0.0.1:${port}`;
    const { findings } = await doctor(
      { TIDEMARK_QUESTDB_URL: url, TIDEMARK_CLICKHOUSE_URL: url },
      '--no-trial',
    );
    frozen.close();
    expect(failing(findings)).toEqual(['questdb', 'clickhouse']);
    for (const { ok, ms } of findings) if (!ok) expect(ms).toBeGreaterThan(4_000);
  });

  it('names the receiver over gRPC when nothing answers there', async () => {
    const { code, findings } = await doctor({}, '--grpc-url', 'http://127.0.0.1:1', '--timeout', '5s');
    expect(code).toBe(1);
    expect(failing(findings)).toEqual(['span: acknowledged over gRPC']);
  });

  it('names the role that is missing, and the stage that items do not pass', async () => {
    await stack.transfer[0]?.stop();
    const { code, findings } = await doctor({}, '--timeout', '5s');
    stack.transfer[0]?.start();
    expect(code).toBe(1);
    expect(failing(findings)).toEqual([
      'troubles: role_missing',
      'point: in QuestDB',
      'span: in ClickHouse',
      'log record: in ClickHouse',
      'data point: in ClickHouse',
    ]);
  });
});
