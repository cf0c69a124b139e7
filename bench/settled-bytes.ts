import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { identityBit } from '../src/model/uid.ts';
import { type Clickhouse, createClickhouse } from '../src/stores/clickhouse/client.ts';
import { makeTables, startEngines } from '../test/support/stack/engines.ts';

// Bytes that a settled message and owner takes in ClickHouse once its parts are merged, beside a record without a place in the books:
// node bench/settled-bytes.ts --lines 1000000
const { values } = parseArgs({ options: { lines: { type: 'string', default: '1000000' } } });
const lines = Number(values.lines);
/** 600 messages a second of two receivers, as LEDGER's sink inserts them. */
const messagesPerSecond = 600;

/** The columns of a line that differ between shapes, from `number`, the line's own, and `message`, that of its message. */
type Shape = {
  readonly owners: number;
  readonly dataId: string;
  readonly base: string;
  readonly items: string;
  readonly daySum: string;
};

const counter = 'toUInt64(1000000 + message % 2) * 274877906944 + intDiv(message, 2) * 20';

const shapes: Readonly<Record<string, Shape>> = {
  // Single points of 200 data ids, gathered: three owners in a message, some with several points.
  'gathered single pushes': {
    owners: 3,
    dataId: '1500001 + (intHash32(message) + 61 * (number % 3)) % 200',
    base: counter,
    items: '1 + if(intHash32(number) % 4 = 0, intHash32(number + 7) % 3, 0)',
    daySum: 'items * (number % 3) + intHash32(number + 3) % 20',
  },
  // 50 to 150 points with an Idempotency-Key.
  'keyed pushes': {
    owners: 1,
    dataId: '1500001 + intHash32(message) % 200',
    base: `bitOr(bitShiftRight(cityHash64(number), 2), ${identityBit})`,
    items: '50 + intHash32(number) % 101',
    daySum: 'intDiv(items * (items - 1), 2)',
  },
};

const withColumns = ({ owners, dataId, base, items, daySum }: Shape): string => `
  WITH intDiv(number, ${owners}) AS message, now() - ${Math.ceil(lines / owners / messagesPerSecond)} AS began,
       toDateTime64(began, 3) + message / ${messagesPerSecond} AS arrived, arrived + 1 AS settled,
       toDateTime(began) + intDiv(message, ${messagesPerSecond} * 2) * 2 + 2 AS inserted,
       toUInt64(${dataId}) AS dataId, ${base} AS ownBase, toInt64(${items}) AS items,
       if(number % 10 = 0 AND items > 1, map('stored', items - 1, 'dropped/timestamp_too_old', 1), map('stored', items)) AS counts,
       [toUInt16(toDate(arrived))] AS days, [toUInt32(items)] AS dayRows, [toUInt64(${daySum})] AS daySums`;

const record = "'metrics', dataId, 0, ownBase, 0, -1, 0, toStartOfMinute(arrived), items, counts, settled";

const insertOf = (table: string, shape: Shape): string => {
  const from = ` FROM numbers(${lines})`;
  const before = `INSERT INTO otel.${table} ${withColumns(shape)}`;
  if (table === 'earlier_outcomes') return `${before} SELECT ${record}${from}`;
  if (table === 'ingest_outcomes')
    return `${before} SELECT ${record}, [], [], days, dayRows, daySums, 1${from}`;
  return `${before} SELECT 'METRICS', 1000000 + message % 2, toStartOfMinute(arrived), 1 + intDiv(message, 2), 1 + message, dataId, 0,
    ${shape.owners}, items, 0, inserted, toUInt32(bitAnd(ownBase, 4294967295)),
    toUInt32(if(ownBase >= ${identityBit}, ${identityBit >> 32n}, bitShiftRight(ownBase, 32)))${from}`;
};

const partsRow = z.object({ rows: z.coerce.number(), bytes: z.coerce.number() });
const columnRow = z.object({ column: z.string(), bytes: z.coerce.number() });

/** Bytes of a merged row, all told and by column; columns have none of their own in small parts. */
const measure = async (clickhouse: Clickhouse, table: string, shape: Shape) => {
  const settings = { max_partitions_per_insert_block: 0 };
  await clickhouse.run(`ALTER TABLE otel.${table} MODIFY SETTING min_bytes_for_wide_part = 0`);
  await clickhouse.run(`TRUNCATE TABLE otel.${table}`);
  await clickhouse.run(insertOf(table, shape), { timeoutMs: 600_000, settings });
  await clickhouse.run(`OPTIMIZE TABLE otel.${table} FINAL`, { timeoutMs: 600_000 });
  const of = "WHERE database = 'otel' AND active AND table = {table:String}";
  const [parts] = await clickhouse.rows(
    partsRow,
    `SELECT sum(rows) AS rows, sum(bytes_on_disk) AS bytes FROM system.parts ${of}`,
    { params: { table } },
  );
  const columns = await clickhouse.rows(
    columnRow,
    `SELECT column, sum(column_bytes_on_disk) AS bytes FROM system.parts_columns ${of} GROUP BY column ORDER BY bytes DESC`,
    { params: { table } },
  );
  if (parts === undefined || parts.rows !== lines) throw new Error(`${table} holds ${parts?.rows} rows`);
  const each = (bytes: number): number => Math.round((bytes / lines) * 100) / 100;
  return {
    bytes: each(parts.bytes),
    columns: Object.fromEntries(columns.map(({ column, bytes }) => [column, each(bytes)])),
  };
};

const engines = await startEngines({ clickhouse: true });
try {
  await makeTables(engines.clickhouse.url);
  const clickhouse = createClickhouse({ url: engines.clickhouse.url });
  const folder = join(import.meta.dirname, '../schemas/sql/clickhouse');
  const earlier = readFileSync(join(folder, '004_ingest_outcomes.sql'), 'utf8');
  await clickhouse.run(earlier.replace('otel.ingest_outcomes', 'otel.earlier_outcomes'));
  const print = (found: object): boolean => process.stdout.write(`${JSON.stringify(found)}\n`);
  for (const [name, shape] of Object.entries(shapes)) {
    const before = await measure(clickhouse, 'earlier_outcomes', shape);
    const outcomes = await measure(clickhouse, 'ingest_outcomes', shape);
    const settled = await measure(clickhouse, 'ingest_settled', shape);
    for (const [table, found] of Object.entries({ before, outcomes, settled }))
      print({ name, table, ...found });
    const more = Math.round((outcomes.bytes + settled.bytes - before.bytes) * 100) / 100;
    print({ name, lines, before: before.bytes, now: outcomes.bytes + settled.bytes, more });
  }
  await clickhouse.close();
} finally {
  await engines.stop();
}
