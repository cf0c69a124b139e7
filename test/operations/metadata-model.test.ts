import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { openKvBucket } from '../../src/bus/kv.ts';
import { createStreamReader } from '../../src/bus/stream-reader.ts';
import { buckets, columnsKey } from '../../src/directory/keys.ts';
import { columnRegistrySchema } from '../../src/directory/records.ts';
import { type AuditEntry, auditEntrySchema } from '../../src/metadata/audit/entry.ts';
import type { CreationDeps } from '../../src/metadata/reports/creation.ts';
import { pipelines } from '../../src/model/signals.ts';
import { createQuestdbSql, type QuestdbSql } from '../../src/stores/questdb/sql.ts';
import { registerNames, viewPrefix } from '../../src/wire/column-naming.ts';
import { openMetadata } from '../support/metadata/calls.ts';
import type { Model, World } from '../support/metadata/model.ts';
import { otherActs } from '../support/metadata/other-acts.ts';
import { type MetadataPair, startMetadataPair } from '../support/metadata/pair.ts';
import { brokenInvariants } from '../support/metadata/record-invariants.ts';
import { type RecordWitness, startRecordWitness } from '../support/metadata/record-witness.ts';
import { reportActs } from '../support/metadata/report-acts.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { until } from '../support/until.ts';

/** Fixed, so that a run can be repeated; it gives each command its turns. */
const seed = 2;
const runs = 16;
const commandNames = 22;
const commandsMax = 60;

let engines: TestEngines;
let bus: Bus;
let sql: QuestdbSql;
let pair: MetadataPair;
let deps: CreationDeps;
let witness: RecordWitness;

/** A purge waits for the ack wait and the store timeout: here for less than two seconds. */
const quickPipelines = (): string => {
  const folder = join(engines.folder, 'pipelines');
  cpSync(new URL('../../pipelines', import.meta.url).pathname, folder, { recursive: true });
  const edit = (file: string, pattern: RegExp, text: string): void => {
    const path = join(folder, file);
    writeFileSync(path, readFileSync(path, 'utf8').replace(pattern, text));
  };
  edit('streams.yaml', /ack_wait_seconds: \d+/g, 'ack_wait_seconds: 2');
  for (const file of [...pipelines, 'ledger'].map((name) => `${name}.yaml`))
    edit(file, /store_timeout_ms: \d+/, 'store_timeout_ms: 750');
  return folder;
};

beforeAll(async () => {
  engines = await startEngines({ nats: true, questdb: true });
  pair = await startMetadataPair(engines, {
    TIDEMARK_PIPELINES: quickPipelines(),
    TIDEMARK_LOG_LEVEL: 'debug',
  });
  bus = await connectBus(engines.nats.url, 'test');
  sql = createQuestdbSql({ url: engines.questdb.url });
  deps = await openMetadata(bus, sql);
  witness = await startRecordWitness(bus);
});
afterAll(async () => {
  witness?.stop();
  deps?.records.stop();
  await bus?.close();
  await sql?.close();
  await pair?.stop();
  await engines?.stop();
});

const expectInvariants = async (): Promise<void> => {
  let broken: string[] = [];
  await until('all invariants hold', async () => {
    broken = await brokenInvariants(deps.records, sql);
    return broken.length === 0;
  }).catch((error: unknown) => {
    throw new Error(broken.join('\n'), { cause: error });
  });
};

const registerMetric: World['registerMetric'] = async (dataId, tableId, metric) => {
  const columns = await openKvBucket(bus, buckets.columns);
  const stored = await columns.get(columnsKey(dataId));
  const registry =
    stored === undefined
      ? { mon_data_id: dataId, metrics: [], dimensions: [] }
      : columnRegistrySchema.parse(stored.value);
  const caps = { metricsMax: 512, dimensionsMax: 64 };
  await columns.put(
    columnsKey(dataId),
    registerNames(registry, 'narrow', tableId, caps, [metric], [], 1_800_000_000),
  );
};

