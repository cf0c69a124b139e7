import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { createCli } from '../support/clients/cli.ts';
import type { TestEngines } from '../support/stack/engines.ts';
import { fetchEngine } from '../support/stack/fetch-engine.ts';
import { type Application, type Report, type Stack, startStack } from '../support/stack/stack.ts';
import { tempFolder } from '../support/stack/temp-folder.ts';
import { waitFor } from '../support/wait.ts';

type Row = Record<string, unknown>;

const clickhouse = async (url: string, sql: string): Promise<string> => {
  const response = await fetchEngine(url, { method: 'POST', body: sql });
  const text = await response.text();
  if (!response.ok) throw new Error(`${sql}: ${text}`);
  return text;
};

/** A producer and an exporter with items that are all different, on the present stack. */
const createSender = (report: Report, application: Application) => {
  let points = 0;
  let spans = 0;
  const time = Date.now() - 600_000;
  return {
    push: async (stack: Stack, count: number): Promise<void> => {
      const { mon_data_id: dataId, token } = report.data_source;
      const data = Array.from({ length: count }, () => ({
        metrics: { number: ++points },
        target: 'host',
        timestamp: time,
      }));
      const body = JSON.stringify({ data_id: dataId, access_token: token, data });
      const url = `http://127.0.0.1:${stack.ingress[0]?.ports['push']}/v2/push/`;
      const response = await fetch(url, { method: 'POST', body });
      expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('"200"')]);
    },
    send: async (stack: Stack, count: number, name = 'span'): Promise<void> => {
      const list = Array.from({ length: count }, () => ({
        traceId: 'a'.repeat(32),
        spanId: (++spans).toString(16).padStart(16, '0'),
        name,
        startTimeUnixNano: `${time}000000`,
        endTimeUnixNano: `${time}000001`,
      }));
      const response = await fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['otlp']}/v1/traces`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-mon-token': application.token },
        body: JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: list }] }] }),
      });
      expect([response.status, await response.text()]).toEqual([200, '{}']);
    },
  };
};

/** What the tables hold, rows by their uid. */
const tablesOf = async (stack: Stack, report: Report): Promise<{ points: Row[]; spans: Row[] }> => {
  const { columns, dataset } = await stack.query(
    `SELECT *, uid::string AS uid_text FROM "${report.result_table.table_id}" ORDER BY uid_text`,
  );
  const points = dataset.map((row): Row => {
    // As a number it is not exact.
    const { uid_text: uid, ...rest } = Object.fromEntries(columns.map(({ name }, i) => [name, row[i]]));
    return { ...rest, uid };
  });
  return { points, spans: await stack.spansQuery('SELECT * FROM otel.otel_traces ORDER BY uid') };
};

const numbersOf = (points: readonly Row[]): unknown[] =>
  points.map((row) => row['number']).toSorted((a, b) => Number(a) - Number(b));

const upTo = (last: number, first = 1): number[] =>
  Array.from({ length: last - first + 1 }, (_, i) => i + first);

/** The epoch in the uid of a point without an Idempotency-Key (docs/exactly-once.md). */
const bootsOf = (points: readonly Row[]): number[] =>
  points.map((row) => Number((BigInt(String(row['uid'])) >> 32n) & 0x3fff_ffffn));

const recordsOf = async (stack: Stack): Promise<Row> => {
  const { status, body } = await stack.api('GET', '/api/v1/export');
  expect(status).toBe(200);
  const { exported_at: _at, counters: _counters, ...records }: Row = JSON.parse(JSON.stringify(body));
  return records;
};

const settled = async (stack: Stack): Promise<void> => {
  for (const stream of ['METRICS', 'TRACES', 'LEDGER'] as const) await stack.waitForEmptyStream(stream);
};

const deadLetters = async (stack: Stack): Promise<unknown> =>
  (await stack.api('GET', '/api/v1/dead-letters')).body;

const cliOf = (env: Readonly<Record<string, string>>) =>
  createCli(() => ({ PATH: process.env['PATH'], ...env }));

/** What an operator's script does: NATS first, the databases after it. */
const backUp = async (stack: Stack, folder: string, between: () => Promise<void>): Promise<void> => {
  await cliOf(stack.env).text(`backup --streams-only --to ${join(folder, 'nats')}`);
  await between();
  await stack.query('CHECKPOINT CREATE');
  cpSync(join(stack.folder, 'questdb'), join(folder, 'questdb'), { recursive: true });
  await stack.query('CHECKPOINT RELEASE');
  await clickhouse(stack.engines.clickhouse.url, "BACKUP DATABASE otel TO File('night')");
  cpSync(join(stack.folder, 'clickhouse', 'backups'), join(folder, 'clickhouse'), { recursive: true });
  cpSync(join(stack.folder, 'data', 'admin.token'), join(folder, 'admin.token'));
};

/** The same in the other order, into engines that hold nothing. */
const restoreInto = (folder: string) => ({
  onEngineFolder: (name: string, engineFolder: string): undefined => {
    if (name === 'questdb') {
      cpSync(join(folder, 'questdb'), engineFolder, { recursive: true });
      writeFileSync(join(engineFolder, '_restore'), '');
    }
    if (name === 'clickhouse') {
      mkdirSync(engineFolder, { recursive: true });
      cpSync(join(folder, 'clickhouse'), join(engineFolder, 'backups'), { recursive: true });
    }
  },
  beforeRoles: async (engines: TestEngines): Promise<void> => {
    await clickhouse(engines.clickhouse.url, "RESTORE DATABASE otel FROM File('night')");
    await cliOf(engines.env).text(`restore --streams-only ${join(folder, 'nats')}`);
    mkdirSync(join(engines.folder, 'data'), { recursive: true });
    cpSync(join(folder, 'admin.token'), join(engines.folder, 'data', 'admin.token'));
  },
});

it('everything is had back from a backup into empty engines, each item once, and nothing new overwrites it', async () => {
  const folder = await tempFolder();
  const first = await startStack({ traces: true });
  onTestFinished(() => first.stop());
  const report = await first.createReport('backup');
  const sender = createSender(report, await first.createApplication('backup'));
  const [ingress, transfer] = [first.ingress[0], first.transfer[0]];

  // Stored and settled, one of the spans a dead letter.
  await sender.push(first, 40);
  await sender.send(first, 30);
  const constraint = "ALTER TABLE otel.otel_traces ADD CONSTRAINT never CHECK SpanName != 'poison'";
  await clickhouse(first.engines.clickhouse.url, constraint);
  await sender.send(first, 1, 'poison');
  await waitFor(
    'the dead letter',
    60_000,
    async () => (await first.streamState('DEADLETTER')).messages === 1,
  );
  await clickhouse(first.engines.clickhouse.url, 'ALTER TABLE otel.otel_traces DROP CONSTRAINT never');
  await settled(first);

  // In the streams while NATS is copied, and in the tables before those are.
  await transfer?.stop();
  await sender.push(first, 10);
  await sender.send(first, 10);
  const letters = await deadLetters(first);
  const records = await recordsOf(first);
  await backUp(first, folder, async () => {
    transfer?.start();
    await transfer?.ready();
    // Later than the copy of NATS, and from processes with epochs that the copy lacks.
    for (let start = 0; start < 3; start++) {
      await ingress?.kill();
      ingress?.start();
      await ingress?.ready();
      await sender.push(first, 5);
    }
    await settled(first);
    await first.waitForRows(report.result_table.table_id, 65);
  });
  const before = await tablesOf(first, report);
  expect(numbersOf(before.points)).toEqual(upTo(65));
  expect(before.spans.length).toBe(40);
  // After everything was copied: this is what a backup does not have.
  await sender.push(first, 5);
  await first.stop();
  expect(existsSync(first.folder)).toBe(false);

  const second = await startStack({ traces: true, ...restoreInto(folder) });
  onTestFinished(() => second.stop());
  await settled(second);
  expect(await recordsOf(second)).toEqual(records);
  expect(await deadLetters(second)).toEqual(letters);
  // Ten points and ten spans were delivered again, and are in the tables once and as they were.
  expect(await tablesOf(second, report)).toEqual(before);

  await sender.push(second, 5);
  await sender.send(second, 5);
  const admin = {
    TIDEMARK_ADMIN_URL: `http://127.0.0.1:${second.metadata.ports['api']}`,
    TIDEMARK_ADMIN_TOKEN: second.adminToken(),
  };
  await cliOf(admin).text('dlq redrive --all');
  await second.waitForRows(report.result_table.table_id, 70);
  await settled(second);
  const after = await tablesOf(second, report);
  expect(numbersOf(after.points)).toEqual([...upTo(65), ...upTo(75, 71)]);
  const old = new Set(before.points.map((row) => row['uid']));
  const fresh = after.points.filter((row) => !old.has(row['uid']));
  expect(Math.min(...bootsOf(fresh))).toBeGreaterThan(Math.max(...bootsOf(before.points)));
  expect(after.spans.length).toBe(46);
  expect(new Set(after.spans.map((row) => row['uid'])).size).toBe(46);

  // Ids that were given out after the copy of NATS may be in use elsewhere.
  const other = await second.createReport('after the restore');
  expect(other.data_source.mon_data_id).toBeGreaterThan(report.data_source.mon_data_id + 1);
  const balance = await second.spansQuery(
    `SELECT sum(received) AS received, sum(arraySum(mapValues(outcomes))) AS settled FROM otel.ingest_outcomes FINAL`,
  );
  expect(balance[0]?.['received']).toBe(balance[0]?.['settled']);
});

