// docs/querying.md: each of its blocks, on data whose answers are known.
import { execFile, spawnSync } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { basicAuthorization } from '../../src/embedded/credentials.ts';
import type { Installation } from '../../src/embedded/installation.ts';
import { preparation } from '../support/clients/builds.ts';
import { type CodeBlock, codeBlocksOf, readDocument, root } from '../support/docs-code.ts';
import { encodeOtlpJson } from '../support/otlp/protobuf.ts';
import { installPython, whyNoPython } from '../support/python/python.ts';
import { wireQuery } from '../support/stack/postgres-wire.ts';
import { openTempFolder } from '../support/stack/temp-folder.ts';
import { installationOn, killUp, spawnUp, type Up, untilReady } from '../support/stack/up-process.ts';
import { waitFor } from '../support/wait.ts';
import { answers, togetherCsv } from './querying/answers.ts';
import * as data from './querying/data.ts';
import { metricRows } from './querying/metrics.ts';

const run = promisify(execFile);

const blocks = codeBlocksOf(readDocument('docs/querying.md'));
const blocksIn = (language: string): CodeBlock[] => blocks.filter((each) => each.language === language);

let folder: { path: string; remove(): Promise<void> };
let up: Up;
let own: Installation;

const bizId = 2;

const createdSchema = z.object({ data_source: z.object({ mon_data_id: z.number(), token: z.string() }) });
const applicationSchema = z.object({ application: z.object({ token: z.string() }) });

