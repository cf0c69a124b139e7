import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { doctorName } from '../../directory/system-owners.ts';
import { type Finding, look } from '../../doctor/dependencies.ts';
import { Fault } from '../../model/fault.ts';
import { defaultInstance } from '../../model/instances.ts';
import {
  type ApplicationPipeline,
  applicationPipelines,
  type ItemTableName,
  type Pipeline,
} from '../../model/signals.ts';
import { readBalances } from '../../outcomes/balance.ts';
import { type Clickhouse, database } from '../../stores/clickhouse/client.ts';
import { type QuestdbSql, quoteIdentifier } from '../../stores/questdb/sql.ts';
import type { AdminClient } from '../client.ts';
import { send, tokenHeaders, waitUntil } from '../sending.ts';
import { type Ask, ensureApplication, ensureReport } from '../system-records.ts';
import { exportOverGrpc } from './grpc-export.ts';

export type EndToEndDeps = {
  readonly client: AdminClient;
  /** A client for the QuestDB instance of this name; undefined if the settings have no such instance. */
  readonly sqlOf: (instance: string) => QuestdbSql | undefined;
  readonly clickhouse: Clickhouse;
  readonly pushUrl: string;
  readonly otlpUrl: string;
  /** Without one, no span is sent over gRPC. */
  readonly grpcUrl: string | undefined;
  readonly bizId: number;
  /** For each stage, in milliseconds. */
  readonly timeoutMs: number;
};

const hourMs = 3_600_000;

const placementsSchema = z.object({ items: z.array(z.object({ questdb: z.string() })) });
const countRow = z.object({ count: z.coerce.number() });

/** Sends until the answer is 2xx: a receiver has new records within a second. */
const sendUntilTaken = async (timeoutMs: number, request: () => Promise<Response>): Promise<string> => {
  let last = '';
  await waitUntil('the receiver accepted it', timeoutMs, async () => {
    const answer = await request();
    last = `${answer.status} ${(await answer.text()).slice(0, 300)}`;
    if (answer.ok) return true;
    // A receiver may not have read a new token yet; no other refusal passes by waiting.
    if (answer.status === 401 || answer.status === 503) return false;
    throw new Fault('permanent', 'refused', `the receiver answered ${last}`);
  }).catch((error: unknown) => {
    throw error instanceof Fault && error.code === 'not_in_time'
      ? new Fault('transient', 'not_in_time', `${error.message}; last answer: ${last}`)
      : error;
  });
  return 'answered 2xx';
};

const askOf =
  ({ client }: EndToEndDeps): Ask =>
  async (schema, method, path, body) =>
    (await client.ask(schema, method, path, body === undefined ? {} : { body })).value;

/** A client for the QuestDB that the table of this data id lies on. */
const sqlOfReport = async ({ client, sqlOf }: EndToEndDeps, dataId: number): Promise<QuestdbSql> => {
  const path = `/api/v1/placements?mon_data_id=${dataId}`;
  const [placement] = (await client.ask(placementsSchema, 'GET', path)).value.items;
  const name = placement?.questdb ?? defaultInstance;
  const sql = sqlOf(name);
  if (sql !== undefined) return sql;
  throw new Fault(
    'permanent',
    'questdb_instance_unknown',
    `the table is on QuestDB instance ${name}, which TIDEMARK_QUESTDB_URLS lacks here`,
  );
};

type Counter = { more(): Promise<boolean> };

/**
 * Counts the received items of an owner: whether there are more than at first. One period for all readings: in a later one
 * the items of its first minute would be missing.
 */
const counterOf = async (
  { clickhouse }: Pick<EndToEndDeps, 'clickhouse'>,
  owner: { dataId: number } | { appId: number },
  pipeline: Pipeline,
): Promise<Counter> => {
  const sinceMs = Date.now() - hourMs;
  const received = async (): Promise<number> => {
    const balances = await readBalances(clickhouse, { ...owner, sinceMs });
    return balances.reduce((sum, each) => sum + (each.pipeline === pipeline ? each.received : 0), 0);
  };
  const before = await received();
  return { more: async () => (await received()) > before };
};

type Stage = readonly [name: string, run: () => Promise<string>];

