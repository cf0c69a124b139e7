import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { kinds, settingDefinitions } from '../../src/config/settings.ts';
import type { Installation } from '../../src/embedded/installation.ts';
import { type Cli, createCli } from '../support/clients/cli.ts';
import { fetchEngine } from '../support/stack/fetch-engine.ts';
import { takePorts } from '../support/stack/ports.ts';
import { tempFolder } from '../support/stack/temp-folder.ts';
import { installationOn, killUp, startUp, type Up, untilReady } from '../support/stack/up-process.ts';
import { waitFor } from '../support/wait.ts';

const bizId = 2;
const poison = 'poison';

/** An installation on ports of its own, and what an operator does on its machine. */
type Place = {
  readonly folder: string;
  readonly env: Record<string, string>;
  readonly cli: Cli;
  readonly start: (...options: string[]) => Promise<Up>;
  readonly api: (path: string, body?: object) => Promise<unknown>;
  readonly push: (body: object) => Promise<void>;
  readonly send: (token: string, body: object) => Promise<void>;
  readonly points: (sql: string) => Promise<unknown[][]>;
  readonly spans: (sql: string) => Promise<string>;
};

const answered = async (response: Response): Promise<unknown> => {
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status} ${text}`);
  return JSON.parse(text);
};

const execSchema = z.object({ dataset: z.array(z.array(z.unknown())) });

const makePlace = async (): Promise<Place> => {
  const folder = await tempFolder();
  const variables = settingDefinitions
    .filter(({ kind }) => kind === kinds.port || kind === kinds.portOrOff)
    .map(({ env }) => env);
  const ports = await takePorts(variables.length);
  const env = {
    ...Object.fromEntries(variables.map((name, i) => [name, `${ports[i]}`])),
    TIDEMARK_DATA: folder,
    TIDEMARK_ADMIN_URL: `http://127.0.0.1:${ports[variables.indexOf('TIDEMARK_METADATA_API_PORT')]}`,
  };
  let known: Installation | undefined;
  const here = async (): Promise<Installation> => (known ??= await installationOn(folder, env));
  return {
    folder,
    env,
    cli: createCli(() => ({ PATH: process.env['PATH'], ...env })),
    start: async (...options) => {
      const up = startUp(folder, env, options);
      await untilReady(up);
      known = undefined;
      return up;
    },
    api: async (path, body) => {
      const { admin } = await here();
      const headers = { authorization: `Bearer ${admin.token}`, 'content-type': 'application/json' };
      return answered(
        await fetch(`${admin.url}${path}`, {
          headers,
          ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
        }),
      );
    },
    push: async (body) => {
      const url = `${(await here()).push_url}/v2/push/`;
      await answered(await fetch(url, { method: 'POST', body: JSON.stringify(body) }));
    },
    send: async (token, body) => {
      const headers = { 'content-type': 'application/json', 'x-mon-token': token };
      const url = `${(await here()).otlp_url}/v1/traces`;
      await answered(await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) }));
    },
    points: async (sql) => {
      const { questdb } = await here();
      const url = new URL(`/exec?query=${encodeURIComponent(sql)}`, questdb.url);
      url.username = questdb.user ?? '';
      url.password = questdb.password ?? '';
      return execSchema.parse(await answered(await fetchEngine(url.href, {}))).dataset;
    },
    spans: async (sql) => {
      const { clickhouse } = await here();
      const url = new URL(clickhouse.url);
      url.username = clickhouse.user ?? '';
      url.password = clickhouse.password ?? '';
      const response = await fetchEngine(url.href, { method: 'POST', body: sql });
      const text = await response.text();
      if (!response.ok) throw new Error(`${sql}: ${text}`);
      return text.trim();
    },
  };
};

/** The commands of a machine whose clock is an hour ahead of those of the engines. */
const withClockAhead = ({ env }: Place): Cli => {
  const shift =
    'const D = Date; globalThis.Date = class extends D { constructor(...a) { a.length ? super(...a) : super(D.now() + 36e5) } static now() { return D.now() + 36e5 } }';
  const url = `data:text/javascript,${encodeURIComponent(shift).replaceAll("'", '%27')}`;
  return createCli(() => ({ PATH: process.env['PATH'], ...env, NODE_OPTIONS: `--import ${url}` }));
};

