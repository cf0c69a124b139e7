import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { logsSql } from '../../src/metadata/explore/log-sql.ts';
import { type Clickhouse, createClickhouse } from '../../src/stores/clickhouse/client.ts';
import { type ClickhouseReader, createClickhouseReader } from '../../src/stores/clickhouse/reader.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';

let engines: TestEngines;
let clickhouse: Clickhouse;
let reader: ClickhouseReader;

const second = 1_795_000_000;
const bounds = { timeoutMs: 60_000, signal: new AbortController().signal };

const bodies = [
  'payment refused',
  'payment “refused”',
  'payment refused…',
  '支付失败，请重试',
  '支付失败',
  '请求refused了',
  'refused',
  'code=refused_by\nbank',
  'payment refusedly',
  'unrefused payment',
  'refused2',
  'a (refused) payment',
  'Grüße vom Café “Übung”',
  'timeout\u0000of 5 s',
  'C:\\tmp\\x {id:String} .* [a-z]+ ^$ | ?',
] as const;

beforeAll(async () => {
  engines = await startEngines({ clickhouse: true }, { hasTables: true });
  clickhouse = createClickhouse({ url: engines.clickhouse.url });
  reader = createClickhouseReader({ url: engines.clickhouse.url, isReader: false });
  const rows = bodies.map((body, index) =>
    JSON.stringify({
      Timestamp: `${second + index}.5`,
      TimestampTime: second + index,
      ServiceName: 'shop',
      Body: body,
      uid: String(index + 1),
    }),
  );
  await clickhouse.run(`INSERT INTO otel.otel_logs FORMAT JSONEachRow ${rows.join('\n')}`);
});
afterAll(async () => {
  await reader?.close();
  await clickhouse?.close();
  await engines?.stop();
});

const rowSchema = z.object({ body_shown: z.string() });

const searchOf = (text: string) =>
  logsSql(
    { applications: { without: [] }, text, attributes: [] },
    [BigInt(second) * 1_000_000_000n, BigInt(second + 100) * 1_000_000_000n],
    undefined,
    100,
  );

/** Bodies that a search finds, the oldest first. */
const found = async (text: string): Promise<string[]> => {
  const { sql, params } = searchOf(text);
  const { rows } = await reader.read(rowSchema, sql, params, bounds);
  return rows.map(({ body_shown: body }) => body).toReversed();
};

const without = (...left: (typeof bodies)[number][]): string[] =>
  bodies.filter((body) => body.includes('refused') && !left.includes(body));

describe('a text of log records', () => {
  it('is found beside signs and letters outside ASCII', async () => {
    expect(await found('refused')).toEqual(without('payment refusedly', 'unrefused payment', 'refused2'));
    expect(await found('“refused”')).toEqual(['payment “refused”']);
    expect(await found('payment “refused')).toEqual(['payment “refused”']);
    expect(await found('Café')).toEqual(['Grüße vom Café “Übung”']);
    expect(await found('Übung')).toEqual(['Grüße vom Café “Übung”']);
  });

  it('of a script without spaces is found wherever it stands', async () => {
    expect(await found('支付失败')).toEqual(['支付失败，请重试', '支付失败']);
    expect(await found('失败')).toEqual(['支付失败，请重试', '支付失败']);
    expect(await found('失败，请')).toEqual(['支付失败，请重试']);
    expect(await found('请求')).toEqual(['请求refused了']);
  });

  it('is no part of a word of letters and digits of ASCII', async () => {
    expect(await found('refuse')).toEqual([]);
    expect(await found('efused')).toEqual([]);
    expect(await found('bung')).toEqual(['Grüße vom Café “Übung”']);
    expect(await found('by\nban')).toEqual([]);
    expect(await found('by\nbank')).toEqual(['code=refused_by\nbank']);
    expect(await found('Refused')).toEqual([]);
  });

  it('is taken as it is, with any sign', async () => {
    for (const body of bodies) expect(await found(body)).toContain(body);
    expect(await found('timeout.of')).toEqual([]);
    expect(await found('timeout\u0000of')).toEqual(['timeout\u0000of 5 s']);
    expect(await found('timeout\u0000o')).toEqual([]);
    expect(await found('tmp\\x {id')).toEqual([bodies[14]]);
    expect(await found('x {id:String} .* [a')).toEqual([bodies[14]]);
    expect(await found('(ref|x)used')).toEqual([]);
  });

  it('reads the index of bodies for words between two signs of it', async () => {
    const plan = async (text: string): Promise<string> => {
      const { sql, params } = searchOf(text);
      const schema = z.record(z.string(), z.unknown());
      const { rows } = await reader.read(schema, `EXPLAIN indexes = 1 ${sql}`, params, bounds);
      return JSON.stringify(rows);
    };
    expect(await plan('a (refused) payment')).toContain('idx_body');
  });
});
