import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PointsTable } from '../../src/account/point-rows.ts';
import { compareStores } from '../../src/account/store-compare.ts';
import { buildItemsMessage } from '../../src/ingress/otlp/message.ts';
import { buildMessage } from '../../src/ingress/push/message.ts';
import type { Layout } from '../../src/model/records.ts';
import { countedBase, hashedBase, type UidBase } from '../../src/model/uid.ts';
import { jsonTraces } from '../../src/rules/spans/json-traces.ts';
import { createBlockWriter } from '../../src/stores/clickhouse/block-writer.ts';
import { type Clickhouse, createClickhouse } from '../../src/stores/clickhouse/client.ts';
import { spansTable } from '../../src/stores/clickhouse/item-tables.ts';
import { createQuestdbSql, type QuestdbSql } from '../../src/stores/questdb/sql.ts';
import { createQuestdbTables } from '../../src/stores/questdb/tables.ts';
import { createQuestdbWriter, type QuestdbWriter } from '../../src/stores/questdb/writer.ts';
import { validateItems } from '../../src/transfer/blocks/validate-items.ts';
import type { HeldMessage } from '../../src/transfer/held-message.ts';
import { validatePoints } from '../../src/transfer/points/validate-points.ts';
import { batchWriterOf, writeBatch } from '../../src/transfer/points/write-batch.ts';
import { settledLinesOf } from '../../src/transfer/record-outcomes.ts';
import type { Validated } from '../../src/transfer/sink.ts';
import { decodeBlocksEnvelope } from '../../src/wire/blocks-envelope.ts';
import { decodeEnvelope } from '../../src/wire/metrics-envelope.ts';
import { defaultItemLimits } from '../../src/wire/otlp/types.ts';
import { firstDelivery } from '../support/outcomes/deliveries.ts';
import { encodePoints } from '../support/push/encode-points.ts';
import { contextWith, sourceWith } from '../support/push/source.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { untilApplied } from '../support/until-applied.ts';

const dayMs = 86_400_000;
const today = Math.floor(Date.now() / dayMs);
/** When the newest item was made, and the first try arrived. */
const noon = today * dayMs + dayMs / 2;
const life = 30_000_000;

let engines: TestEngines;
let clickhouse: Clickhouse;
let sql: QuestdbSql;
let writer: QuestdbWriter;
let owners = 1_500_000;
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

const hashed = (): UidBase => hashedBase(createHash('sha256').update(`${counter++}`).digest());
const counted = (): UidBase => countedBase(1_400_000, counter++ * 1_000);

/** A try of a request: which of its items are too old or too far ahead follows from its arrival and the windows. */
type Try = {
  readonly base: UidBase;
  readonly arrivedAt: number;
  readonly ageMsMax?: number;
  readonly aheadMsMax?: number;
};

type Owner = {
  readonly pipeline: 'metrics' | 'traces';
  readonly id: number;
  readonly points: PointsTable[];
  /** Stores a request of items of these times, as its receiver and transfer do. */
  store(of: Try, times: readonly number[]): Promise<Validated>;
  /** Stores a row that no request has. */
  insert(uid: string, at: number): Promise<unknown>;
  /** Deletes the rows of this time. */
  remove(at: number): Promise<unknown>;
};

const createPoints = async (layout: Layout): Promise<Owner> => {
  const id = ++owners;
  const table = `2_mon_time_series_${id}.__default__`;
  await createQuestdbTables(sql, resolve(import.meta.dirname, '../../schemas')).createTable(layout, table);
  const source = { ...sourceWith(layout, ['a', 'b'], []), dataId: id, tableId: table };
  const count = async (): Promise<unknown> =>
    (await sql.exec(`SELECT count() FROM "${table}"`)).dataset[0]?.[0];
  return {
    ...{ pipeline: 'metrics', id, points: [{ dataId: id, table, sql }] },
    store: async ({ base, arrivedAt, ageMsMax, aheadMsMax }, times) => {
      const policy = { ageMsMax, aheadMsMax };
      const data = times.map((timestamp) => ({ metrics: { a: 1, b: 2 }, timestamp }));
      const { runs } = encodePoints(data, contextWith(source, { base, arrivedAt, policy, isKeyed: true }));
      const payload = buildMessage(runs.map((run) => ({ source, base, run, arrivedAt, policy })));
      const read = decodeEnvelope(payload, 1);
      if (read.kind !== 'envelope') throw new Error(read.kind);
      const held: HeldMessage = {
        ...{ delivery: firstDelivery, envelope: read.envelope, rows: 1, bytes: 1, touchedAt: 0, takenAt: 0 },
      };
      await writeBatch(batchWriterOf(writer, sql), [held], () => {});
      return validatePoints(read.envelope, new Set());
    },
    insert: async (uid, at) => {
      const before = Number(await count());
      await sql.exec(`INSERT INTO "${table}" (timestamp, uid) VALUES (${at}000, ${uid})`);
      await expect.poll(count).toBe(before + 1);
    },
    remove: async (at) => {
      await untilApplied({ query: (text) => sql.exec(text) });
      const own = `SELECT * FROM "${table}"`;
      await sql.exec(`CREATE TABLE "kept_${id}" AS (${own} WHERE timestamp != ${at}000)`);
      const kept = (await sql.exec(`SELECT count() FROM "kept_${id}"`)).dataset[0]?.[0];
      await sql.exec(`TRUNCATE TABLE "${table}"`);
      await sql.exec(`INSERT INTO "${table}" SELECT * FROM "kept_${id}"`);
      await expect.poll(count).toBe(kept);
    },
  };
};