const stop = async (up: Up): Promise<void> => {
  up.child.kill('SIGTERM');
  expect(await up.exitCode).toBe(0);
};

/** Kills a restore when QuestDB has its files and the others have nothing. */
const killRestore = async ({ env }: Place, backup: string): Promise<void> => {
  const program = join(import.meta.dirname, '../../bin/tidemark');
  const child = spawn(program, ['restore', backup], { env: { ...process.env, ...env } });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  await waitFor('QuestDB is back', 120_000, () => said.includes('QuestDB'));
  child.kill('SIGKILL');
  await once(child, 'close');
  expect(said).not.toContain('restored from');
};

const createdSchema = z.object({
  data_source: z.object({ mon_data_id: z.number(), token: z.string() }),
  result_table: z.object({ table_id: z.string() }),
});
const applicationSchema = z.object({ application: z.object({ app_id: z.number(), token: z.string() }) });

/** A report and an application, with everything that records can hold of them. */
const makeRecords = async (place: Place) => {
  const { data_source: source, result_table: table } = createdSchema.parse(
    await place.api('/operations/monitor_web.custom_report.resources.CreateCustomTimeSeries', {
      mon_biz_id: bizId,
      name: 'moved',
    }),
  );
  const { application } = applicationSchema.parse(
    await place.api('/api/v1/applications', { mon_biz_id: bizId, app_name: 'moved' }),
  );
  await place.cli.text(`token rotate ${source.mon_data_id} --overlap 1h`);
  await place.cli.text(`policy set ${source.mon_data_id} --points-max 500`);
  await place.api('/operations/metadata.task.custom_report.refresh_custom_report_2_node_man', {});
  return { dataId: source.mon_data_id, token: source.token, table: table.table_id, application };
};
type Records = Awaited<ReturnType<typeof makeRecords>>;

/** A producer and an exporter whose items are numbered from 1. */
const createSender = ({ dataId, token, application }: Records) => {
  const sent = { points: 0, spans: 0 };
  const time = Date.now() - 60_000;
  return {
    sent,
    push: (place: Place, count: number): Promise<void> => {
      const data = Array.from({ length: count }, (_, i) => ({
        metrics: { number: sent.points + 1 + i },
        target: 'host',
        timestamp: time + sent.points + i,
      }));
      sent.points += count;
      return place.push({ data_id: dataId, access_token: token, data });
    },
    send: (place: Place, count: number, name = 'span'): Promise<void> => {
      const spans = Array.from({ length: count }, (_, i) => ({
        traceId: 'a'.repeat(32),
        spanId: (sent.spans + 1 + i).toString(16).padStart(16, '0'),
        name,
        startTimeUnixNano: `${time}000000`,
        endTimeUnixNano: `${time}000001`,
      }));
      sent.spans += count;
      return place.send(application.token, { resourceSpans: [{ scopeSpans: [{ spans }] }] });
    },
  };
};

const balanceSchema = z.object({
  items: z.array(
    z.looseObject({
      received: z.number(),
      stored: z.number(),
      dead_lettered: z.number(),
      lost: z.number(),
      in_flight: z.number(),
      adds_up: z.boolean().nullable(),
      differences: z.array(z.object({ kind: z.string(), items: z.number() })),
    }),
  ),
});

const ledgerOf = async (place: Place, owner: string) => {
  const [balance] = (await place.cli.json(balanceSchema, `ledger ${owner} --since 1h`)).items;
  if (balance === undefined) throw new Error(`no account of ${owner}`);
  return balance;
};

const rowsOf = async (place: Place, { table }: Records) => ({
  points: (await place.points(`SELECT number FROM "${table}" ORDER BY number`)).map(([number]) =>
    Number(number),
  ),
  spans: Number(await place.spans(`SELECT uniqExact(uid) FROM otel.otel_traces`)),
});

