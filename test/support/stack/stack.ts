import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Durability } from '../../../src/config/settings.ts';
import { deathSignalPrefix } from '../../../src/embedded/child.ts';
import type { RoleName } from '../../../src/embedded/role.ts';
import { pipelines } from '../../../src/model/signals.ts';
import { waitFor } from '../wait.ts';
import { type FolderHook, makeTables, startEngines, type TestEngines } from './engines.ts';
import { askEngine } from './fetch-engine.ts';
import { takePorts } from './ports.ts';
import { isWell, readyzOf } from './readiness.ts';

const root = resolve(import.meta.dirname, '../../..');

/** One role of the program as a child process, the way an operator runs it. */
export type RoleProcess = {
  readonly name: string;
  readonly ports: Readonly<Record<string, number>>;
  readonly pid: number;
  readonly running: boolean;
  /** What it wrote, line by line. */
  readonly lines: readonly string[];
  /** Waits until it is ready and misses nothing. */
  ready(boundMs?: number): Promise<void>;
  /** SIGTERM, and waits for the end. Answers the exit code. */
  stop(): Promise<number | null>;
  /** SIGKILL, and waits for the end. */
  kill(): Promise<void>;
  signal(signal: NodeJS.Signals): void;
  /** The same role again, on the same ports. */
  start(): void;
  metrics(): Promise<string>;
};

export type Report = {
  custom_report: { custom_report_id: number };
  data_source: { mon_data_id: number; token: string };
  time_series_group: { table_id: string };
  result_table: { table_id: string };
};

export type Application = { app_id: number; token: string };

type StreamName =
  | 'METRICS'
  | `METRICS-${string}`
  | 'TRACES'
  | 'LOGS'
  | 'OTEL_METRICS'
  | 'LEDGER'
  | 'DEADLETTER';
type StreamState = { messages: number; last_seq: number };
type Jsz = { account_details?: { stream_detail?: { name: string; state: StreamState }[] }[] };

export type QueryAnswer = { columns: { name: string; type: string }[]; dataset: unknown[][] };

/** Real engines and roles on free ports. */
export type Stack = {
  readonly engines: TestEngines;
  readonly env: Readonly<Record<string, string>>;
  readonly ingress: RoleProcess[];
  readonly transfer: RoleProcess[];
  readonly metadata: RoleProcess;
  readonly folder: string;
  adminToken(): string;
  api(method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown }>;
  createReport(name: string, extra?: Record<string, unknown>): Promise<Report>;
  /** A new application's id and write token. */
  createApplication(name: string, extra?: Record<string, unknown>): Promise<Application>;
  query(sql: string): Promise<QueryAnswer>;
  /** Rows of a query to ClickHouse, 64-bit numbers as text. */
  spansQuery(sql: string): Promise<Record<string, unknown>[]>;
  /** The present state of a stream on the server. */
  streamState(name: StreamName): Promise<StreamState>;
  /** Waits until nothing of this stream is left. */
  waitForEmptyStream(name: StreamName, boundMs?: number): Promise<void>;
  /** Waits until the table holds exactly this many rows and QuestDB has applied all it had confirmed by then. */
  waitForRows(table: string, rows: number, boundMs?: number): Promise<void>;
  /** Waits until every role is ready: after a fault each comes back in its own time. */
  ready(): Promise<void>;
  stop(): Promise<void>;
};

/** The program of this run in few files, where the run has built it (`vitest/built-program.ts`). */
const built = process.env['BUILT_PROGRAM'];

