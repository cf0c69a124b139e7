import { Readable } from 'node:stream';
import { type ClickHouseClient, createClient } from '@clickhouse/client';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRandom } from '../../bench/bodies.ts';
import { spanRequest } from '../../bench/span-bodies.ts';
import { countedBase } from '../../src/model/uid.ts';
import { dataPointTables } from '../../src/stores/clickhouse/item-tables.ts';
import { mergeBlocks } from '../../src/wire/native/block-merger.ts';
import { logColumns } from '../../src/wire/native/log-columns.ts';
import { spanColumns } from '../../src/wire/native/span-columns.ts';
import type { EncodedItems } from '../../src/wire/otlp/types.ts';
import { anyLogsRequest } from '../support/otlp/log-requests.ts';
import { encodeLogsOfJson, encodeLogsOfProtobuf } from '../support/otlp/log-source.ts';
import { anyMetricsRequest } from '../support/otlp/metric-requests.ts';
import {
  asJsonEachRow,
  encodeMetricsOfJson,
  encodeMetricsOfProtobuf,
} from '../support/otlp/metric-source.ts';
import { plainLogRows } from '../support/otlp/plain/log-twin.ts';
import { plainDataPointRows } from '../support/otlp/plain/metric-twin.ts';
import { twinOf } from '../support/otlp/plain/twin.ts';
import { encodeOtlpJson, type OtlpRequest } from '../support/otlp/protobuf.ts';
import { anyRequest } from '../support/otlp/requests.ts';
import { rowsOfTraces, type SpanRow } from '../support/otlp/span-blocks.ts';
import {
  arrivedAt,
  contextWith,
  encodeJson,
  encodeProtobuf,
  goodSpan,
  owner,
  requestOf,
} from '../support/otlp/trace-source.ts';
import { withoutRows } from '../support/otlp/without-rows.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';

const structureOf = (columns: readonly { readonly name: string; readonly type: string }[]): string =>
  columns.map(({ name, type }) => `\`${name}\` ${type}`).join(', ');

const structure = structureOf(spanColumns);
const spanTable = { structure, order: 'ServiceName, SpanName, toDateTime(Timestamp)', time: 'Timestamp' };
const logTable = {
  structure: structureOf(logColumns),
  order: 'ServiceName, TimestampTime, Timestamp',
  time: 'Timestamp',
};

let engines: TestEngines;
let client: ClickHouseClient;

beforeAll(async () => {
  engines = await startEngines({ clickhouse: true });
  client = createClient({
    url: engines.clickhouse.url,
    clickhouse_settings: { async_insert: 0, input_format_skip_unknown_fields: 0 },
  });
  await client.command({ query: 'CREATE DATABASE native' });
});
afterAll(async () => {
  await client?.close();
  await engines?.stop();
});

const createTable = async (name: string, of = spanTable): Promise<string> => {
  await client.command({
    query:
      `CREATE TABLE native.${name} (${of.structure}) ENGINE = ReplacingMergeTree PARTITION BY toDate(${of.time}) ` +
      `ORDER BY (${of.order}, uid)`,
  });
  await client.command({ query: `SYSTEM STOP MERGES native.${name}` });
  return `native.${name}`;
};

const insert = async (query: string, blocks: readonly Uint8Array[]): Promise<void> => {
  const { stream } = await client.exec({ query: `${query} FORMAT Native`, values: Readable.from(blocks) });
  for await (const chunk of stream) void chunk;
};

const blocksOf = (encoded: readonly EncodedItems[]): Uint8Array[] =>
  encoded.flatMap(({ runs }) => runs.flatMap(({ parts }) => parts.map(({ block }) => block)));

const select = async (query: string): Promise<Record<string, unknown>[]> => {
  const result = await client.query({
    query,
    format: 'JSONEachRow',
    clickhouse_settings: {
      output_format_json_quote_64bit_integers: 1,
      output_format_json_quote_denormals: 1,
    },
  });
  return result.json();
};

const secondsOf = (nanos: unknown): string => {
  const text = String(nanos).padStart(19, '0');
  return `${text.slice(0, -9)}.${text.slice(-9)}`;
};