/** The records, without what a restore changes by intent. */
const recordsOf = async (place: Place): Promise<object> => {
  const { exported_at: _at, counters: _counters, ...records } = Object(await place.api('/api/v1/export'));
  return records;
};

const inFlightSchema = z.object({
  in_flight: z.array(z.object({ stream: z.string(), messages: z.number() })),
});

/** Waits until every message is settled, its line is in ClickHouse, and QuestDB shows its rows. */
const settled = async (place: Place): Promise<void> => {
  await waitFor('everything is settled', 120_000, async () => {
    const { in_flight: streams } = await place.cli.json(inFlightSchema, 'ledger --since 1h');
    if (streams.some(({ messages }) => messages > 0)) return false;
    const behind = await place.points('SELECT count() FROM wal_tables() WHERE sequencerTxn != writerTxn');
    return Number(behind[0]?.[0]) === 0;
  });
};

const upTo = (last: number): number[] => Array.from({ length: last }, (_, i) => i + 1);

it('a backup under load is restored into an installation on other ports: equal records, each item once or named as missing', async () => {
  const [first, second] = [await makePlace(), await makePlace()];
  const up = await first.start('--no-demo');
  const records = await makeRecords(first);
  const sender = createSender(records);
  const owners = { points: `--data-id ${records.dataId}`, spans: `--app-id ${records.application.app_id}` };

  // A span in the dead letters.
  await first.spans(`ALTER TABLE otel.otel_traces ADD CONSTRAINT never CHECK SpanName != '${poison}'`);
  await sender.send(first, 1, poison);
  await waitFor('the dead letter', 60_000, async () => {
    const { items } = z
      .object({ items: z.array(z.unknown()) })
      .parse(await first.api('/api/v1/dead-letters'));
    return items.length === 1;
  });
  await first.spans('ALTER TABLE otel.otel_traces DROP CONSTRAINT never');

  let isSending = true;
  const load = (async () => {
    for (; isSending; await sleep(20)) {
      await sender.push(first, 3);
      await sender.send(first, 2);
    }
  })();
  await waitFor('load', 30_000, () => sender.sent.points > 60);
  const before = { ...sender.sent };
  const backup = join(await tempFolder(), 'copy');
  await withClockAhead(first).text(`backup --to ${backup}`);
  isSending = false;
  await load;
  expect(readdirSync(backup).toSorted()).toEqual([
    'admin.token',
    'backup.json',
    'clickhouse',
    'files.txt',
    'nats',
    'questdb',
    'times.json',
  ]);
  // The previous version refuses a backup.json with any other field, and an upgrade may have to be undone.
  expect(Object.keys(JSON.parse(readFileSync(join(backup, 'backup.json'), 'utf8'))).toSorted()).toEqual([
    'files',
    'finished_at',
    'format',
    'parts',
    'program',
    'started_at',
    'version',
  ]);
  expect(statSync(backup).mode & 0o077).toBe(0);
  // QuestDB makes the files of its console again.
  const ofConsole = (folder: string) =>
    readdirSync(folder).filter((name) => ['public', 'unpacked'].includes(name));
  expect(ofConsole(join(backup, 'questdb'))).toEqual([]);
  const consoleFiles = ofConsole(join(first.folder, 'questdb'));
  expect(consoleFiles).not.toEqual([]);
  // Acknowledged by the first installation after everything was copied.
  await sender.push(first, 7);
  await sender.send(first, 5);
  await settled(first);
  // Receivers write their lines once a second.
  const account = async () => {
    const { received, stored, adds_up: addsUp } = await ledgerOf(first, owners.points);
    return { received, stored, addsUp };
  };
  const { points: acknowledged } = sender.sent;
  await expect.poll(account).toEqual({ received: acknowledged, stored: acknowledged, addsUp: true });
  const letters = await first.api('/api/v1/dead-letters');
  const wanted = await recordsOf(first);
  const subscription = await first.api('/api/v1/subscriptions');
  const book = join(await tempFolder(), 'book');
  await first.cli.text(`account export-book --backup ${backup} --output ${book}`);
  await stop(up);

  const refused = async (line: string, why: string): Promise<void> => {
    const { code, stderr } = await second.cli.run(line);
    expect([code, stderr]).toEqual([1, expect.stringContaining(why)]);
  };
  const table = join(backup, 'questdb', 'db', 'tables.d.0');
  appendFileSync(table, 'x');
  await refused(`restore --check ${backup}`, 'tables.d.0 has ');
  truncateSync(table, statSync(table).size - 1);
  expect(await second.cli.text(`restore --check ${backup}`)).toMatch(
    /^agree with their sums +\d+ files of NATS and \d+ files of the databases$/m,
  );
  await refused(`restore ${backup}`, 'tidemark up --engines-only');
  const interrupted = await second.start('--engines-only');
  await killRestore(second, backup);
  await stop(interrupted);
  const half = startUp(second.folder, second.env);
  expect(await half.exitCode).toBe(1);
  expect(half.lines.join('\n')).toContain(`tidemark restore ${backup} again`);
  const engines = await second.start('--engines-only');
  const restoredText = await second.cli.text(`restore ${backup}`);
  expect(restoredText).toContain('start tidemark up.');
  expect(restoredText).toMatch(/^What was changed after \d{4}-\S+Z is undone: a token that was revoked/m);
  await refused(`restore ${backup}`, 'has data');
  await stop(engines);
  const moved = await second.start();
  onTestFinished(() => killUp(moved));
  expect(readFileSync(join(second.folder, 'admin.token'))).toEqual(
    readFileSync(join(first.folder, 'admin.token')),
  );

  expect(ofConsole(join(second.folder, 'questdb'))).toEqual(consoleFiles);

  // `up` adds the demo; all else is as it was.
  const restored = await recordsOf(second);
  expect(restored).toMatchObject(wanted);
  expect(await second.api('/api/v1/dead-letters')).toEqual(letters);
  expect(await second.api('/api/v1/subscriptions')).toMatchObject(Object(subscription));

  await settled(second);
  const rows = await rowsOf(second, records);
  expect(rows.points.length).toBeGreaterThanOrEqual(before.points);
  expect(new Set(rows.points).size).toBe(rows.points.length);
  expect(rows.points.slice(0, before.points)).toEqual(upTo(before.points));
  expect(rows.spans).toBeGreaterThanOrEqual(before.spans - 1);

  // What was acknowledged while the databases were copied and after it is missing, and the account has its number.
  const ofAnother = `${book}-of-another`;
  const [head = '', ...lines] = readFileSync(book, 'utf8').split('\n');
  const installation = z.looseObject({ installation: z.string().length(16) }).parse(JSON.parse(head));
  writeFileSync(
    ofAnother,
    [JSON.stringify({ ...installation, installation: '0'.repeat(16) }), ...lines].join('\n'),
  );
  await refused(`account import-book ${ofAnother}`, 'is the book of another installation');
  await second.cli.text(`account import-book ${book}`);
  const missing = {
    points: sender.sent.points - rows.points.length,
    // The dead letter is no row.
    spans: sender.sent.spans - 1 - rows.spans,
  };
  expect(missing.points).toBeGreaterThanOrEqual(7);
  expect(missing.spans).toBeGreaterThanOrEqual(5);
  for (const [signal, owner] of Object.entries(owners) as ['points' | 'spans', string][]) {
    const named = async () => {
      const { received, differences, adds_up: addsUp } = await ledgerOf(second, owner);
      const items = differences
        .filter(({ kind }) => kind.startsWith('lost_') || kind === 'missing_in_the_store')
        .reduce((sum, difference) => sum + difference.items, 0);
      return { received, items, addsUp };
    };
    await expect.poll(named, { timeout: 180_000, interval: 1_000 }).toEqual({
      received: sender.sent[signal],
      items: missing[signal],
      addsUp: false,
    });
  }

  const fresh = sender.sent.points;
  await sender.push(second, 4);
  await expect
    .poll(async () => (await rowsOf(second, records)).points.filter((number) => number > fresh))
    .toEqual([1, 2, 3, 4].map((number) => fresh + number));
  expect(existsSync(join(second.folder, 'restoring.json'))).toBe(false);
}, 600_000);