const roleProcess = (
  role: string,
  name: string,
  env: Record<string, string>,
  ports: Record<string, number>,
  { program, prefix = deathSignalPrefix() }: { program: string | undefined; prefix: StackOptions['command'] },
): RoleProcess => {
  const main =
    program === undefined && built !== undefined
      ? join(built, 'main.js')
      : join(program ?? root, 'src/main.ts');
  const lines: string[] = [];
  let child: ChildProcess;
  /** Resolves once it has ended and all that it wrote was read. */
  let gone: Promise<void> = Promise.resolve();
  const start = (): void => {
    // A test that is killed takes its roles with it.
    const [command = '', ...args] = [...prefix, process.execPath, main, role];
    child = spawn(command, args, {
      env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [child.stdout, child.stderr])
      if (stream !== null) createInterface({ input: stream }).on('line', (line) => lines.push(line));
    const { promise, resolve } = Promise.withResolvers<void>();
    child.once('close', () => resolve());
    gone = promise;
  };
  start();
  return {
    name,
    ports,
    lines,
    get pid() {
      return child.pid ?? -1;
    },
    get running() {
      return child.exitCode === null && child.signalCode === null;
    },
    start,
    signal: (signal) => {
      child.kill(signal);
    },
    ready: async (boundMs = 180_000) => {
      await waitFor(`${name} ready`, boundMs, async () => {
        if (child.exitCode !== null) throw new Error(`${name} ended: ${lines.slice(-5).join('\n')}`);
        if (await isWell({ name, ports })) return true;
        throw new Error(JSON.stringify(await readyzOf({ ports })));
      });
    },
    stop: async () => {
      child.kill('SIGTERM');
      await gone;
      return child.exitCode;
    },
    kill: async () => {
      child.kill('SIGKILL');
      await gone;
    },
    metrics: async () => (await fetch(`http://127.0.0.1:${ports['ops']}/metrics`)).text(),
  };
};

/**
 * Pipelines with a short ack wait, so that NATS redelivers a killed worker's messages within the timeout of a test, and
 * outcomes that are written at once, so that a test need not wait for a balance. `program` is the folder of the program
 * that reads them.
 */
export const testPipelines = (
  folder: string,
  ackWaitSeconds: number,
  duplicateWindowSeconds = 300,
  change: (file: string, text: string) => string = (_file, text) => text,
  program = root,
): string => {
  const target = join(folder, 'pipelines');
  cpSync(join(program, 'pipelines'), target, { recursive: true });
  const edit = (file: string, change: (text: string) => string): void => {
    const path = join(target, file);
    // An earlier program has fewer pipelines.
    if (!existsSync(path)) return;
    writeFileSync(path, change(readFileSync(path, 'utf8')));
  };
  edit('streams.yaml', (text) =>
    text
      .replace(/ack_wait_seconds: \d+/g, `ack_wait_seconds: ${ackWaitSeconds}`)
      .replace(/duplicate_window_seconds: \d+/g, `duplicate_window_seconds: ${duplicateWindowSeconds}`),
  );
  const deadline = (own: string): number => Math.min(Number(own), duplicateWindowSeconds * 750);
  const pipelineFiles = [...pipelines, 'ledger'].map((name) => `${name}.yaml`);
  for (const file of pipelineFiles) {
    edit(file, (text) =>
      text
        .replace(/store_timeout_ms: \d+/, `store_timeout_ms: ${ackWaitSeconds * 750}`)
        .replace(/deadline_ms: (\d+)/, (_, own: string) => `deadline_ms: ${deadline(own)}`),
    );
  }
  edit('ledger.yaml', (text) => text.replace(/write_interval_ms(_max)?: \d+/g, 'write_interval_ms$1: 100'));
  for (const file of ['streams.yaml', ...pipelineFiles]) edit(file, (text) => change(file, text));
  return target;
};

/** Other byte budgets for streams, in the pipelines' folder. */
const setBudgets = (folder: string, budgets: Readonly<Record<string, string>>): void => {
  const path = join(folder, 'streams.yaml');
  let text = readFileSync(path, 'utf8');
  for (const [stream, bytes] of Object.entries(budgets)) {
    text = text.replace(new RegExp(`(  ${stream}:\\n(?:    .*\\n)*?    bytes_max: )\\S+`), `$1${bytes}`);
  }
  writeFileSync(path, text);
};

export type StackOptions = {
  readonly ingress?: number;
  readonly transfer?: number;
  readonly ackWaitSeconds?: number;
  /** Of every stream: how long it remembers a message id, and how long the guard is on after each connect. */
  readonly duplicateWindowSeconds?: number;
  /** Byte budgets of streams, as the pipeline file writes them (`4MiB`). */
  readonly bytesMax?: Readonly<Record<string, string>>;
  /** Variables of one role (`transfer-0`), for instance other ways to the engines. */
  readonly roleEnv?: (role: string, engines: TestEngines) => Promise<Record<string, string>>;
  readonly env?: Record<string, string>;
  /** With ClickHouse and its tables, for spans. */
  readonly traces?: boolean;
  readonly onEngineFolder?: FolderHook;
  /** Called once the engines run, before there is any table or role. */
  readonly beforeRoles?: (engines: TestEngines) => Promise<void>;
  /** Three NATS servers in a cluster, and three copies of every stream. */
  readonly hasNatsCluster?: boolean;
  /** Of engines, tables and roles; default `process`. */
  readonly durability?: Durability;
  /** Edits a pipeline file before the roles read it. */
  readonly pipelines?: (file: string, text: string) => string;
  /** What NATS may refuse a role, in the server's words: a subject that no role has a right to. Default: nothing. */
  readonly mayBeRefused?: RegExp;
  /** The folder whose program the roles are; default this one. */
  readonly program?: string;
  /** The same for single roles, by name: `ingress-1`. */
  readonly programs?: Readonly<Record<string, string>>;
  /** The prefix of the command, so that the program runs as another user; the prefix must end it with the test. */
  readonly command?: readonly string[];
};

/** Starts NATS, QuestDB, metadata and the requested number of ingress and transfer processes (one each). */
export const startStack = async (options: StackOptions = {}): Promise<Stack> => {
  const isPowerSafe = options.durability === 'power';
  const hasTables = options.traces === true && !isPowerSafe && options.beforeRoles === undefined;
  const engines = await startEngines(
    { nats: true, questdb: true, clickhouse: options.traces === true },
    {
      hasTables,
      onFolder: options.onEngineFolder,
      durability: options.durability,
      hasNatsCluster: options.hasNatsCluster,
    },
  );
  await options.beforeRoles?.(engines);
  if (options.traces === true && !hasTables) await makeTables(engines.clickhouse.url, isPowerSafe);
  const ingressCount = options.ingress ?? 1;
  const transferCount = options.transfer ?? 1;
  const ports = await takePorts(2 + 4 * ingressCount + transferCount);
  const next = (): number => ports.pop() ?? 0;
  mkdirSync(join(engines.folder, 'data'), { recursive: true });
  const env: Record<string, string> = {
    // Without ClickHouse outcomes wait in LEDGER, and reach no other ClickHouse.
    TIDEMARK_CLICKHOUSE_URL: 'http://127.0.0.1:1',
    ...engines.env,
    TIDEMARK_DATA: join(engines.folder, 'data'),
    TIDEMARK_MAX_RATE_DEFAULT: '0',
    // Tests keep connections open that nobody uses again.
    TIDEMARK_INGRESS_DRAIN_MS: '0',
    TIDEMARK_DURABILITY: options.durability ?? 'process',
    TIDEMARK_PIPELINES: testPipelines(
      engines.folder,
      options.ackWaitSeconds ?? 6,
      options.duplicateWindowSeconds,
      options.pipelines,
    ),
    ...options.env,
  };
  setBudgets(join(engines.folder, 'pipelines'), options.bytesMax ?? {});
  // Roles that run as another user must reach it.
  if (options.command !== undefined) {
    chmodSync(engines.folder, 0o755);
    chmodSync(join(engines.folder, 'data'), 0o777);
  }
  const metadataPorts = { api: next(), ops: next() };
  env['TIDEMARK_METADATA_API_PORT'] = String(metadataPorts.api);
  env['TIDEMARK_METADATA_OPS_PORT'] = String(metadataPorts.ops);
  // Each role has the rights of its own user of NATS. Earlier programs have none, and refuse settings that came later.
  const envOf = async (name: string, role: RoleName): Promise<Record<string, string>> => {
    const own = { ...env, ...(await options.roleEnv?.(name, engines)) };
    const url = own['TIDEMARK_NATS_URL'];
    const isEarlier = options.program !== undefined || options.programs?.[name] !== undefined;
    if (isEarlier) delete own['TIDEMARK_INGRESS_DRAIN_MS'];
    if (url === undefined || isEarlier) return own;
    return { ...own, TIDEMARK_NATS_URL: engines.asUser(url, role) };
  };
  const ingressPorts = Array.from({ length: ingressCount }, () => ({
    push: next(),
    otlp: next(),
    grpc: next(),
    ops: next(),
  }));
  const receiverEnv = (own: { push: number; otlp: number }): Record<string, string> => ({
    TIDEMARK_INGRESS_PUSH_PORT: String(own.push),
    TIDEMARK_INGRESS_OTLP_PORT: String(own.otlp),
  });
  // So that metadata prints the addresses of the first receivers in what producers copy.
  const [first] = ingressPorts;
  const isEarlierMetadata = options.program !== undefined || options.programs?.['metadata'] !== undefined;
  const metadataEnv = {
    ...(first === undefined ? {} : receiverEnv(first)),
    ...(first === undefined || isEarlierMetadata ? {} : { TIDEMARK_INGRESS_GRPC_PORT: String(first.grpc) }),
    // Tests store points of any age, and look at what stays.
    ...(isEarlierMetadata ? {} : { TIDEMARK_METADATA_RETENTION_DAYS: 'off' }),
    ...(await envOf('metadata', 'metadata')),
  };
  const runAs = (name: string): { program: string | undefined; prefix: StackOptions['command'] } => ({
    program: options.programs?.[name] ?? options.program,
    prefix: options.command,
  });
  const metadata = roleProcess('metadata', 'metadata', metadataEnv, metadataPorts, runAs('metadata'));
  const startIngress = async (own: (typeof ingressPorts)[number], index: number): Promise<RoleProcess> => {
    const name = `ingress-${index}`;
    const its = runAs(name);
    const variables = {
      ...receiverEnv(own),
      ...(its.program === undefined ? { TIDEMARK_INGRESS_GRPC_PORT: String(own.grpc) } : {}),
      TIDEMARK_INGRESS_OPS_PORT: String(own.ops),
    };
    return roleProcess('ingress', name, { ...(await envOf(name, 'ingress')), ...variables }, own, its);
  };
  const startTransfer = async (_: unknown, index: number): Promise<RoleProcess> => {
    const name = `transfer-${index}`;
    const own = { ops: next() };
    const variables = { TIDEMARK_TRANSFER_OPS_PORT: String(own.ops) };
    const variablesOfAll = { ...(await envOf(name, 'transfer')), ...variables };
    return roleProcess('transfer', name, variablesOfAll, own, runAs(name));
  };
  const ingress = await Promise.all(ingressPorts.map(startIngress));
  const transfer = await Promise.all(Array.from({ length: transferCount }, startTransfer));
  const roles = [metadata, ...ingress, ...transfer];
  const stop = async (): Promise<void> => {
    await Promise.all(roles.map((role) => role.kill()));
    await engines.stop();
    // Each test of roles is one of their rights, too.
    const refused = engines.lines.filter(
      (line) => /^nats: .*Violation/.test(line) && options.mayBeRefused?.test(line) !== true,
    );
    if (refused.length > 0) throw new Error(`NATS refused a role:\n${[...new Set(refused)].join('\n')}`);
  };
  const ready = async (): Promise<void> => {
    for (const role of roles) await role.ready();
  };
  try {
    await ready();
  } catch (error) {
    await stop();
    throw error;
  }
  const adminToken = (): string => readFileSync(join(engines.folder, 'data', 'admin.token'), 'utf8').trim();
  const api = async (
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ status: number; body: unknown }> => {
    const response = await fetch(`http://127.0.0.1:${metadataPorts.api}${path}`, {
      method,
      headers: { Authorization: `Bearer ${adminToken()}`, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.json() };
  };
  const query = async (sql: string): Promise<QueryAnswer> => {
    const { status, text } = await askEngine(`${engines.questdb.url}/exec?query=${encodeURIComponent(sql)}`);
    if (status !== 200) throw new Error(`${sql}: ${text}`);
    const answer: QueryAnswer = JSON.parse(text);
    return answer;
  };
  const streamState = async (name: StreamName): Promise<StreamState> => {
    const answer: Jsz = JSON.parse(JSON.stringify(await engines.askNats('JSZ', { streams: true })));
    const stream = answer.account_details?.[0]?.stream_detail?.find((each) => each.name === name);
    if (stream === undefined) throw new Error(`there is no stream ${name}`);
    return stream.state;
  };
  const countRows = async (table: string): Promise<number> =>
    Number((await query(`SELECT count() FROM "${table}"`)).dataset[0]?.[0]);
  return {
    engines,
    env,
    ingress,
    transfer,
    metadata,
    folder: engines.folder,
    adminToken,
    api,
    createReport: async (name, extra = {}) => {
      const { status, body } = await api(
        'POST',
        '/operations/monitor_web.custom_report.resources.CreateCustomTimeSeries',
        {
          mon_biz_id: 2,
          name,
          ...extra,
        },
      );
      if (status !== 200) throw new Error(`creating ${name}: ${status} ${JSON.stringify(body)}`);
      const report: Report = JSON.parse(JSON.stringify(body));
      return report;
    },
    createApplication: async (name, extra = {}) => {
      const { status, body } = await api('POST', '/api/v1/applications', {
        mon_biz_id: 2,
        app_name: name,
        ...extra,
      });
      if (status !== 200) throw new Error(`creating ${name}: ${status} ${JSON.stringify(body)}`);
      const { application }: { application: Application } = JSON.parse(JSON.stringify(body));
      return application;
    },
    ready,
    query,
    spansQuery: async (sql) => {
      const url = `${engines.clickhouse.url}/?output_format_json_quote_64bit_integers=1`;
      const { status, text } = await askEngine(url, `${sql} FORMAT JSONEachRow`);
      if (status !== 200) throw new Error(`${sql}: ${text}`);
      return text
        .split('\n')
        .filter((line) => line !== '')
        .map((line): Record<string, unknown> => JSON.parse(line));
    },
    streamState,
    waitForEmptyStream: async (name, boundMs = 120_000) => {
      await waitFor(`stream ${name} is empty`, boundMs, async () => {
        const { messages } = await streamState(name);
        if (messages > 0) throw new Error(`${messages} messages`);
        return true;
      });
    },
    waitForRows: async (table, rows, boundMs = 90_000) => {
      await waitFor(`${rows} rows in ${table}`, boundMs, async () => {
        // What is confirmed and not applied yet could be rows too many.
        const unapplied = await query(
          `SELECT name FROM wal_tables() WHERE name = '${table}' AND sequencerTxn != writerTxn`,
        );
        const count = await countRows(table);
        if (count !== rows || unapplied.dataset.length > 0) throw new Error(`${count} rows`);
        return true;
      });
    },
    stop,
  };
};