/** `tidemark backup` of everything, as on a machine that sees the folders of its engines. */
const backupOf = (stack: Stack, into: string): string =>
  [
    `backup --into ${into} --keep 2 --questdb-root ${join(stack.folder, 'questdb')}`,
    `--clickhouse-files ${join(stack.folder, 'clickhouse', 'backups')}`,
  ].join(' ');

const hasCheckpoint = async (stack: Stack): Promise<unknown> =>
  (await stack.query('SELECT in_progress FROM checkpoint_status()')).dataset[0]?.[0];

/** A `cp` that says that it began and does not end. */
const slowCopy = async (): Promise<{ path: string; began: () => boolean }> => {
  const folder = await tempFolder();
  writeFileSync(join(folder, 'cp'), `#!/bin/sh\ntouch ${folder}/began\nexec sleep 600\n`, { mode: 0o755 });
  return {
    path: `${folder}:${process.env['PATH']}`,
    began: () => existsSync(join(folder, 'began')),
  };
};

it('a backup of everything is one command, may run again at once under load, and is had back as it was', async () => {
  const into = join(await tempFolder(), 'backups');
  const first = await startStack({ traces: true });
  onTestFinished(() => first.stop());
  const report = await first.createReport('everything');
  const sender = createSender(report, await first.createApplication('everything'));
  const cli = cliOf(first.env);
  await sender.push(first, 20);
  await sender.send(first, 20);
  await settled(first);
  await first.waitForRows(report.result_table.table_id, 20);

  let isSending = true;
  const load = (async () => {
    for (; isSending; await sleep(50)) await sender.push(first, 1);
  })();
  for (let repeat = 0; repeat < 3; repeat++) await cli.text(backupOf(first, into));
  isSending = false;
  await load;
  const kept = readdirSync(into).toSorted();
  expect(kept).toHaveLength(2);
  for (const name of kept) {
    expect(name).toMatch(/^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ(-\d)?$/);
    expect(readdirSync(join(into, name)).toSorted()).toEqual([
      'admin.token',
      'backup.json',
      'clickhouse',
      'files.txt',
      'nats',
      'questdb',
      'times.json',
    ]);
  }
  // Nothing of it stays on the disk of the database.
  expect(readdirSync(join(first.folder, 'clickhouse', 'backups'))).toEqual([]);
  expect(await hasCheckpoint(first)).toBe(false);
  const token = readFileSync(join(first.folder, 'data', 'admin.token'));
  await first.stop();

  const [older = ''] = kept;
  const folder = join(into, older);
  const second = await startStack({
    traces: true,
    onEngineFolder: (name, engineFolder): undefined => {
      if (name === 'questdb') {
        cpSync(join(folder, 'questdb'), engineFolder, { recursive: true });
        writeFileSync(join(engineFolder, '_restore'), '');
      }
      if (name === 'clickhouse')
        cpSync(join(folder, 'clickhouse'), join(engineFolder, 'backups', older), { recursive: true });
    },
    beforeRoles: async (engines) => {
      await clickhouse(engines.clickhouse.url, `RESTORE DATABASE otel FROM File('${older}')`);
      await cliOf(engines.env).text(`restore --streams-only ${join(folder, 'nats')}`);
      mkdirSync(join(engines.folder, 'data'), { recursive: true });
      writeFileSync(join(engines.folder, 'data', 'admin.token'), token, { mode: 0o600 });
    },
  });
  onTestFinished(() => second.stop());
  await settled(second);
  await sender.push(second, 1);
  await settled(second);
  const { points, spans } = await tablesOf(second, report);
  const numbers = numbersOf(points).map(Number);
  const last = numbers.at(-1) ?? 0;
  // What was sent before the backup is there, once each, without a hole; then what came after the restore.
  expect(numbers.slice(0, -1)).toEqual(upTo(numbers.length - 1));
  expect(numbers.length - 1).toBeGreaterThanOrEqual(20);
  expect(last).toBeGreaterThan(numbers.length - 1);
  expect(spans).toHaveLength(20);
});

