import { readdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { CaughtUp } from '../../src/account/caught-up.ts';
import {
  dayKey,
  firstDayOf,
  readFirstDays,
  readStoreSizes,
  seenDays,
} from '../../src/account/days-to-compare.ts';
import type { StoreTargets } from '../../src/account/owner-stores.ts';
import type { PointsTable } from '../../src/account/point-rows.ts';
import { readSettledDays } from '../../src/account/settled-days.ts';
import { compareStores, type StoreDifference } from '../../src/account/store-compare.ts';
import { mergeFindings } from '../../src/account/store-findings.ts';
import { createStoreLook } from '../../src/account/store-look.ts';
import { buildItemsMessage } from '../../src/ingress/otlp/message.ts';
import { buildMessage, type Fragment } from '../../src/ingress/push/message.ts';
import type { Layout } from '../../src/model/records.ts';
import { countedBase, hashedBase, type UidBase } from '../../src/model/uid.ts';
import { jsonTraces } from '../../src/rules/spans/json-traces.ts';
import { createBlockWriter } from '../../src/stores/clickhouse/block-writer.ts';
import { type Clickhouse, createClickhouse } from '../../src/stores/clickhouse/client.ts';
import { dataPointTables, itemTables, spansTable } from '../../src/stores/clickhouse/item-tables.ts';
import { createQuestdbSql, type QuestdbSql } from '../../src/stores/questdb/sql.ts';
import { createQuestdbTables } from '../../src/stores/questdb/tables.ts';
import { createQuestdbWriter, type QuestdbWriter } from '../../src/stores/questdb/writer.ts';
import { validateItems } from '../../src/transfer/blocks/validate-items.ts';
import type { HeldMessage } from '../../src/transfer/held-message.ts';
import { refusedRows } from '../../src/transfer/points/point-letters.ts';
import { validatePoints } from '../../src/transfer/points/validate-points.ts';
import { batchWriterOf, writeBatch } from '../../src/transfer/points/write-batch.ts';
import type { DeadLettered } from '../../src/transfer/sink.ts';
import { decodeBlocksEnvelope } from '../../src/wire/blocks-envelope.ts';
import {
  decodeEnvelope,
  encodeEnvelope,
  type MetricsEnvelope,
  type Part,
} from '../../src/wire/metrics-envelope.ts';
import { defaultItemLimits } from '../../src/wire/otlp/types.ts';
import { dataPointsMessage } from '../support/otlp/data-point-blocks.ts';
import { firstDelivery } from '../support/outcomes/deliveries.ts';
import { insertRecords, type SettledRecord, settledRecords } from '../support/outcomes/settled-rows.ts';
import { encodePoints } from '../support/push/encode-points.ts';
import { contextWith, sourceWith } from '../support/push/source.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';

const dayMs = 86_400_000;
const today = Math.floor(Date.now() / dayMs);
const dateOf = (daysAgo: number): string => new Date((today - daysAgo) * dayMs).toISOString().slice(0, 10);
const noon = (daysAgo: number): number => (today - daysAgo) * dayMs + dayMs / 2;

let engines: TestEngines;
let clickhouse: Clickhouse;
let sql: QuestdbSql;
let writer: QuestdbWriter;
let ids = 1_500_000;
let counter = 1;

beforeAll(async () => {
  engines = await startEngines({ questdb: true, clickhouse: true }, { hasTables: true });
  clickhouse = createClickhouse({ url: engines.clickhouse.url });
  sql = createQuestdbSql({ url: engines.questdb.url });
  writer = createQuestdbWriter({ url: engines.questdb.url, timeoutMs: 10_000 });
});
afterAll(async () => {
  await clickhouse?.close();
  await sql?.close();
  await writer?.close();
  await engines?.stop();
});
beforeEach(async () => {
  for (const table of [...itemTables.map(({ name }) => name), 'ingest_outcomes'])
    await clickhouse.run(`TRUNCATE TABLE otel.${table}`);
});

const bases: readonly (() => UidBase)[] = [
  () => countedBase(1_400_000, counter++ * 1000),
  () => hashedBase(Buffer.from(`${counter++}`.padStart(8, '\u00ff'), 'latin1')),
];

/** A table with the columns a, b and, which takes no number, `bad`. */
const createTable = async (layout: Layout, ttlDays?: number): Promise<PointsTable & { layout: Layout }> => {
  const dataId = ++ids;
  const table = `2_mon_time_series_${dataId}.__default__`;
  const tables = createQuestdbTables(sql, resolve(import.meta.dirname, '../../schemas'));
  await tables.createTable(layout, table, ttlDays);
  if (layout === 'wide')
    for (const column of ['a DOUBLE', 'b DOUBLE', 'bad UUID', 'd SYMBOL'])
      await sql.exec(`ALTER TABLE "${table}" ADD COLUMN ${column}`);
  return { dataId, table, sql, layout };
};

type Target = Awaited<ReturnType<typeof createTable>>;

/** A request of these points, each of a number of days ago, as a fragment of a message. */
const request = (
  { dataId, table, layout }: Target,
  points: readonly [daysAgo: number, metrics: object][],
  base = bases[counter % bases.length]?.() ?? countedBase(1, 1),
): Fragment[] => {
  const source = { ...sourceWith(layout, ['a', 'b', 'bad'], ['d']), dataId, tableId: table };
  const arrivedAt = Date.now();
  const policy = { aheadMsMax: undefined, ageMsMax: undefined };
  const data = points.map(([daysAgo, metrics], index) => ({ metrics, timestamp: noon(daysAgo) + index }));
  const { runs } = encodePoints(data, contextWith(source, { base, arrivedAt, policy }));
  return runs.map((run) => ({ source, base, run, arrivedAt, policy }));
};

const heldOf = (payload: Uint8Array): HeldMessage => {
  const read = decodeEnvelope(payload, 1);
  if (read.kind !== 'envelope') throw new Error(read.kind);
  return { delivery: firstDelivery, envelope: read.envelope, rows: 1, bytes: 1, touchedAt: 0, takenAt: 0 };
};

type Stored = { readonly records: SettledRecord[]; readonly letters: DeadLettered[] };

/** Stores a message as transfer does, and returns its records. */
const store = async (payload: Uint8Array): Promise<Stored> => {
  const message = heldOf(payload);
  const { refused } = await writeBatch(batchWriterOf(writer, sql), [message], () => {});
  const letters = refusedRows(refused);
  return {
    records: settledRecords('metrics', validatePoints(message.envelope, new Set()), letters),
    letters,
  };
};

const settle = async (payload: Uint8Array): Promise<Stored> => {
  const stored = await store(payload);
  await insertRecords(clickhouse, stored.records);
  return stored;
};

/** Stores spans of these days ago for an application, without or with their record. */
const exportSpans = async (appId: number, daysAgo: readonly number[], isRecorded = true): Promise<void> => {
  const spans = daysAgo.map((days, index) => {
    const start = `${noon(days) + index}000000`;
    const ids = { traceId: `${index + 1}`.padStart(32, '1'), spanId: `${index + 1}`.padStart(16, '1') };
    // A span without a name is dropped by no rule; one without an id is.
    return { ...(days < 0 ? {} : ids), name: 's', startTimeUnixNano: start, endTimeUnixNano: start };
  });
  const base = countedBase(1_400_000, counter++ * 1000);
  const arrivedAt = Date.now();
  const policy = { aheadMsMax: undefined, ageMsMax: undefined };
  const { runs } = jsonTraces.encode(
    Buffer.from(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] })),
    {
      resolve: () => ({ appId, bizId: 2, fillDimensions: false, policy }),
      ...{ clientIp: '', base, arrivedAt, limits: defaultItemLimits },
    },
  );
  const [run] = runs;
  const read = decodeBlocksEnvelope(
    run === undefined ? Buffer.of() : buildItemsMessage({ pipeline: 'traces', run, base, arrivedAt }),
    1,
  );
  if (read.kind !== 'envelope') throw new Error(read.kind);
  const spanWriter = createBlockWriter(clickhouse, spansTable, { insertMsMax: 20_000 });
  for (const block of read.envelope.partBytes)
    await spanWriter.insertPlain({ queryId: `tm-TRACES-1-9-1-${counter++}`, blocks: [block] });
  if (isRecorded) await insertRecords(clickhouse, settledRecords('traces', validateItems(read.envelope)));
};

