import type { BatchBounds } from '../../../src/stores/clickhouse/block-statements.ts';
import type { TraceTimes } from '../../../src/stores/clickhouse/block-writer.ts';
import { fetchEngine } from '../stack/fetch-engine.ts';

/** Spans made by arithmetic: the one with number `n` (0 to count − 1) has uid `first + n` and starts `stepNs` after the one before. */
export type SpanRows = {
  readonly first: bigint;
  readonly count: number;
  readonly startNs: bigint;
  readonly stepNs: bigint;
};

const services = ['checkout', 'it\'s \\a\\ "name"', '支付 ☃', '', 'a\tb\nc'];
const operations = ['GET /', 'POST /pay', "DROP TABLE 'x'", 'op'];
const spansPerTrace = 10;

const literal = (text: string): string => `unhex('${Buffer.from(text).toString('hex')}')`;
const oneOf = (texts: readonly string[], index: string): string =>
  `arrayElement([${texts.map(literal).join(', ')}], ${index} % ${texts.length} + 1)`;

/** A query that answers these rows with the columns of otel.otel_traces, texts and maps in their plain types. */
export const spanSelect = ({ first, count, startNs, stepNs }: SpanRows): string => `
  SELECT
    fromUnixTimestamp64Nano(toInt64(${startNs}) + toInt64(number) * ${stepNs}) AS Timestamp,
    lower(hex(MD5(toString(intDiv(${first} + number, ${spansPerTrace}))))) AS TraceId,
    lower(hex(toUInt64(${first} + number + 1))) AS SpanId,
    if(number % ${spansPerTrace} = 0, '', lower(hex(toUInt64(${first} + number)))) AS ParentSpanId,
    'k=v' AS TraceState,
    ${oneOf(operations, 'number')} AS SpanName,
    'Server' AS SpanKind,
    ${oneOf(services, 'number')} AS ServiceName,
    map('service.name', ${oneOf(services, 'number')}, 'host.name', 'h1') AS ResourceAttributes,
    'scope' AS ScopeName,
    '1.0' AS ScopeVersion,
    map('n', toString(number)) AS SpanAttributes,
    toUInt64(1000000 + number) AS Duration,
    if(number % 4 = 0, 'Error', 'Unset') AS StatusCode,
    '' AS StatusMessage,
    [Timestamp] AS \`Events.Timestamp\`,
    ['exception'] AS \`Events.Name\`,
    [map('exception.type', 'E')] AS \`Events.Attributes\`,
    ['${'0'.repeat(31)}1'] AS \`Links.TraceId\`,
    ['${'0'.repeat(15)}1'] AS \`Links.SpanId\`,
    [''] AS \`Links.TraceState\`,
    [map('l', '1')] AS \`Links.Attributes\`,
    toUInt64(${first} + number) AS uid,
    toInt64(7) AS AppId,
    toInt64(-2) AS BizId,
    fromUnixTimestamp64Milli(toInt64(${startNs / 1_000_000n})) AS ArrivedAt
  FROM numbers(${count})`;

/** The answer of a query as blocks of FORMAT Native, one after another. */
export const nativeOf = async (url: string, query: string, rowsPerBlock = 500): Promise<Uint8Array> => {
  const body = `${query} FORMAT Native SETTINGS max_block_size = ${rowsPerBlock}`;
  const response = await fetchEngine(url, { method: 'POST', body });
  if (!response.ok) throw new Error(await response.text());
  return new Uint8Array(await response.arrayBuffer());
};

/** The keys of these rows for the guard. */
export const boundsOf = ({ first, count, startNs, stepNs }: SpanRows): BatchBounds => ({
  uidRanges: [[first, first + BigInt(count - 1)]],
  timeMin: startNs,
  timeMax: startNs + BigInt(count - 1) * stepNs,
  names: services.flatMap((service) => operations.map((operation) => [service, operation] as const)),
});

/** The traces of these rows by number, as the lookup has them; ids are read from ClickHouse. */
export const tracesOf = async (url: string, rows: SpanRows): Promise<TraceTimes[]> => {
  const body =
    'SELECT TraceId, toString(toUnixTimestamp64Nano(min(Timestamp))), toString(toUnixTimestamp64Nano(max(Timestamp))) ' +
    `FROM (${spanSelect(rows)}) GROUP BY TraceId ORDER BY TraceId FORMAT TSV`;
  const text = await (await fetchEngine(url, { method: 'POST', body })).text();
  return text
    .trim()
    .split('\n')
    .map((line) => {
      const [traceId = '', min = '', max = ''] = line.split('\t');
      return { traceId, min: BigInt(min), max: BigInt(max) };
    });
};