/** The stages in order; after a failed one the rest is omitted. */
const inOrder = async (stages: readonly Stage[]): Promise<Finding[]> => {
  const findings: Finding[] = [];
  for (const [name, stage] of stages) {
    const finding = await look(name, stage);
    findings.push(finding);
    if (!finding.ok) break;
  }
  return findings;
};

/** The last stage of an item, whose counter is there once its records are. */
const balanceStage = (item: string, timeoutMs: number, counter: () => Counter | undefined): Stage => [
  `${item}: in the balance`,
  async () => {
    await waitUntil('its outcome is recorded', timeoutMs, async () => (await counter()?.more()) === true);
    return 'tidemark ledger counts it';
  },
];

/** One point: acknowledged, visible in QuestDB, in the balance. */
export const tryPoint = async (deps: EndToEndDeps): Promise<Finding[]> => {
  const { pushUrl, timeoutMs } = deps;
  let own: Awaited<ReturnType<typeof ensureReport>> | undefined;
  let sql: QuestdbSql | undefined;
  let counter: Counter | undefined;
  const found = async (): Promise<string> => {
    const description = 'trials of tidemark doctor';
    own = await ensureReport(askOf(deps), { mon_biz_id: deps.bizId, name: doctorName, description });
    sql = await sqlOfReport(deps, own.dataId);
    counter = await counterOf(deps, { dataId: own.dataId }, 'metrics');
    return `data id ${own.dataId}, business ${deps.bizId}`;
  };
  const report = () => own ?? { dataId: 0, table: '', token: '' };
  const timestamp = Date.now();
  const value = randomBytes(4).readUInt32BE();
  const body = () => ({
    data_id: report().dataId,
    access_token: report().token,
    data: [{ metrics: { trial: value }, target: 'tidemark doctor', timestamp }],
  });
  const isSeen = async (): Promise<boolean> => {
    const answer = await sql?.exec(
      `SELECT count() FROM ${quoteIdentifier(report().table)} WHERE timestamp = ${timestamp * 1000} AND trial = ${value}`,
    );
    return Number(answer?.dataset[0]?.[0]) === 1;
  };
  return inOrder([
    ['point: records', found],
    [
      'point: acknowledged',
      () => sendUntilTaken(timeoutMs, () => send(`${pushUrl}/v2/push/`, '--push-url', {}, body())),
    ],
    // A table without the column yet refuses the question.
    [
      'point: in QuestDB',
      async () => {
        await waitUntil('the row is visible', timeoutMs, () => isSeen().catch(() => false));
        return report().table;
      },
    ],
    balanceStage('point', timeoutMs, () => counter),
  ]);
};

/** An item of a signal of applications that tries the line, and the condition that finds its row. */
type Trial = {
  readonly pipeline: ApplicationPipeline;
  readonly table: ItemTableName;
  /** In the names of the stages. */
  readonly name: string;
  readonly path: string;
  readonly body: object;
  readonly condition: string;
  readonly params: Readonly<Record<string, string>>;
  /** Where an operator finds it. */
  readonly place: string;
};

const resource = { attributes: [{ key: 'service.name', value: { stringValue: doctorName } }] };
const nowNanos = (): bigint => BigInt(Date.now()) * 1_000_000n;

const spanTrial = (): Trial => {
  const traceId = randomBytes(16).toString('hex');
  const start = nowNanos();
  const span = {
    traceId,
    spanId: randomBytes(8).toString('hex'),
    name: 'trial',
    startTimeUnixNano: String(start),
    endTimeUnixNano: String(start + 1_000_000n),
  };
  return {
    ...{ pipeline: 'traces', table: 'otel_traces', name: 'span', path: '/v1/traces' },
    body: { resourceSpans: [{ resource, scopeSpans: [{ spans: [span] }] }] },
    ...{ condition: 'TraceId = {traceId:String}', params: { traceId }, place: `trace ${traceId}` },
  };
};

const logTrial = (): Trial => {
  const text = `trial ${randomBytes(8).toString('hex')}`;
  const record = {
    timeUnixNano: String(nowNanos()),
    severityNumber: 9,
    severityText: 'INFO',
    body: { stringValue: text },
  };
  return {
    ...{ pipeline: 'logs', table: 'otel_logs', name: 'log record', path: '/v1/logs' },
    body: { resourceLogs: [{ resource, scopeLogs: [{ logRecords: [record] }] }] },
    condition:
      'ServiceName = {service:String} AND TimestampTime > now() - INTERVAL 1 HOUR AND Body = {text:String}',
    ...{ params: { service: doctorName, text }, place: `body ${text}` },
  };
};