/** The row as JSONEachRow takes it. */
const asJson = (row: SpanRow): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => {
      if (name === 'Timestamp' || name === 'ObservedTimestamp') return [name, secondsOf(value)];
      if (name === 'ArrivedAt') return [name, secondsOf(BigInt(String(value)) * 1_000_000n)];
      if (name === 'Events.Timestamp' && Array.isArray(value)) return [name, value.map(secondsOf)];
      if (typeof value === 'bigint') return [name, String(value)];
      if (name.endsWith('s.Attributes') && Array.isArray(value))
        return [name, value.map((pairs) => Object.fromEntries(pairs))];
      if (name.endsWith('Attributes') && Array.isArray(value)) return [name, Object.fromEntries(value)];
      return [name, value];
    }),
  );

// The table is the contract: what a block means is what ClickHouse makes of it, not what our own reader does.
describe('blocks of FORMAT Native in ClickHouse', () => {
  /** Requests with everything OTLP allows, each with uids of its own. */
  const requests = fc.sample(anyRequest, { numRuns: 150, seed: 20_261_121 });
  const contexts = requests.map((_, index) =>
    contextWith({
      base: countedBase(9, index * 1000),
      resolve: () => ({ ...owner, bizId: -7, fillDimensions: true }),
    }),
  );
  const rows = requests.flatMap(
    (request, index) => twinOf.json(encodeOtlpJson(request), contexts[index] ?? contextWith()).rows,
  );

  it.each([
    ['JSON', encodeJson, false],
    ['protobuf', encodeProtobuf, false],
    ['merged', encodeProtobuf, true],
  ] as const)(
    'are the rows that JSONEachRow would have been, column by column (%s)',
    async (name, encode, asMerged) => {
      const table = await createTable(`of_${name.toLowerCase()}`);
      const expected = await createTable(`expected_${name.toLowerCase()}`);
      const encoded = requests.map((request: OtlpRequest, index) => encode(request, contexts[index]));
      const blocks = blocksOf(encoded);
      const merged = mergeBlocks(blocks, { rowsMax: 500, bytesMax: 2 ** 20 });
      expect(merged.length).toBeLessThan(blocks.length / 5);
      await insert(`INSERT INTO ${table}`, asMerged ? merged : blocks);
      await client.insert({ table: expected, values: rows.map(asJson), format: 'JSONEachRow' });
      const [stored, wanted] = await Promise.all(
        [table, expected].map((from) => select(`SELECT * FROM ${from} ORDER BY uid`)),
      );
      expect(stored).toHaveLength(rows.length);
      expect(rows.length).toBeGreaterThan(100);
      for (const [index, row] of (wanted ?? []).entries()) expect(stored?.[index]).toEqual(row);
    },
  );

  const logRequests = fc.sample(anyLogsRequest, { numRuns: 150, seed: 20_261_123 });

  it.each([
    ['JSON', encodeLogsOfJson, false],
    ['protobuf', encodeLogsOfProtobuf, false],
    ['merged', encodeLogsOfProtobuf, true],
  ] as const)('are the same of log records (%s)', async (name, encode, asMerged) => {
    const table = await createTable(`logs_of_${name.toLowerCase()}`, logTable);
    const expected = await createTable(`logs_expected_${name.toLowerCase()}`, logTable);
    const encoded = logRequests.map((request, index) => encode(request, contexts[index]));
    const plainRows = logRequests.flatMap((request, index) =>
      plainLogRows(Buffer.from(JSON.stringify(request)), contexts[index] ?? contextWith()),
    );
    const blocks = blocksOf(encoded);
    const merged = mergeBlocks(blocks, { rowsMax: 500, bytesMax: 2 ** 20 });
    await insert(`INSERT INTO ${table}`, asMerged ? merged : blocks);
    await client.insert({ table: expected, values: plainRows.map(asJson), format: 'JSONEachRow' });
    const [stored, wanted] = await Promise.all(
      [table, expected].map((from) => select(`SELECT * FROM ${from} ORDER BY uid`)),
    );
    expect(plainRows.length).toBeGreaterThan(100);
    expect(stored).toHaveLength(plainRows.length);
    for (const [index, row] of (wanted ?? []).entries()) expect(stored?.[index]).toEqual(row);
  });

  const metricRequests = fc.sample(anyMetricsRequest, { numRuns: 400, seed: 20_261_124 });
  const metricContexts = metricRequests.map((_, index) =>
    contextWith({ base: countedBase(9, index * 1000) }),
  );
  const dataPointRows = metricRequests.flatMap((request, index) =>
    plainDataPointRows(Buffer.from(JSON.stringify(request)), metricContexts[index] ?? contextWith()),
  );

  describe.each(dataPointTables)('of $name', ({ name, columns }) => {
    it.each([
      ['json', encodeMetricsOfJson, false],
      ['protobuf', encodeMetricsOfProtobuf, false],
      ['merged', encodeMetricsOfProtobuf, true],
    ] as const)('are the same of data points (%s)', async (way, encode, asMerged) => {
      const of = {
        structure: structureOf(columns),
        order: 'MetricName, ServiceName, TimeUnix',
        time: 'TimeUnix',
      };
      const table = await createTable(`${name}_of_${way}`, of);
      const expected = await createTable(`${name}_expected_${way}`, of);
      const blocks = metricRequests.flatMap((request, index) =>
        encode(request, metricContexts[index]).runs.flatMap(({ parts }) =>
          parts.filter(({ itemTable }) => itemTable === name).map(({ block }) => block),
        ),
      );
      const wantedRows = dataPointRows.filter((row) => row['table'] === name);
      const merged = mergeBlocks(blocks, { rowsMax: 500, bytesMax: 2 ** 20 });
      await insert(`INSERT INTO ${table}`, asMerged ? merged : blocks);
      await client.insert({ table: expected, values: wantedRows.map(asJsonEachRow), format: 'JSONEachRow' });
      const rowsIn = (from: string) => select(`SELECT * FROM ${from} ORDER BY uid`);
      const [stored, wanted] = await Promise.all([rowsIn(table), rowsIn(expected)]);
      expect(wantedRows.length).toBeGreaterThan(30);
      expect(merged.length).toBeLessThan(blocks.length / 5);
      expect(stored).toHaveLength(wantedRows.length);
      for (const [index, row] of (wanted ?? []).entries()) expect(stored?.[index]).toEqual(row);
    });
  });

  it('become one part, a hundred of them in one INSERT, with and without events', async () => {
    const table = await createTable('one_part');
    const random = createRandom(5);
    const nowMs = arrivedAt;
    const encoded = Array.from({ length: 99 }, (_, index) =>
      encodeProtobuf(spanRequest(random, 50, nowMs), contextWith({ base: countedBase(1, index * 1000) })),
    );
    const event = { timeUnixNano: goodSpan.startTimeUnixNano, name: 'e' };
    encoded.splice(
      50,
      0,
      encodeJson(requestOf({ ...goodSpan, events: [event] }), contextWith({ base: countedBase(2, 0) })),
    );
    await insert(`INSERT INTO ${table}`, blocksOf(encoded));
    const parts =
      "SELECT count() AS parts, toUInt32(sum(rows)) AS rows FROM system.parts WHERE active AND database = 'native' AND table = 'one_part'";
    expect(await select(parts)).toEqual([{ parts: '1', rows: 99 * 50 + 1 }]);
    expect(await select(`SELECT uid, \`Events.Name\` AS names FROM ${table} WHERE notEmpty(names)`)).toEqual([
      { uid: countedBase(2, 0).text, names: ['e'] },
    ]);
  });

  it('pass the guard, which omits stored rows', async () => {
    const table = await createTable('guarded');
    const random = createRandom(6);
    const encoded = [0, 1, 2].map((index) =>
      encodeProtobuf(spanRequest(random, 40, arrivedAt), contextWith({ base: countedBase(3, index * 1000) })),
    );
    const blocks = blocksOf(encoded);
    await insert(`INSERT INTO ${table}`, blocks.slice(1, 2));
    await insert(
      `INSERT INTO ${table} SELECT * FROM input('${structure}') WHERE uid NOT IN (SELECT uid FROM ${table})`,
      blocks,
    );
    const uids = await select(`SELECT uid FROM ${table} ORDER BY uid`);
    expect(uids.map(({ uid }) => uid)).toEqual(encoded.flatMap(rowsOfTraces).map(({ uid }) => String(uid)));
  });

  it('without some of their rows are the others', async () => {
    const table = await createTable('fewer');
    const [block] = blocksOf([encodeProtobuf(spanRequest(createRandom(7), 40, arrivedAt))]);
    const dropped = new Set([0, 7, 8, 39]);
    const fewer = withoutRows(block ?? new Uint8Array(0), dropped);
    await insert(`INSERT INTO ${table}`, [fewer ?? new Uint8Array(0)]);
    const base = BigInt(contextWith().base.text);
    const expected = Array.from({ length: 40 }, (_, ordinal) => ordinal)
      .filter((ordinal) => !dropped.has(ordinal))
      .map((ordinal) => String(base + BigInt(ordinal)));
    expect((await select(`SELECT uid FROM ${table} ORDER BY uid`)).map(({ uid }) => uid)).toEqual(expected);
  });
});
