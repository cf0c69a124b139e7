import { parseArgs } from 'node:util';
import { createBlockWriter } from '../src/stores/clickhouse/block-writer.ts';
import { createClickhouse } from '../src/stores/clickhouse/client.ts';
import { itemTables, spansTable } from '../src/stores/clickhouse/item-tables.ts';
import { migrate } from '../src/stores/clickhouse/migrate.ts';
import { insertId } from '../src/stores/clickhouse/query-id.ts';
import { createLog } from '../src/telemetry/log.ts';
import { dataPointBounds, dataPointColumns, dataPointSelect } from '../test/support/otlp/made-data-points.ts';
import { boundsOf, nativeOf, spanSelect } from '../test/support/otlp/span-rows.ts';
import { startEngines } from '../test/support/stack/engines.ts';
import { fetchEngine } from '../test/support/stack/fetch-engine.ts';

// The cost of the guard: inserts of new and of stored rows into a table with this many rows, with uids hashed like those of OTLP
// requests.
const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '2000000' },
    // Spans of a request: their uids follow each other.
    request: { type: 'string', default: '100' },
    insert: { type: 'string', default: '5000' },
    times: { type: 'string', default: '15' },
    // otel_traces, or a table of data points.
    table: { type: 'string', default: 'otel_traces' },
  },
});
const tableRows = Number(values.rows);
const requestRows = Number(values.request);
const insertRows = Number(values.insert);
const times = Number(values.times);

/** All rows start within an hour of one day. */
const startNs = BigInt(Date.UTC(2026, 0, 5, 10)) * 1_000_000n;
const stepNs = 3_600_000_000_000n / BigInt(tableRows);

const table = itemTables.find(({ name }) => name === values.table && name !== 'otel_logs');
if (table === undefined) throw new Error(`no table ${values.table} for this bench`);
const isOfSpans = table === spansTable;
const place = `otel.${table.name}`;

/** Rows from this number on, each request's uids beginning at a hash with bit 62 set. */
const hashedRows = (first: number, count: number) => {
  const from = isOfSpans ? 0 : first;
  const rows = { first: BigInt(from), count, startNs: startNs + BigInt(first) * stepNs, stepNs };
  const uid = `bitOr(bitShiftLeft(toUInt64(1), 62), cityHash64(intDiv(${first} + number, ${requestRows})) % toUInt64(4e18))
    + (${first} + number) % ${requestRows}`;
  const select = isOfSpans ? spanSelect(rows) : dataPointSelect(rows);
  return { rows, select: select.replace(`toUInt64(${from} + number) AS uid`, `toUInt64(${uid}) AS uid`) };
};

await using engines = await startEngines({ clickhouse: true });
const { url } = engines.clickhouse;
const clickhouse = createClickhouse({ url });
const folder = new URL('../schemas/sql/clickhouse', import.meta.url).pathname;
await migrate({ clickhouse, folder, log: createLog('bench', 'silent') });
const writer = createBlockWriter(clickhouse, table, { insertMsMax: 60_000 });

const fillRows = 200_000;
for (let first = 0; first < tableRows; first += fillRows) {
  const { select } = hashedRows(first, Math.min(fillRows, tableRows - first));
  const columns = isOfSpans ? '' : `(${dataPointColumns})`;
  await clickhouse.run(`INSERT INTO ${place} ${columns} SELECT * FROM (${select})`, { timeoutMs: 120_000 });
}

const answered = async (query: string): Promise<string[][]> => {
  const response = await fetchEngine(url, { method: 'POST', body: `${query} FORMAT TSV` });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return text
    .trim()
    .split('\n')
    .map((line) => line.split('\t'));
};

let attempt = 0;
const queryId = (): string => insertId({ stream: 'TRACES', first: 1, last: 1, boot: 1, attempt: ++attempt });

type Kind = 'plain' | 'guarded, all new' | 'guarded, all stored';

/** Milliseconds of one insert, without the time to build its rows. */
const insertOnce = async (kind: Kind, first: number): Promise<number> => {
  const { rows, select } = hashedRows(first, insertRows);
  const blocks = [await nativeOf(url, select)];
  const uidRanges = (
    await answered(
      `SELECT min(uid), max(uid) FROM (${select}) GROUP BY intDiv(rowNumberInAllBlocks(), ${requestRows})`,
    )
  ).map(([min = '', max = '']): [string, string] => [min, max]);
  const startedAt = performance.now();
  if (kind === 'plain') await writer.insertPlain({ queryId: queryId(), blocks });
  else {
    await writer.killCovering({ stream: 'TRACES', firstSequence: 1, lastSequence: 1 });
    await writer.insertGuarded({
      queryId: queryId(),
      blocks,
      ...(isOfSpans ? boundsOf(rows) : dataPointBounds(rows)),
      uidRanges,
    });
  }
  return performance.now() - startedAt;
};

const median = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;

let next = tableRows;
for (const kind of ['plain', 'guarded, all new', 'guarded, all stored'] as const) {
  const taken: number[] = [];
  for (let index = 0; index < times; index++) {
    const isStored = kind === 'guarded, all stored';
    const first = isStored ? Math.floor((tableRows / (times + 1)) * (index + 1)) : next;
    const aligned = first - (first % requestRows);
    if (!isStored) next += insertRows;
    taken.push(await insertOnce(kind, aligned));
  }
  const [[count = ''] = []] = await answered(`SELECT count() - uniqExact(uid) FROM ${place}`);
  const line = {
    guard: kind,
    table: table.name,
    table_rows: tableRows,
    insert_rows: insertRows,
    request_rows: requestRows,
    median_ms: Number(median(taken).toFixed(1)),
    max_ms: Number(Math.max(...taken).toFixed(1)),
    stored_twice: Number(count),
  };
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
await clickhouse.close();