/** Stores a data point of each kind on each of these days ago for an application, with their record. */
const exportDataPoints = async (appId: number, daysAgo: readonly number[]): Promise<void> => {
  const rows = daysAgo.flatMap((days) =>
    dataPointTables.map(({ name }) => ({ table: name, at: noon(days), service: 's', metric: 'm' })),
  );
  const message = {
    base: BigInt(countedBase(1_400_000, counter++ * 1000).text),
    appId,
    arrivedAt: Date.now(),
  };
  const read = decodeBlocksEnvelope(dataPointsMessage(rows, message), 1);
  if (read.kind !== 'envelope') throw new Error(read.kind);
  for (const [index, { itemTable }] of read.envelope.header.parts.entries()) {
    const table = dataPointTables.find(({ name }) => name === itemTable) ?? dataPointTables[0];
    await createBlockWriter(clickhouse, table, { insertMsMax: 20_000 }).insertPlain({
      queryId: `tm-OTEL_METRICS-1-9-1-${counter++}`,
      blocks: read.envelope.partBytes.slice(index, index + 1),
    });
  }
  await insertRecords(clickhouse, settledRecords('otel_metrics', validateItems(read.envelope)));
};

const targetsOf = (points: readonly PointsTable[], change: Partial<StoreTargets>): StoreTargets => ({
  clickhouse,
  points,
  isLeftOut: () => false,
  caughtUp: async () => () => true,
  pause: async () => {},
  ...change,
});