const createSpans = async (): Promise<Owner> => {
  const id = ++owners;
  const merge = () => clickhouse.run('OPTIMIZE TABLE otel.otel_traces FINAL');
  return {
    ...{ pipeline: 'traces', id, points: [] },
    store: async ({ base, arrivedAt, ageMsMax, aheadMsMax }, times) => {
      const policy = { ageMsMax, aheadMsMax };
      const spans = times.map((time, index) => ({
        ...{ traceId: `${index + 1}`.padStart(32, '1'), spanId: `${index + 1}`.padStart(16, '1'), name: 's' },
        ...{ startTimeUnixNano: `${time}000000`, endTimeUnixNano: `${time}000000` },
      }));
      const { runs } = jsonTraces.encode(
        Buffer.from(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] })),
        {
          resolve: () => ({ appId: id, bizId: 2, fillDimensions: false, policy }),
          ...{ clientIp: '', base, arrivedAt, limits: defaultItemLimits },
        },
      );
      const [run] = runs;
      if (run === undefined) throw new Error('no run');
      const read = decodeBlocksEnvelope(buildItemsMessage({ pipeline: 'traces', run, base, arrivedAt }), 1);
      if (read.kind !== 'envelope') throw new Error(read.kind);
      const spanWriter = createBlockWriter(clickhouse, spansTable, { insertMsMax: 20_000 });
      for (const block of read.envelope.partBytes)
        await spanWriter.insertPlain({ queryId: `tm-TRACES-1-9-1-${counter++}`, blocks: [block] });
      await merge();
      return validateItems(read.envelope);
    },
    insert: (uid, at) =>
      clickhouse.run(
        `INSERT INTO otel.otel_traces (AppId, Timestamp, uid) SELECT ${id}, fromUnixTimestamp64Milli(toInt64(${at})), ${uid}`,
      ),
    remove: (at) =>
      clickhouse.run(
        `DELETE FROM otel.otel_traces WHERE AppId = ${id} AND Timestamp = fromUnixTimestamp64Milli(toInt64(${at}))`,
      ),
  };
};

/** Inserts the lines of a message, as LEDGER carries them: each message has a serial of its own. */
const record = async ({ pipeline }: Owner, validated: Validated): Promise<void> => {
  const serial = counter++;
  const minute = Math.floor(validated.arrivedAt / 60_000);
  const delivery = { ...firstDelivery, streamSequence: serial, serial: { life, serial, minute } };
  const stream = pipeline === 'metrics' ? 'METRICS' : 'TRACES';
  const lines = settledLinesOf(
    pipeline,
    { delivery, stream, validated, key: validated.key, letters: new Map() },
    noon + serial,
  );
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  await clickhouse.insert('INSERT INTO otel.ingest_lines FORMAT JSONEachRow', [Buffer.from(text)]);
};

const settle = async (owner: Owner, of: Try, times: readonly number[]): Promise<void> =>
  record(owner, await owner.store(of, times));

/** Compares the owner, to which `write` comes meanwhile. */
const compare = async (
  { pipeline, id, points }: Owner,
  write: () => Promise<void> = async () => {},
): Promise<unknown[]> => {
  const { differences, inFlight } = await compareStores(
    {
      ...{ clickhouse, points, isLeftOut: () => false, pause: async () => {} },
      caughtUp: async () => {
        await write();
        return () => true;
      },
    },
    { pipeline, owner: id },
  );
  return [...differences.map(({ kind, items }) => [kind, items]), ...inFlight.map(() => 'in flight')];
};

const ageMsMax = 330_000;
/** A minute old at the first try, and too old at the second. */
const old = noon - 60_000;
/** The minutes of the duplicate window have passed. */
const late = noon + 318_000;