const create = async <T>(schema: z.ZodType<T>, path: string, body: object): Promise<T> => {
  const response = await fetch(`${own.admin.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${own.admin.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ mon_biz_id: bizId, ...body }),
  });
  return schema.parse(await response.json());
};

const report = async (name: string, isSplit: boolean) => {
  const path = '/operations/monitor_web.custom_report.resources.CreateCustomTimeSeries';
  return (await create(createdSchema, path, { name, is_split_measurement: isSplit })).data_source;
};

/** Receivers know a new token within a second of its creation. */
const send = (url: string, headers: Record<string, string>, body: string): Promise<unknown> =>
  waitFor(`${url} takes it`, 60_000, async () => {
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    });
    const text = await answer.text();
    if (answer.status !== 401)
      expect([answer.status, text]).toEqual([200, expect.not.stringContaining('rejected')]);
    return answer.status === 200;
  });

const readerOf = ({
  readonly_user: user,
  readonly_password: password,
}: Installation['questdb' | 'clickhouse']) => ({
  user: user ?? '',
  password: password ?? '',
});

const questdbSchema = z.object({
  columns: z.array(z.object({ name: z.string() })),
  dataset: z.array(z.array(z.unknown())),
});

type Rows = readonly Record<string, unknown>[];

const fetchText = async (
  url: string,
  reader: ReturnType<typeof readerOf>,
  body?: string,
): Promise<string> => {
  const headers = { authorization: basicAuthorization(reader) };
  const response = await fetch(url, { headers, ...(body === undefined ? {} : { method: 'POST', body }) });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return text;
};

const inQuestdb = async (sql: string): Promise<Rows> => {
  const url = `${own.questdb.url}/exec?query=${encodeURIComponent(sql)}`;
  const { columns, dataset } = questdbSchema.parse(JSON.parse(await fetchText(url, readerOf(own.questdb))));
  return dataset.map((row) => Object.fromEntries(columns.map(({ name }, index) => [name, row[index]])));
};

const clickhouseSchema = z.object({ data: z.array(z.record(z.string(), z.unknown())) });

const inClickhouse = async (sql: string): Promise<Rows> => {
  const settings = 'output_format_json_quote_64bit_integers=0';
  const text = await fetchText(
    `${own.clickhouse.url}/?${settings}`,
    readerOf(own.clickhouse),
    `${sql}\nFORMAT JSON`,
  );
  return clickhouseSchema.parse(JSON.parse(text)).data;
};

const overTheWire = (sql: string) =>
  wireQuery(
    { port: Number(new URL(own.questdb.pg_url ?? '').port), database: 'qdb', ...readerOf(own.questdb) },
    sql,
  );

const tableOf = (dataId: number): string => `"2_mon_time_series_${dataId}.__default__"`;
const wide = [...data.requests, ...data.latencies, ...data.loads];
const split = [...data.requests, ...data.loads];

const fill = async (): Promise<void> => {
  for (const [name, isSplit, samples] of [
    ['shop', false, wide],
    ['shop-split', true, split],
  ] as const) {
    const { mon_data_id: dataId, token } = await report(name, isSplit);
    const points = samples.map(data.pushPointOf);
    const body = JSON.stringify({ data_id: dataId, access_token: token, data: points });
    await send(`${own.push_url}/v2/push/`, {}, body);
  }
  const { application } = await create(applicationSchema, '/api/v1/applications', { app_name: 'cart' });
  for (let trace = 0; trace < data.traces; trace++)
    for (const body of data.exportsOf(trace))
      await send(
        `${own.otlp_url}/v1/traces`,
        { 'x-mon-token': application.token },
        String(encodeOtlpJson(body)),
      );
};

/** As the line stores them. */
const insertLogs = async (): Promise<void> => {
  const rows = Array.from({ length: data.traces }, (_, trace) =>
    data.logRecordsOf(trace).map(({ service, atMs, severity, body }, index) => ({
      Timestamp: `${atMs / 1_000}`,
      TimestampTime: Math.floor(atMs / 1_000),
      TraceId: data.traceIdOf(trace),
      SeverityText: severity.text,
      SeverityNumber: severity.number,
      ServiceName: service,
      Body: body,
      uid: `${10 * trace + index}`,
      AppId: 1,
    })),
  ).flat();
  const { user, password } = own.clickhouse;
  const text = rows.map((row) => JSON.stringify(row)).join('\n');
  await fetchText(
    own.clickhouse.url,
    { user: user ?? '', password: password ?? '' },
    `INSERT INTO otel.otel_logs FORMAT JSONEachRow ${text}`,
  );
};

const insertDataPoints = async (): Promise<void> => {
  const { user, password } = own.clickhouse;
  const account = { user: user ?? '', password: password ?? '' };
  for (const [kind, rows] of Object.entries(metricRows)) {
    const text = rows.map((row) => JSON.stringify(row)).join('\n');
    const statement = `INSERT INTO otel.otel_metrics_${kind} FORMAT JSONEachRow ${text}`;
    // Each of them delivered twice.
    for (let times = 0; times < 2; times++) await fetchText(own.clickhouse.url, account, statement);
  }
};

const untilStored = async (): Promise<void> => {
  const counts = [
    [tableOf(1_500_002), wide.length],
    [tableOf(1_500_003), split.length],
  ] as const;
  for (const [table, count] of counts)
    await waitFor(`the points of ${table}`, 60_000, async () => {
      const [row] = await inQuestdb(`SELECT count() AS rows FROM ${table}`);
      return row?.['rows'] === count;
    });
  await waitFor('the spans', 60_000, async () => {
    const [row] = await inClickhouse('SELECT count() AS rows FROM otel.otel_traces FINAL');
    return row?.['rows'] === 3 * data.traces;
  });
};

beforeAll(async () => {
  folder = await openTempFolder();
  up = spawnUp(join(folder.path, 'data'));
  await untilReady(up);
  own = await installationOn(join(folder.path, 'data'));
  await fill();
  await insertLogs();
  await insertDataPoints();
  await untilStored();
});
afterAll(async () => {
  await killUp(up);
  await folder.remove();
});

const sections = Map.groupBy(blocksIn('sql'), ({ heading }) => heading);

describe('a query of docs/querying.md', () => {
  it('has a known answer each', () => {
    const counts = [...sections].map(([heading, own]) => [heading, own.length]);
    expect(counts).toEqual(Object.entries(answers).map(([heading, checks]) => [heading, checks.length]));
  });

  const cases = [...sections].flatMap(([heading, own]) =>
    own.map((block, index) => ({ heading, index, block })),
  );
  it.each(cases)('answers what was pushed: $heading, $index', async ({ heading, index, block }) => {
    const isPoints = block.chapter.includes('QuestDB');
    const rows = await (isPoints ? inQuestdb : inClickhouse)(block.code);
    answers[heading]?.[index]?.(rows);
    // The other door of the same database.
    if (isPoints) expect((await overTheWire(block.code)).rows.length).toBe(rows.length);
  });
});

// Gaps that are no whole seconds, and series that only a dimension tells apart.
it('the rate of a counter in docs/querying.md is exact for each series', async () => {
  const { mon_data_id: dataId, token } = await report('counter', false);
  const body = JSON.stringify({ data_id: dataId, access_token: token, data: data.counterPushes() });
  await send(`${own.push_url}/v2/push/`, {}, body);
  const code = sections.get('Rates per minute and dimension')?.[2]?.code ?? '';
  const sql = code.replaceAll('2_mon_time_series_1500002', `2_mon_time_series_${dataId}`);
  const growths = 2 * (data.counterPoints - 1);
  await waitFor('the points of the counter', 60_000, async () => {
    const [row] = await inQuestdb(`SELECT count() AS rows FROM ${tableOf(dataId)}`).catch(() => []);
    return row?.['rows'] === 2 * data.counterPoints;
  });
  const rows = await inQuestdb(sql);
  expect(rows).toHaveLength(growths);
  for (const [module, step] of Object.entries(data.counterSteps)) {
    const series = rows.filter((row) => row['module'] === module);
    expect(series).toHaveLength(growths / 2);
    for (const { per_second } of series)
      expect(per_second).toBeCloseTo((step * 1_000) / data.counterGapMs, 9);
  }
});

/** In a folder of its own, with the program on the path. */
const shell = async (code: string): Promise<string> => {
  const cwd = join(folder.path, 'work');
  await mkdir(cwd, { recursive: true });
  const path = `${join(root, 'bin')}${delimiter}${process.env['PATH']}`;
  const env = { ...process.env, PATH: path, TIDEMARK_DATA: join(folder.path, 'data') };
  return (await run('sh', ['-euc', code], { cwd, env })).stdout;
};

const environment = 'eval "$(tidemark env)"\n';

/** The commands of the block that this machine has. */
const runnable = (code: string, has: boolean): string =>
  has
    ? code
    : code
        .split('\n')
        .filter((line) => !line.includes('psql'))
        .join('\n');

const hasPsql = spawnSync('psql', ['--version']).status === 0;

describe('the commands of docs/querying.md', () => {
  const commands = Map.groupBy(blocksIn('sh'), ({ heading }) => heading);
  const codeUnder = (heading: string): string =>
    [environment, ...(commands.get(heading) ?? []).map(({ code }) => code)].join('');

  it('are all run, on a stand-in for Docker that of Grafana', () => {
    expect([...commands.keys()]).toEqual(['Doors', 'Points and spans together', 'Grafana', 'Export']);
  });

  it(`open each door to the reader${hasPsql ? '' : ' (no psql here: without the Postgres wire)'}`, async () => {
    const printed = await shell(runnable(codeUnder('Doors'), hasPsql));
    expect(printed).toContain('"dataset":[[1]]');
    expect(printed).toMatch(/\}1\n$/);
    expect(printed.includes('(1 row)')).toBe(hasPsql);
  });

  it('join points with spans in ClickHouse', async () => {
    expect(await shell(codeUnder('Points and spans together'))).toBe(togetherCsv());
  });

  it('export every row as CSV and as Parquet', async () => {
    await shell(codeUnder('Export'));
    const file = (name: string) => join(folder.path, 'work', name);
    const lines = async (name: string) => (await readFile(file(name), 'utf8')).trim().split('\n').length;
    expect(await lines('points.csv')).toBe(wide.length + 1);
    expect(await lines('spans.csv')).toBe(3 * data.traces + 1);
    for (const [name, structure, count] of [
      ['points.parquet', 'timestamp DateTime64(6), target String, requests Nullable(Float64)', wide.length],
      ['spans.parquet', 'Timestamp DateTime64(9), ServiceName String', 3 * data.traces],
    ] as const) {
      const read = `${environment}curl -sf -u "$CLICKHOUSE_READONLY_USER:$CLICKHOUSE_READONLY_PASSWORD" "$CLICKHOUSE_URL/" -F 'rows_structure=${structure}' -F rows_format=Parquet -F 'rows=@${name}' -F 'query=SELECT count() FROM rows'`;
      expect(await shell(read)).toBe(`${count}\n`);
    }
  });

  // The container is not started here: what it needs is what the compose stack gives it, in no argument.
  it('start the Grafana of the compose stack with every variable of its sources, as the readers', async () => {
    const standIns = join(folder.path, 'stand-ins');
    await mkdir(standIns, { recursive: true });
    const script = '#!/bin/sh\necho "$@"\nenv | sed "s/^/env /"\n';
    await writeFile(join(standIns, 'docker'), script, { mode: 0o755 });
    const run = `PATH=${standIns}:$PATH\ncd ${root}\n${commands.get('Grafana')?.[0]?.code}`;
    const printed = await shell(run);
    const [given = ''] = printed.split('\n');
    const inside = (name: string): string | undefined =>
      given.includes(` -e ${name} `) ? new RegExp(`^env ${name}=(.*)$`, 'm').exec(printed)?.[1] : undefined;
    const compose = readDocument('deploy/compose.yaml');
    expect(given.endsWith(/image: (grafana\/grafana:\S+)/.exec(compose)?.[1] ?? 'no image')).toBe(true);
    const plugins = 'GF_PLUGINS_PREINSTALL_SYNC';
    expect(compose).toContain(`${plugins}: ${inside(plugins)}\n`);
    for (const [, from = '', to = ''] of compose.matchAll(/- \.\/grafana\/(\w+):(\S+):ro/g))
      expect(given).toContain(`-v ${join(root, 'deploy/grafana', from)}:${to}:ro`);
    const sources = readDocument('deploy/grafana/provisioning/datasources/tidemark.yaml');
    for (const [, name = ''] of sources.matchAll(/\$([A-Z_]+)/g)) expect(inside(name), name).toBeTruthy();
    expect(inside('QUESTDB_PG_ADDRESS')).toBe(new URL(own.questdb.pg_url ?? '').host);
    expect([inside('QUESTDB_PG_USER'), inside('QUESTDB_PG_PASSWORD')]).toEqual(
      Object.values(readerOf(own.questdb)),
    );
    expect(`${inside('CLICKHOUSE_HOST')}:${inside('CLICKHOUSE_HTTP_PORT')}`).toBe(
      new URL(own.clickhouse.url).host,
    );
    expect([inside('CLICKHOUSE_USER'), inside('CLICKHOUSE_PASSWORD')]).toEqual(
      Object.values(readerOf(own.clickhouse)),
    );
    for (const { password } of [readerOf(own.questdb), readerOf(own.clickhouse)])
      expect(given).not.toContain(password);
  });

  it('let the reader change nothing', async () => {
    await expect(overTheWire(`DROP TABLE ${tableOf(1_500_002)}`)).rejects.toThrow(/denied/);
    await expect(
      fetchText(
        own.clickhouse.url,
        readerOf(own.clickhouse),
        "INSERT INTO otel.otel_traces (TraceId) VALUES ('x')",
      ),
    ).rejects.toThrow(/Not enough privileges/);
  });
});

const [python, ...further] = blocksIn('python').map(({ code }) => code);
const hasPython = spawnSync('python3', ['--version']).status === 0;
const dataframes = await preparation(() => installPython('dataframes-requirements.txt'), await whyNoPython());
const leftOut = 'why' in dataframes ? ` (left out, ${dataframes.why})` : '';

const runPython = async (interpreter: string, ...code: string[]): Promise<string> => {
  const file = join(folder.path, 'program.py');
  await writeFile(file, code.join('\n'));
  return shell(`${environment}${interpreter} ${file}`);
};

describe('the Python of docs/querying.md', () => {
  it.skipIf(!hasPython)('needs the standard library alone', async () => {
    expect(await runPython('python3', python ?? '')).toBe('web-1 0.5\nweb-2 1.5\n');
  });

  it.skipIf('why' in dataframes).each(further.map((code) => [/^import (\w+)/.exec(code)?.[1] ?? '', code]))(
    `prints the highest rate and duration with %s${leftOut}`,
    async (_name, code) => {
      const interpreter = 'path' in dataframes ? dataframes.path : '';
      const printed = await runPython(interpreter, python ?? '', code);
      expect(printed).toMatch(/db\W+60\.0\b/);
      expect(printed).toMatch(/gateway\W+200\.0\b/);
    },
  );
});