it('a backup that is stopped gives the checkpoint back, and that of one that was killed is named, and released when told', async () => {
  const into = join(await tempFolder(), 'backups');
  const stack = await startStack({ traces: true });
  onTestFinished(() => stack.stop());
  const program = join(import.meta.dirname, '../../bin/tidemark');
  const interrupted = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null> => {
    const { path, began } = await slowCopy();
    const env = { ...stack.env, PATH: path };
    const child = spawn(program, backupOf(stack, into).split(' '), { env, stdio: 'ignore' });
    await waitFor('the copy began', 60_000, async () => began());
    expect(await hasCheckpoint(stack)).toBe(true);
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
    return child.exitCode;
  };
  expect(await interrupted('SIGTERM')).toBe(1);
  expect(await hasCheckpoint(stack)).toBe(false);
  await interrupted('SIGKILL');
  expect(await hasCheckpoint(stack)).toBe(true);
  const cli = cliOf(stack.env);
  const refused = await cli.run(backupOf(stack, into));
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('--release-checkpoint')]);
  await cli.text(`${backupOf(stack, into)} --release-checkpoint`);
  expect(await hasCheckpoint(stack)).toBe(false);
  const whole = readdirSync(into).filter((name) => !name.endsWith('.incomplete'));
  expect(whole).toHaveLength(1);
});