const senders = [
  { name: 'a keyed push', create: () => createPoints('wide'), rowsOfItem: 1 },
  { name: 'a keyed push to a split table', create: () => createPoints('narrow'), rowsOfItem: 2 },
  { name: 'an export', create: createSpans, rowsOfItem: 1 },
];

describe.each(senders)('a late repeat of $name', ({ create, rowsOfItem }) => {
  it('that keeps fewer items is no difference, and one beside it has its number', async () => {
    const owner = await create();
    const base = hashed();
    await settle(owner, { base: counted(), arrivedAt: noon }, [noon, noon + 1]);
    await settle(owner, { base, arrivedAt: noon, ageMsMax }, [old, noon]);
    expect(await compare(owner)).toEqual([]);
    await settle(owner, { base, arrivedAt: late, ageMsMax }, [old, noon]);
    expect(await compare(owner)).toEqual([]);
    // A push whose line and record are gone, and a row of another program.
    await owner.store({ base: hashed(), arrivedAt: noon }, [noon + 2, noon + 3]);
    expect(await compare(owner)).toEqual([['unrecorded', 2 * rowsOfItem]]);
    await owner.insert('77', noon + 4);
    expect(await compare(owner)).toEqual([['unrecorded', 2 * rowsOfItem + 1]]);
  });

  it('that keeps more items, or others, is no difference', async () => {
    const owner = await create();
    const more = hashed();
    await settle(owner, { base: more, arrivedAt: late, ageMsMax }, [old, noon]);
    await settle(owner, { base: more, arrivedAt: late }, [old, noon]);
    const others = hashed();
    await settle(owner, { base: others, arrivedAt: noon, ageMsMax, aheadMsMax: 0 }, [old, noon + 1]);
    await settle(owner, { base: others, arrivedAt: late, ageMsMax, aheadMsMax: 0 }, [old, noon + 1]);
    expect(await compare(owner)).toEqual([]);
  });

  it('that keeps fewer items hides no row that is lost beside it', async () => {
    const owner = await create();
    const base = hashed();
    await settle(owner, { base: hashed(), arrivedAt: noon }, [noon + 1, noon + 2]);
    await settle(owner, { base, arrivedAt: noon, ageMsMax }, [old, noon]);
    await settle(owner, { base, arrivedAt: late, ageMsMax }, [old, noon]);
    await owner.remove(noon + 1);
    expect(await compare(owner)).toEqual([['missing_in_the_store', rowsOfItem]]);
  });

  it('is no difference on a day that is written to all the while, where others are with their number', async () => {
    const owner = await create();
    const base = hashed();
    await settle(owner, { base, arrivedAt: noon, ageMsMax }, [old, noon]);
    await settle(owner, { base, arrivedAt: late, ageMsMax }, [old, noon]);
    const write = () => settle(owner, { base: hashed(), arrivedAt: late }, [noon + 10]);
    expect(await compare(owner, write)).toEqual([]);
    await owner.store({ base: hashed(), arrivedAt: noon }, [noon + 2, noon + 3]);
    expect(await compare(owner, write)).toEqual([['unrecorded', 2 * rowsOfItem]]);
  });

  it('explains no row beyond its record where the line of the first try is gone', async () => {
    const owner = await create();
    const base = hashed();
    await owner.store({ base, arrivedAt: noon, ageMsMax }, [old, noon]);
    await settle(owner, { base, arrivedAt: late, ageMsMax }, [old, noon]);
    expect(await compare(owner)).toEqual([['unrecorded', rowsOfItem]]);
  });
});

it('rows without a record are not known, and no difference, beside more repeats than are read', async () => {
  const owner = await createPoints('wide');
  const most = 10_001;
  const base = `toUInt64(${hashed().text}) - number * 10000000000`;
  await clickhouse.run(`INSERT INTO otel.ingest_outcomes (pipeline, data_id, base, minute, received, outcomes, at, book)
    SELECT 'metrics', ${owner.id}, ${base}, now(), 2, map('dropped/timestamp_too_old', 2), now(), 1 FROM numbers(${most})`);
  await clickhouse.run(`INSERT INTO otel.ingest_settled (stream, life, minute, serial, sequence, data_id, owners, items, record, record_high)
    SELECT 'METRICS', 1, now(), 2 * number + tries, 2 * number + tries, ${owner.id}, 1, 2,
      toUInt32(bitAnd(${base}, 4294967295)), 1073741824 FROM numbers(${most}) ARRAY JOIN [1, 2] AS tries`);
  await owner.store({ base: hashed(), arrivedAt: noon }, [noon]);
  expect(await compare(owner)).toEqual([['not_known', 1]]);
});
