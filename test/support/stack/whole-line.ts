import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Bus, connectBus } from '../../../src/bus/connection.ts';
import { waitFor } from '../wait.ts';
import { fetchEngine } from './fetch-engine.ts';
import type { Application, QueryAnswer, Report } from './stack.ts';

/** The addresses of a `tidemark up`; engines with user and password where they require them. */
export type LineAddresses = Readonly<
  Record<'push' | 'otlp' | 'admin' | 'nats' | 'questdb' | 'clickhouse', string>
>;

/** The outcomes of one data id or application. */
export type OutcomesOf = {
  readonly received: number;
  readonly stored: number;
  readonly dropped: Readonly<Record<string, number>>;
  readonly dead_lettered: number;
};

/** Who sends to a `tidemark up` of any version, works with it and looks into its engines. */
export type WholeLine = {
  readonly bus: Bus;
  readonly adminToken: string;
  api(method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown }>;
  createReport(name: string, extra?: Record<string, unknown>): Promise<Report>;
  createApplication(name: string): Promise<Application>;
  /** The new token; the one before is taken for an hour more. */
  rotate(path: `data-sources/${number}` | `applications/${number}`): Promise<string>;
  push(body: string, key?: string): Promise<{ status: number; text: string }>;
  exportSpans(body: string, token: string): Promise<{ status: number; text: string }>;
  questdb(sql: string): Promise<QueryAnswer['dataset']>;
  /** The text that ClickHouse answers. */
  clickhouse(sql: string): Promise<string>;
  messages(stream: string): Promise<number>;
  /** Waits until nothing is in flight and all rows that QuestDB confirmed are visible. */
  settled(): Promise<void>;
  outcomes(owner: `data_id=${number}` | `app_id=${number}`): Promise<OutcomesOf | undefined>;
  close(): Promise<void>;
};

const answerOf = async (response: Response): Promise<{ status: number; text: string }> => ({
  status: response.status,
  text: await response.text(),
});

const createAdmin = (
  address: string,
  adminToken: string,
): Pick<WholeLine, 'api' | 'createReport' | 'createApplication' | 'rotate' | 'outcomes'> => {
  const api: WholeLine['api'] = async (method, path, body) => {
    const response = await fetch(`${address}${path}`, {
      method,
      headers: { authorization: `Bearer ${adminToken}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.json() };
  };
  const must = async (method: string, path: string, body?: unknown): Promise<string> => {
    const answer = await api(method, path, body);
    const text = JSON.stringify(answer.body);
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text;
  };
  return {
    api,
    createReport: async (name, extra = {}) =>
      JSON.parse(
        await must('POST', '/operations/monitor_web.custom_report.resources.CreateCustomTimeSeries', {
          ...{ mon_biz_id: 2, name },
          ...extra,
        }),
      ),
    createApplication: async (name) =>
      JSON.parse(await must('POST', '/api/v1/applications', { mon_biz_id: 2, app_name: name })).application,
    rotate: async (path) =>
      JSON.parse(await must('POST', `/api/v1/${path}/rotate-token`, { overlap_seconds: 3600 })).token,
    outcomes: async (owner) => JSON.parse(await must('GET', `/api/v1/outcomes?${owner}`)).items[0],
  };
};

const createStores = (addresses: LineAddresses): Pick<WholeLine, 'questdb' | 'clickhouse'> => ({
  questdb: async (sql) => {
    const response = await fetchEngine(`${addresses.questdb}/exec?query=${encodeURIComponent(sql)}`);
    const { status, text } = await answerOf(response);
    if (status !== 200) throw new Error(`${sql}: ${text}`);
    const { dataset }: QueryAnswer = JSON.parse(text);
    return dataset;
  },
  clickhouse: async (sql) => {
    const response = await fetchEngine(addresses.clickhouse, { method: 'POST', body: sql });
    const { status, text } = await answerOf(response);
    if (status !== 200) throw new Error(`${sql}: ${text}`);
    return text;
  },
});

/** For the `tidemark up` at these addresses, on this data folder. */
export const openWholeLine = async (addresses: LineAddresses, dataFolder: string): Promise<WholeLine> => {
  const adminToken = readFileSync(join(dataFolder, 'admin.token'), 'utf8').trim();
  const bus = await connectBus(addresses.nats, 'test');
  const { streams } = await bus.manager();
  const stores = createStores(addresses);
  const messages = async (stream: string): Promise<number> => (await streams.info(stream)).state.messages;
  return {
    bus,
    adminToken,
    ...createAdmin(addresses.admin, adminToken),
    ...stores,
    messages,
    push: async (body, key) =>
      answerOf(
        await fetch(`${addresses.push}/v2/push/`, {
          method: 'POST',
          headers: key === undefined ? {} : { 'idempotency-key': key },
          body,
        }),
      ),
    exportSpans: async (body, token) =>
      answerOf(
        await fetch(`${addresses.otlp}/v1/traces`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-mon-token': token },
          body,
        }),
      ),
    settled: async () => {
      for (const stream of ['METRICS', 'TRACES', 'LEDGER'])
        await waitFor(`${stream} is empty`, 60_000, async () => (await messages(stream)) === 0);
      const behind = 'SELECT name FROM wal_tables() WHERE sequencerTxn != writerTxn';
      await waitFor('QuestDB has applied its log', 60_000, async () => {
        return (await stores.questdb(behind)).length === 0;
      });
    },
    close: () => bus.close(),
  };
};