const expectPurged = async (model: Model): Promise<void> => {
  const purged = [...model.reports, ...model.sources].filter(({ isPurged }) => isPurged);
  await until(
    'every purge is carried out',
    async () => {
      for (const { dataId } of purged) {
        if ((await deps.records.purges.get(dataId))?.value.state !== 'purged') return false;
      }
      return true;
    },
    20_000,
  );
  const tables = await deps.tables.names();
  const views = (await sql.exec('SELECT view_name FROM views()')).dataset.map(([name]) => String(name));
  for (const { tableId = '' } of purged) {
    expect(tables).not.toContain(tableId);
    expect(views.filter((view) => view.startsWith(viewPrefix(tableId)))).toEqual([]);
  }
};

const readAudit = async (): Promise<{ entries: AuditEntry[]; text: string }> => {
  const reader = createStreamReader(bus);
  const texts: string[] = [];
  for (let from: number | undefined = 1; from !== undefined; ) {
    const page = await reader.readForwards('AUDIT', { fromSequence: from, limit: 1_000 });
    for (const { subject, payload } of page.entries) texts.push(Buffer.from(payload).toString(), subject);
    from = page.next;
  }
  const entries = texts
    .filter((text) => text.startsWith('{'))
    .map((text) => auditEntrySchema.parse(JSON.parse(text)));
  return { entries, text: texts.join('\n') };
};

/** Every write that was answered has its entry, and every entry its write. */
const expectAudited = (entries: readonly AuditEntry[]): void => {
  const done = entries.filter(({ outcome }) => outcome === 'done');
  for (const { operator, actor, path } of pair.written) {
    if (operator === undefined) continue;
    const own = done.filter((entry) => entry.operator === operator);
    expect(
      own.map((entry) => entry.actor.name),
      `${operator} ${path}`,
    ).toEqual([actor]);
  }
  const known = new Set(pair.written.map(({ operator }) => operator));
  const others = done.filter(
    ({ operator }) => operator !== null && !known.has(operator) && !pair.cutOff.has(operator),
  );
  expect(others.filter(({ action }) => action !== 'admin_token.create')).toEqual([]);
  const patched = (actor: string): number =>
    pair.written.filter((each) => each.operator === undefined && each.actor === actor).length;
  for (const { name } of pair.actors) {
    const changes = done.filter(({ actor, action }) => actor.name === name && action.endsWith('.change'));
    expect(changes).toHaveLength(patched(name));
  }
};

// Operators retry, two of them work at once, and any process may be killed: the records must stay true all the same.
it('after any calls in any order, on two processes that are killed, the records are the requested ones', async () => {
  const counts = new Map<string, number>();
  const world: World = { pair, witness, registerMetric, expectInvariants, counts };
  let bizId = 10;
  await fc.assert(
    fc.asyncProperty(
      fc.commands([...reportActs, ...otherActs], { maxCommands: commandsMax, size: 'max' }),
      async (commands) => {
        const model: Model = { bizId: ++bizId, reports: [], sources: [], applications: [] };
        await fc.asyncModelRun(() => ({ model, real: world }), commands);
        await expectPurged(model);
        await expectInvariants();
      },
    ),
    { seed, numRuns: runs, endOnFailure: true, verbose: 1 },
  );
  // Each of the commands has had its turns.
  expect([...counts].filter(([, times]) => times < 3)).toEqual([]);
  expect(counts.size).toBe(commandNames);
  const { entries, text } = await readAudit();
  expectAudited(entries);
  const logs = pair.processes.flatMap(({ lines }) => lines).join('\n');
  const tokens = new Set([...pair.tokens, ...witness.tokens]);
  expect(tokens.size).toBeGreaterThan(20);
  expect([...tokens].filter((token) => text.includes(token) || logs.includes(token))).toEqual([]);
});