const dataPointTrial = (): Trial => {
  const trial = randomBytes(8).toString('hex');
  const metric = 'tidemark.doctor.trial';
  const dataPoint = {
    timeUnixNano: String(nowNanos()),
    asInt: '1',
    attributes: [{ key: 'trial', value: { stringValue: trial } }],
  };
  return {
    ...{ pipeline: 'otel_metrics', table: 'otel_metrics_gauge', name: 'data point', path: '/v1/metrics' },
    body: {
      resourceMetrics: [
        { resource, scopeMetrics: [{ metrics: [{ name: metric, gauge: { dataPoints: [dataPoint] } }] }] },
      ],
    },
    condition:
      'MetricName = {metric:String} AND ServiceName = {service:String} AND TimeUnix > now() - INTERVAL 1 HOUR ' +
      "AND Attributes['trial'] = {trial:String}",
    params: { metric, service: doctorName, trial },
    place: `metric ${metric}, trial ${trial}`,
  };
};

const trials: Readonly<Record<ApplicationPipeline, () => Trial>> = {
  traces: spanTrial,
  logs: logTrial,
  otel_metrics: dataPointTrial,
};

/** Sends one more span of the trace over gRPC, where there is an address for it; the others have no trace. */
const overGrpc = (
  { grpcUrl, timeoutMs }: EndToEndDeps,
  traceId: string | undefined,
  token: () => string,
): Stage[] => {
  if (grpcUrl === undefined || traceId === undefined) return [];
  const span = {
    ...{ traceId, spanId: randomBytes(8).toString('hex'), name: 'trial', service: doctorName },
    startNanos: BigInt(Date.now()) * 1_000_000n,
  };
  const exported = () => sendUntilTaken(timeoutMs, () => exportOverGrpc(grpcUrl, token(), span));
  return [['span: acknowledged over gRPC', exported]];
};

type Application = Awaited<ReturnType<typeof ensureApplication>>;

/** One item of a signal of applications: acknowledged, a span over gRPC too, visible in ClickHouse, in the balance. */
const tryItem = async (
  deps: EndToEndDeps,
  ensured: Promise<Application>,
  { pipeline, table, name, path, body, condition, params, place }: Trial,
): Promise<Finding[]> => {
  const { clickhouse, otlpUrl, timeoutMs } = deps;
  let own: Application | undefined;
  let counter: Counter | undefined;
  const application = () => own ?? { appId: 0, token: '' };
  const viaGrpc = overGrpc(deps, params['traceId'], () => application().token);
  return inOrder([
    [
      `${name}: records`,
      async () => {
        own = await ensured;
        counter = await counterOf(deps, { appId: own.appId }, pipeline);
        return `application ${own.appId}, business ${deps.bizId}`;
      },
    ],
    [
      `${name}: acknowledged`,
      () =>
        sendUntilTaken(timeoutMs, () =>
          send(`${otlpUrl}${path}`, '--otlp-url', tokenHeaders(application().token), body),
        ),
    ],
    ...viaGrpc,
    [
      `${name}: in ClickHouse`,
      async () => {
        await waitUntil('the row is visible', timeoutMs, async () => {
          const [row] = await clickhouse.rows(
            countRow,
            `SELECT count() AS count FROM ${database}.${table} WHERE ${condition}`,
            { params },
          );
          return row?.count === 1 + viaGrpc.length;
        });
        return place;
      },
    ],
    balanceStage(name, timeoutMs, () => counter),
  ]);
};

/** One item of each signal of applications at the same time, for an outcome may take 20 s: a span, a log record, a data point. */
export const tryApplication = async (deps: EndToEndDeps): Promise<Finding[]> => {
  // Once for all of them: two creations of one name would refuse each other.
  const ensured = ensureApplication(askOf(deps), { mon_biz_id: deps.bizId, app_name: doctorName });
  const findings = applicationPipelines.map((pipeline) => tryItem(deps, ensured, trials[pipeline]()));
  return (await Promise.all(findings)).flat();
};