const compare = async (points: readonly PointsTable[], change: Partial<StoreTargets> = {}) => {
  const { differences, inFlight, compared } = await compareStores(targetsOf(points, change));
  const named = differences.map(({ dataId, appId, day, kind, items, why }) => [
    ...[dataId + appId, day === undefined ? why : today - day, kind, items],
  ]);
  return { differences: named, inFlight: inFlight.length, compared };
};

const both = { a: 1, b: 2 };

/** As the lines of the books, which these records are made without, name the days. */
const nameDays = async (): Promise<void> => {
  await clickhouse.run('TRUNCATE TABLE otel.ingest_days');
  await clickhouse.run(`INSERT INTO otel.ingest_days SELECT pipeline, data_id, app_id, days AS day,
    sum(day_rows) AS rows, sum(day_sums + base * day_rows) AS sum FROM otel.ingest_outcomes FINAL
    ARRAY JOIN days, day_rows, day_sums GROUP BY pipeline, data_id, app_id, day`);
};

describe('the records beside the stores', () => {
  it('name no row that is missing after a push whose rows are all good', async () => {
    const table = await createTable('wide');
    await settle(
      buildMessage(
        request(table, [
          [0, both],
          [0, both],
          [1, both],
        ]),
      ),
    );
    expect((await compare([table])).differences).toEqual([]);
  });

  it('agree after pushes of both layouts and exports, over days, requests, refusals and redeliveries', async () => {
    const [wide, narrow] = [await createTable('wide'), await createTable('narrow')];
    const fragments = [
      ...request(wide, [
        [0, both],
        [1, both],
        [0, { a: 'no' }],
        [3, both],
      ]),
      ...request(narrow, [
        [0, both],
        [2, { a: 1 }],
      ]),
      ...request(wide, [[1, both]]),
    ];
    const payload = buildMessage(fragments);
    await settle(payload);
    await settle(payload);
    const { letters } = await settle(
      buildMessage(
        request(wide, [
          [0, both],
          [1, { a: 1, bad: 1 }],
        ]),
      ),
    );
    expect(letters.length).toBe(1);
    await exportSpans(7, [0, 0, 1]);
    await exportSpans(8, [0, 2, 0]);
    expect(await compare([wide, narrow])).toEqual({
      ...{ differences: [], inFlight: 0 },
      compared: { days: 3 + 2 + 2 + 2, rows: 5 + 3 + 3 + 3 },
    });
  });

  it('name a deleted row, a truncated table and a dropped day with their rows', async () => {
    const [one, two] = [await createTable('wide'), await createTable('narrow')];
    await settle(
      buildMessage(
        request(one, [
          [0, both],
          [1, both],
          [1, both],
        ]),
      ),
    );
    await settle(
      buildMessage(
        request(two, [
          [0, both],
          [1, both],
        ]),
      ),
    );
    await exportSpans(7, [0, 0, 1, 1, 1]);
    await sql.exec(`ALTER TABLE "${one.table}" DROP PARTITION WHERE timestamp < '${dateOf(0)}'`);
    await sql.exec(`TRUNCATE TABLE "${two.table}"`);
    await clickhouse.run(`ALTER TABLE otel.otel_traces DROP PARTITION '${dateOf(1)}'`);
    await clickhouse.run(
      `DELETE FROM otel.otel_traces WHERE Timestamp = fromUnixTimestamp64Milli(toInt64(${noon(0)}))`,
    );
    expect((await compare([one, two])).differences).toEqual([
      [one.dataId, 1, 'missing_in_the_store', 2],
      [two.dataId, 1, 'missing_in_the_store', 2],
      [two.dataId, 0, 'missing_in_the_store', 2],
      [7, 1, 'missing_in_the_store', 3],
      [7, 0, 'missing_in_the_store', 1],
    ]);
  });

  it('add the tables of data points, and name the rows of one that was truncated', async () => {
    await exportDataPoints(7, [0, 1, 1]);
    await exportDataPoints(8, [0]);
    expect(await compare([])).toEqual({ differences: [], inFlight: 0, compared: { days: 3, rows: 20 } });
    await clickhouse.run('TRUNCATE TABLE otel.otel_metrics_summary');
    expect((await compare([])).differences).toEqual([
      [7, 1, 'missing_in_the_store', 2],
      [7, 0, 'missing_in_the_store', 1],
      [8, 0, 'missing_in_the_store', 1],
    ]);
  });

  it('name a row that is lost while another is doubled, and rows without a record', async () => {
    const points = await createTable('wide');
    const { table } = points;
    const base = countedBase(1_400_000, counter++ * 1000);
    await settle(
      buildMessage(
        request(
          points,
          [
            [0, both],
            [0, both],
            [1, both],
          ],
          base,
        ),
      ),
    );
    await store(buildMessage(request(points, [[1, both]])));
    await sql.exec(`ALTER TABLE "${table}" DROP PARTITION LIST '${dateOf(0)}'`);
    for (const at of [noon(0), noon(0) + 1])
      await sql.exec(`INSERT INTO "${table}" (timestamp, uid, a) VALUES (${at}000, ${base.text}, 1)`);
    await exportSpans(7, [0, 0, 0]);
    const at = (index: number): string => `Timestamp = fromUnixTimestamp64Milli(toInt64(${noon(0) + index}))`;
    await clickhouse.run(`DELETE FROM otel.otel_traces WHERE ${at(0)}`);
    await clickhouse.run('SYSTEM STOP MERGES otel.otel_traces');
    await clickhouse.run(`INSERT INTO otel.otel_traces SELECT * FROM otel.otel_traces WHERE ${at(1)}`);
    await exportSpans(8, [0, 1], false);
    const { differences } = await compare([points]);
    await clickhouse.run('SYSTEM START MERGES otel.otel_traces');
    expect(differences).toEqual([
      [points.dataId, 1, 'unrecorded', 1],
      [points.dataId, 0, 'missing_in_the_store', 1],
      [points.dataId, 0, 'unrecorded', 1],
      [7, 0, 'missing_in_the_store', 1],
      [7, 0, 'unmerged', 1],
      [8, 1, 'unrecorded', 1],
      [8, 0, 'unrecorded', 1],
    ]);
  });

  it('call copies unmerged that a merge removes, and unrecorded those that differ in the key of their table', async () => {
    await exportSpans(7, [0, 0, 0]);
    const copy = (columns: string, index: number): Promise<void> =>
      clickhouse.run(
        `INSERT INTO otel.otel_traces SELECT ${columns} FROM otel.otel_traces WHERE Timestamp = fromUnixTimestamp64Milli(toInt64(${noon(0) + index})) LIMIT 1`,
      );
    await clickhouse.run('SYSTEM STOP MERGES otel.otel_traces');
    await copy('*', 0);
    await copy("* REPLACE ('copy' AS ServiceName)", 1);
    const { differences } = await compare([]);
    await clickhouse.run('SYSTEM START MERGES otel.otel_traces');
    expect(differences).toEqual([
      [7, 0, 'unrecorded', 1],
      [7, 0, 'unmerged', 1],
    ]);
    await clickhouse.run('OPTIMIZE TABLE otel.otel_traces FINAL');
    expect((await compare([])).differences).toEqual([[7, 0, 'unrecorded', 1]]);
  });

  it('and their sizes say that a day was rewritten without another number of rows, and nothing of merges', async () => {
    const wide = await createTable('wide');
    await settle(
      buildMessage(
        request(wide, [
          [0, both],
          [2, both],
          [2, both],
        ]),
      ),
    );
    await exportSpans(7, [0, 2, 3]);
    await exportSpans(7, [0, 2, 3]);
    let before = new Map<string, string>();
    /** Days whose state has changed since the last call. */
    const changed = async (): Promise<unknown[]> => {
      const seen = seenDays(
        await readSettledDays(clickhouse, {}),
        await readStoreSizes(clickhouse, [wide]),
        () => 0,
      );
      const last = before;
      before = new Map(seen.map((each) => [dayKey(each), each.state]));
      return seen
        .filter((each) => last.get(dayKey(each)) !== each.state)
        .map(({ owner, day }) => [owner, today - day]);
    };
    await expect
      .poll(async () => (await readStoreSizes(clickhouse, [wide])).points.get(wide.dataId)?.size)
      .toBe(2);
    expect((await changed()).length).toBe(5);
    await clickhouse.run('OPTIMIZE TABLE otel.otel_traces FINAL');
    expect(await changed()).toEqual([]);
    await clickhouse.run(
      `DELETE FROM otel.otel_traces WHERE Timestamp = fromUnixTimestamp64Milli(toInt64(${noon(2) + 1}))`,
    );
    expect(await changed()).toContainEqual([0, 2]);
    await clickhouse.run(
      `DELETE FROM otel.otel_traces WHERE Timestamp = fromUnixTimestamp64Milli(toInt64(${noon(3) + 2}))`,
    );
    // The parts of the other days have another name by now, and the same bytes.
    expect(await changed()).toEqual([[0, 3]]);
    const { dataset } = await sql.exec(`SELECT uid FROM "${wide.table}" WHERE timestamp IN '${dateOf(2)}'`);
    await sql.exec(`ALTER TABLE "${wide.table}" DROP PARTITION LIST '${dateOf(2)}'`);
    await sql.exec(
      `INSERT INTO "${wide.table}" (timestamp, uid, a) VALUES (${noon(2) + 1}000, ${dataset[0]}, 1), (${noon(2) + 7}000, ${dataset[0]}, 1)`,
    );
    await expect.poll(changed).toEqual([[wide.dataId, 2]]);
  });

  // A repeat of the message stores the row again: its record names the letter no more, and the redrive's would count the row twice.
  it('count a redriven row once, also after the message was repeated', async () => {
    const wide = await createTable('wide');
    const payload = buildMessage(
      request(wide, [
        [0, both],
        [0, { a: 1, bad: 1 }],
      ]),
    );
    const { records, letters } = await settle(payload);
    const [letter] = letters;
    const [record] = records;
    const part = letter?.part;
    if (letter === undefined || part === undefined || !('table' in part) || record === undefined)
      throw new Error('no letter');
    await sql.exec(`ALTER TABLE "${wide.table}" DROP COLUMN bad`);
    await sql.exec(`ALTER TABLE "${wide.table}" ADD COLUMN bad DOUBLE`);
    writer.renew();
    const redriven = await store(
      redriveOf(
        part,
        letter.bytes,
        record,
        Number(Array.isArray(record['letters']) ? record['letters'][0] : 0),
      ),
    );
    expect((await compare([wide])).differences).toEqual([[wide.dataId, 0, 'unrecorded', 1]]);
    await insertRecords(clickhouse, redriven.records);
    expect((await compare([wide])).differences).toEqual([]);
    await settle(payload);
    expect((await compare([wide])).differences).toEqual([]);
  });

  it('are first compared by the sizes of partitions and parts, of which those with a loss stand out', async () => {
    const wide = await createTable('wide');
    await settle(
      buildMessage(
        request(wide, [
          [0, both],
          [1, both],
          [1, both],
        ]),
      ),
    );
    await exportSpans(7, [0, 0, 1]);
    const differing = async (): Promise<unknown[]> => {
      const seen = seenDays(
        await readSettledDays(clickhouse, {}),
        await readStoreSizes(clickhouse, [wide]),
        firstDayOf(await readFirstDays(clickhouse, Date.now()), { firstDays: new Map() }),
      );
      expect(seen.length).toBe(4);
      return seen
        .filter(({ stored, recorded }) => stored !== recorded)
        .map(({ owner, day }) => [owner, today - day]);
    };
    await expect.poll(differing).toEqual([]);
    await sql.exec(`ALTER TABLE "${wide.table}" DROP PARTITION LIST '${dateOf(1)}'`);
    await clickhouse.run(`ALTER TABLE otel.otel_traces DROP PARTITION '${dateOf(0)}'`);
    await expect.poll(differing).toEqual([
      [wide.dataId, 1],
      [0, 0],
    ]);
  });

  it('are not compared where a table or the records cannot tell', async () => {
    const [plain, old, short] = [
      await createTable('wide'),
      await createTable('wide'),
      await createTable('wide', 3),
    ];
    await settle(buildMessage(request(plain, [[0, both]])));
    await sql.exec(`ALTER TABLE "${plain.table}" DEDUP DISABLE`);
    const { records } = await store(
      buildMessage(
        request(old, [
          [0, both],
          [1, both],
        ]),
      ),
    );
    await insertRecords(
      clickhouse,
      records.map(({ letters, letter_items, days, day_rows, day_sums, book, ...record }) => record),
    );
    await insertRecords(
      clickhouse,
      (await store(buildMessage(request(short, [[0, both]])))).records.map((record) => ({
        ...{
          ...record,
          days: [today, today - 3],
          day_rows: [1, 5],
          day_sums: [...[record['day_sums']].flat(), '0'],
        },
      })),
    );
    const { differences } = await compare([plain, old, short]);
    const ofOld = await compareStores(targetsOf([old], {}));
    expect(ofOld.differences.find(({ dataId }) => dataId === old.dataId)?.why).toBe(
      'records do not name the days of their rows: of messages with more than 512 event days, or of an earlier program',
    );
    expect(differences).toEqual([
      [plain.dataId, 'the table does not deduplicate', 'not_known', 0],
      [old.dataId, 1, 'not_known', 1],
      [old.dataId, 0, 'not_known', 1],
    ]);
  });

  it('name the rows without a record of each of many owners, for one wait on what is on its way', async () => {
    const spansOf = Array.from({ length: 12 }, (_, index) => [index % 4, 20 + index] as const);
    for (const [spans, appId] of spansOf)
      if (spans > 0)
        await exportSpans(
          appId,
          Array.from({ length: spans }, () => 0),
          false,
        );
    await exportSpans(40, [0]);
    const points = await createTable('wide');
    await store(buildMessage(request(points, [[0, both]])));
    let waits = 0;
    const caughtUp: CaughtUp = async () => {
      waits += 1;
      return () => true;
    };
    const look = createStoreLook(() => ({ clickhouse, points: [points], isLeftOut: () => false, caughtUp }));
    const owners = [...spansOf.map(([, appId]) => appId), 40].map(
      (appId) => ({ pipeline: 'traces', dataId: 0, appId }) as const,
    );
    const ofPoints = { pipeline: 'metrics', dataId: points.dataId, appId: 0 } as const;
    const rowsOf = (rows: number) => new Map(rows === 0 ? [] : [[today, rows]]);
    const expected = new Map(spansOf.map(([spans, appId]) => [`traces 0 ${appId}`, rowsOf(spans)]));
    expected.set('traces 0 40', rowsOf(0));
    expect((await look.unrecorded(owners)).rows).toEqual(expected);
    expect(waits).toBe(1);
    // What was just read is not read again, and other owners are.
    const [, one] = owners;
    const again = await look.unrecorded(one === undefined ? [] : [one, ofPoints]);
    expect(again.rows).toEqual(
      new Map([
        ['traces 0 21', rowsOf(1)],
        [`metrics ${points.dataId} 0`, rowsOf(1)],
      ]),
    );
    expect(waits).toBe(2);
  });

  it('name the rows without a record of old event days too, of lines that never came and of records that are gone', async () => {
    const look = createStoreLook(() => ({
      ...{ clickhouse, isLeftOut: () => false, caughtUp: async () => () => true },
      points: [points],
    }));
    const points = await createTable('wide');
    await settle(
      buildMessage(
        request(
          points,
          [0, 3, 40].map((daysAgo) => [daysAgo, both]),
        ),
      ),
    );
    await store(
      buildMessage(
        request(
          points,
          [0, 3, 40, 40].map((daysAgo) => [daysAgo, both]),
        ),
      ),
    );
    const [whole, never, gone] = [61, 62, 63];
    await exportSpans(whole, [0, 3, 5]);
    await exportSpans(never, [0, 3, 3], false);
    await exportSpans(gone, [5], false);
    const named = { pipeline: 'traces', data_id: 0, day: today - 5, rows: 1, sum: 0 };
    await clickhouse.insert('INSERT INTO otel.ingest_days FORMAT JSONEachRow', [
      Buffer.from(
        [
          { ...named, app_id: gone },
          { ...named, app_id: whole },
          { ...named, app_id: whole, day: today - 3 },
        ]
          .map((each) => JSON.stringify(each))
          .join('\n'),
      ),
    ]);
    const owners = [whole, never, gone].map((appId) => ({ pipeline: 'traces', dataId: 0, appId }) as const);
    const ofPoints = { pipeline: 'metrics', dataId: points.dataId, appId: 0 } as const;
    const { rows } = await look.unrecorded([...owners, ofPoints]);
    const byOwner = [...rows].map(([owner, days]) => [
      owner,
      [...days].map(([day, each]) => [today - day, each]).toSorted(([a = 0], [b = 0]) => a - b),
    ]);
    expect(byOwner).toEqual([
      [`traces 0 ${whole}`, []],
      [
        `traces 0 ${never}`,
        [
          [0, 1],
          [3, 2],
        ],
      ],
      [`traces 0 ${gone}`, [[5, 1]]],
      [
        `metrics ${points.dataId} 0`,
        [
          [0, 1],
          [3, 1],
          [40, 2],
        ],
      ],
    ]);
  });

  it('name what an application at rest has lost, while another one writes to the same day', async () => {
    const targets = { clickhouse, points: [], isLeftOut: () => false, caughtUp: async () => () => true };
    const stores = createStoreLook(() => targets);
    const look = async () => {
      await nameDays();
      return stores.look();
    };
    await exportSpans(7, [0, 0, 0]);
    await exportSpans(8, [0]);
    expect(await look()).toMatchObject({ differences: [], compared: [] });
    const spanOf = (index: number): string =>
      `AppId = 7 AND Timestamp = fromUnixTimestamp64Milli(toInt64(${noon(0) + index}))`;
    await clickhouse.run(`DELETE FROM otel.otel_traces WHERE ${spanOf(1)}`);
    await clickhouse.run(`INSERT INTO otel.otel_traces SELECT * FROM otel.otel_traces WHERE ${spanOf(2)}`);
    await exportSpans(8, [0]);
    const { differences, compared } = await look();
    expect(differences.map(({ appId, day, kind, items }) => [appId, day, kind, items])).toEqual([
      [7, today, 'missing_in_the_store', 1],
      [7, today, 'unmerged', 1],
    ]);
    expect(compared).toEqual([{ pipeline: 'traces', owner: 7, day: today }]);
  });

  it('compare all but the days that QuestDB refuses to read, which are not known', async () => {
    const [damaged, unreadable] = [await createTable('wide'), await createTable('wide')];
    const whole = await createTable('wide');
    const days = (...daysAgo: number[]): [number, object][] => daysAgo.map((each) => [each, both]);
    for (const table of [damaged, whole]) await settle(buildMessage(request(table, days(0, 1, 1, 2))));
    await settle(buildMessage(request(unreadable, days(1, 2))));
    expect((await compare([damaged, unreadable, whole])).differences).toEqual([]);
    await engines.questdb.stop();
    const folder = join(engines.folder, 'questdb', 'db');
    /** The file or folder of a table whose name begins so. */
    const partOf = async ({ table }: Target, start: string): Promise<string> => {
      const ofTable = (await readdir(folder)).find((name) => name.startsWith(`${table}~`)) ?? '';
      const part = (await readdir(join(folder, ofTable))).find((name) => name.startsWith(start)) ?? '';
      return join(folder, ofTable, part);
    };
    await rm(await partOf(damaged, dateOf(1)), { recursive: true });
    await rm(await partOf(unreadable, '_cv'));
    await engines.questdb.start();
    await sql.exec(`ALTER TABLE "${damaged.table}" DROP PARTITION LIST '${dateOf(2)}'`);
    await sql.exec(`ALTER TABLE "${whole.table}" DROP PARTITION LIST '${dateOf(1)}'`);
    const expected = [
      [damaged.dataId, 1, 'not_known', 0],
      [damaged.dataId, 2, 'missing_in_the_store', 1],
      [whole.dataId, 1, 'missing_in_the_store', 2],
    ];
    const change = { isLeftOut: (_: unknown, owner: number) => owner === unreadable.dataId };
    expect((await compare([damaged, whole], change)).differences).toEqual(expected);
    const { differences } = await compareStores(targetsOf([damaged, whole], change), {
      pipeline: 'metrics',
      days: [today - 1],
    });
    expect(differences.map(({ dataId, kind, isUnread }) => [dataId, kind, isUnread])).toEqual([
      [damaged.dataId, 'not_known', true],
      [whole.dataId, 'missing_in_the_store', undefined],
    ]);
    expect(differences[0]?.why).toContain(dateOf(1));
    // Of a table that is refused as a whole, all that lines have named.
    await nameDays();
    const stores = createStoreLook(() => targetsOf([unreadable, whole], {}));
    let before: StoreDifference[] = [];
    const unread = async (): Promise<unknown[]> => {
      before = mergeFindings(before, await stores.look());
      return before
        .filter(({ dataId, isUnread }) => dataId === unreadable.dataId && isUnread === true)
        .map(({ day = 0, isFirst = false }) => [today - day, isFirst])
        .toSorted();
    };
    expect(await unread()).toEqual([
      [1, true],
      [2, true],
    ]);
    expect(await unread()).toEqual([
      [1, false],
      [2, false],
    ]);
    const named = (await compare([unreadable])).differences.filter(([, day]) => typeof day === 'number');
    expect(named.toSorted()).toEqual([1, 2].map((day) => [unreadable.dataId, day, 'not_known', 0]));
  });

  it('call rows without a record in flight until all is recorded', async () => {
    const wide = await createTable('wide');
    const { records } = await store(buildMessage(request(wide, [[0, both]])));
    const waiting = await compare([wide], { caughtUp: async () => () => false });
    expect([waiting.differences, waiting.inFlight]).toEqual([[], 1]);
    const caughtUp: CaughtUp = async () => {
      await insertRecords(clickhouse, records);
      return () => true;
    };
    expect(await compare([wide], { caughtUp })).toMatchObject({ differences: [], inFlight: 0 });
  });
});

/** The message that redrives one row. */
const redriveOf = (part: Part, bytes: Uint8Array, record: SettledRecord, ordinal: number): Buffer => {
  const { base, first, minute } = record;
  const header: MetricsEnvelope['header'] = {
    ...{ version: 1, kind: 'metrics', arrivedAt: Date.now(), parts: [part], deferred: [], outcomes: [] },
    key: { base: String(base), first: Number(first) },
    redrive: {
      number: 1,
      items: 1,
      outcome: { base: String(base), first: Number(first), minute: String(minute), ordinal },
    },
  };
  return encodeEnvelope(header, [bytes]);
};
