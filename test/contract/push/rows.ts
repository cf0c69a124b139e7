import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { plainSuccess, repeatReply } from '../../support/push/replies.ts';
import { bodyOf, type PushStack, type StoredRow, sharedPushStack } from '../../support/push/stack.ts';
import type { Report } from '../../support/stack/stack.ts';

let on: PushStack;

beforeAll(async () => {
  on = await sharedPushStack();
});

const now = Date.now();
type Layout = 'wide' | 'narrow';
// What a wide table holds of each point is in schemas/examples/push.
const layouts: readonly Layout[] = ['narrow'];

const reportOf = (layout: Layout): Promise<Report> =>
  on.report({ is_split_measurement: layout === 'narrow' });

const withoutUid = (rows: readonly StoredRow[]): StoredRow[] => rows.map(({ uid: _, ...row }) => row);

/** The metrics of each stored point, in any layout: by timestamp. */
const metricsByTime = (
  rows: readonly StoredRow[],
  layout: Layout,
  fixed: readonly string[],
): Map<unknown, Record<string, unknown>> => {
  const points = new Map<unknown, Record<string, unknown>>();
  for (const row of rows) {
    const metrics = points.get(row['timestamp']) ?? {};
    points.set(row['timestamp'], metrics);
    if (layout === 'narrow') metrics[String(row['metric'])] = row['value'];
    else for (const [name, value] of Object.entries(row)) if (!fixed.includes(name)) metrics[name] = value;
  }
  return points;
};

describe.each(layouts)('the contents of a point (%s)', (layout) => {
  type Case = { what: string; point: Record<string, unknown>; stored: Record<string, unknown> };
  const odd = ' a,b=c\\"\'\n\r\t\u0001\u007fä漢😀 \\';
  const cases: Case[] = [
    {
      what: 'the alias dimensions',
      point: { dimensions: { module: 'db' } },
      stored: { target: '', module: 'db' },
    },
    {
      what: 'dimension and dimensions: the first counts',
      point: { dimension: { a: '1' }, dimensions: { b: '2' } },
      stored: { target: '', a: '1' },
    },
    { what: 'no dimension', point: {}, stored: { target: '' } },
    { what: 'dimension null', point: { dimension: null }, stored: { target: '' } },
    {
      what: 'dimensions that are numbers, booleans and null',
      point: { dimension: { i: 7, f: -1.5, big: 1e21, yes: true, no: false, nothing: null } },
      stored: { target: '', i: '7', f: '-1.5', big: '1e+21', yes: 'true', no: 'false' },
    },
    { what: 'an empty dimension', point: { dimension: { a: '' } }, stored: { target: '', a: '' } },
    {
      what: 'a dimension and a target of any characters',
      point: { dimension: { a: odd }, target: odd },
      stored: { target: odd, a: odd },
    },
    {
      what: 'a long dimension',
      point: { dimension: { a: 'x'.repeat(20_000) } },
      stored: { target: '', a: 'x'.repeat(20_000) },
    },
    { what: 'a target that is a number', point: { target: 127 }, stored: { target: '127' } },
    { what: 'a target that is null', point: { target: null }, stored: { target: '' } },
    { what: 'a target that is empty', point: { target: '' }, stored: { target: '' } },
    {
      what: 'a dimension called target',
      point: { target: 't', dimension: { target: 'd' } },
      stored: { target: 't', target__2: 'd' },
    },
    {
      what: 'dimensions called like the columns that every table has',
      point: { dimension: { timestamp: 'a', UID: 'b', metric: 'c', value: 'd', more_dimensions: 'e' } },
      stored: {
        target: '',
        timestamp__2: 'a',
        UID__2: 'b',
        metric__2: 'c',
        value__2: 'd',
        more_dimensions__2: 'e',
      },
    },
    {
      what: 'names of 100 characters',
      point: { dimension: { ['d'.repeat(100)]: 'x' } },
      stored: { target: '', ['d'.repeat(100)]: 'x' },
    },
    {
      what: 'a dimension called __proto__',
      point: JSON.parse('{"dimension":{"__proto__":"x"}}'),
      stored: JSON.parse('{"target":"","__proto__":"x"}'),
    },
    { what: 'fields that nobody asked for', point: { value: 5, access_token: 'x' }, stored: { target: '' } },
  ];

  it.each(cases)('$what', async ({ point, stored }) => {
    const report = await reportOf(layout);
    const answer = await on.push(report, [{ metrics: { m: 1 }, timestamp: now, ...point }]);
    expect(answer.text).toBe(plainSuccess);
    const metric = layout === 'wide' ? { m: 1 } : { metric: 'm', value: 1 };
    const [row = {}, ...more] = withoutUid(await on.storedRows(report));
    const sorted = (fields: object): [string, unknown][] =>
      Object.entries(fields).toSorted(([a], [b]) => (a < b ? -1 : 1));
    expect(sorted(row)).toEqual(sorted({ ...metric, timestamp: now, ...stored }));
    expect(more).toEqual([]);
  });

  it('doubles, to the bit', async () => {
    const values = [
      0,
      -0,
      0.1,
      1 / 3,
      -1.5,
      5e-324,
      2.2250738585072014e-308,
      Number.MAX_VALUE,
      1e21,
      1e-7,
      2 ** 53,
      -(2 ** 63),
      123456789012345680000,
    ];
    const report = await reportOf(layout);
    const data = values.map((m, index) => ({ metrics: { m }, timestamp: now + index }));
    expect((await on.push(report, data)).text).toBe(plainSuccess);
    const points = metricsByTime(await on.storedRows(report), layout, ['timestamp', 'uid', 'target']);
    expect(values.map((_, index) => points.get(now + index)?.['m'])).toEqual(values);
  });

  it('integers beyond 2^53 become the nearest double, and the answer says so', async () => {
    const report = await reportOf(layout);
    const body = bodyOf(report, [{ metrics: { m: 1 }, timestamp: now }]).replace(
      '"m":1',
      '"m":9223372036854775807',
    );
    expect((await on.send({ body })).json).toMatchObject({ result: 'true', values_rounded: 1 });
    expect(
      metricsByTime(await on.storedRows(report), layout, ['timestamp', 'uid', 'target']).get(now),
    ).toEqual({ m: 2 ** 63 });
  });

  it.each([
    ['absent', undefined],
    ['null', null],
  ])('no timestamp (%s): it has the time of its arrival', async (_, timestamp) => {
    const report = await reportOf(layout);
    const before = Date.now();
    expect(
      (
        await on.push(report, [
          { metrics: { m: 1 }, timestamp },
          { metrics: { m: 2 }, timestamp },
        ])
      ).text,
    ).toBe(plainSuccess);
    const after = Date.now();
    const times = (await on.storedRows(report)).map((row) => Number(row['timestamp']));
    expect(times).toHaveLength(2);
    expect(new Set(times).size).toBe(1);
    for (const time of times) {
      expect(time).toBeGreaterThanOrEqual(before);
      expect(time).toBeLessThanOrEqual(after);
    }
  });
});

describe('names that QuestDB would mix up', () => {
  it('are shared by processes that see them first at the same time', async () => {
    const report = await reportOf('wide');
    const spellings = ['load', 'LOAD', 'Load', 'lOAD', 'loaD'];
    const answers = await Promise.all(
      spellings.flatMap((name, index) => [
        on.push(report, [{ metrics: { [name]: index }, timestamp: now + index }]),
        on.push(report, [{ metrics: { [name]: index }, timestamp: now + 100 + index }]),
      ]),
    );
    expect(new Set(answers.map(({ text }) => text))).toEqual(new Set([plainSuccess]));
    const rows = await on.storedRows(report);
    const columns = new Map<unknown, string[]>();
    for (const { uid: _uid, timestamp: _timestamp, target: _target, ...metrics } of rows) {
      const [column = ''] = Object.keys(metrics);
      const value = metrics[column];
      columns.set(value, [...(columns.get(value) ?? []), column]);
    }
    expect([...columns.keys()].toSorted()).toEqual([0, 1, 2, 3, 4]);
    const pairs = [...columns.values()];
    expect(pairs.map((pair) => new Set(pair).size)).toEqual([1, 1, 1, 1, 1]);
    expect(new Set(pairs.map(([column = '']) => column.toLowerCase())).size).toBe(5);
  });
});

describe.each(layouts)('the same request again (%s)', (layout) => {
  const data = [
    { metrics: { a: 1, b: 2 }, timestamp: now },
    { metrics: { a: 3 }, target: 't', timestamp: now },
  ];
  const rowsOnce = layout === 'wide' ? 2 : 3;
  const key = { 'Idempotency-Key': 'batch-1' };

  const duplicates = async (): Promise<number> => {
    const text = (await on.stack.ingress[0]?.metrics()) ?? '';
    return Number(/^tidemark_ingress_duplicate_requests_total\S* (\d+)/m.exec(text)?.[1] ?? 0);
  };

  it('with its Idempotency-Key is answered as a repeat and stored once', async () => {
    const report = await reportOf(layout);
    const before = await duplicates();
    const answers: unknown[] = [];
    for (let count = 0; count < 3; count++) answers.push((await on.push(report, data, key)).json);
    expect(answers).toEqual([JSON.parse(plainSuccess), repeatReply, repeatReply]);
    expect(await on.storedRows(report)).toHaveLength(rowsOnce);
    expect(await duplicates()).toBe(before + 2);
  });

  it('at the same time on several connections is stored once', async () => {
    const report = await reportOf(layout);
    const answers = await Promise.all(Array.from({ length: 8 }, () => on.push(report, data, key)));
    for (const { json } of answers) expect([JSON.parse(plainSuccess), repeatReply]).toContainEqual(json);
    expect(await on.storedRows(report)).toHaveLength(rowsOnce);
  });

  it('in another encoding is the same request', async () => {
    const report = await reportOf(layout);
    expect((await on.push(report, data, key)).text).toBe(plainSuccess);
    const body = gzipSync(bodyOf(report, data));
    expect((await on.send({ headers: { ...key, 'Content-Encoding': 'gzip' }, body })).json).toEqual(
      repeatReply,
    );
    expect(await on.storedRows(report)).toHaveLength(rowsOnce);
  });

  it('so large that it takes several messages is stored once', async () => {
    const report = await reportOf(layout);
    const many = Array.from({ length: 3000 }, (_, index) => ({
      metrics: { a: index, b: 2 },
      target: 'x'.repeat(400),
      timestamp: now + index,
    }));
    expect((await on.push(report, many, key)).text).toBe(plainSuccess);
    expect((await on.push(report, many, key)).json).toEqual(repeatReply);
    expect(await on.storedRows(report)).toHaveLength(layout === 'wide' ? 3000 : 6000);
  });

  const stranger: [string, Record<string, string>, readonly unknown[]][] = [
    ['with another key', { 'Idempotency-Key': 'batch-2' }, data],
    ['with another body under the same key', key, [...data.slice(0, 1), { ...data[1], target: 'u' }]],
    ['without the key', {}, data],
    ['with an empty key', { 'Idempotency-Key': '' }, data],
  ];

  // A key that is used again for other points must not cost them, and equal heartbeats without one are legal.
  it.each(stranger)('%s is another request and stored beside it', async (_, headers, again) => {
    const report = await reportOf(layout);
    expect((await on.push(report, data, key)).text).toBe(plainSuccess);
    expect((await on.push(report, again, headers)).text).toBe(plainSuccess);
    expect(await on.storedRows(report)).toHaveLength(2 * rowsOnce);
  });

  it('without a key is stored as often as it came', async () => {
    const report = await reportOf(layout);
    for (let count = 0; count < 3; count++) expect((await on.push(report, data)).text).toBe(plainSuccess);
    expect(await on.storedRows(report)).toHaveLength(3 * rowsOnce);
  });

  it('under the key of another data id is stored for both', async () => {
    const reports = [await reportOf(layout), await reportOf(layout)];
    for (const report of reports) expect((await on.push(report, data, key)).text).toBe(plainSuccess);
    for (const report of reports) expect(await on.storedRows(report)).toHaveLength(rowsOnce);
  });

  it('in which a point has no timestamp drops that point alone', async () => {
    const report = await reportOf(layout);
    const points = [...data, { metrics: { a: 4 } }];
    const answer = await on.push(report, points, key);
    expect(answer.json).toMatchObject({ accepted: 2, dropped: { timestamp_required_with_key: 1 } });
    expect((await on.push(report, points, key)).json).toEqual(repeatReply);
    expect(await on.storedRows(report)).toHaveLength(rowsOnce);
  });

  it('is given the same uids', async () => {
    const report = await reportOf(layout);
    await on.push(report, data, key);
    const first = await on.storedRows(report);
    // With bit 62 the uid comes from the identity (architecture 5.1).
    for (const { uid } of first) expect(BigInt(String(uid)) >= 2n ** 62n).toBe(true);
    await on.push(report, data, key);
    expect(await on.storedRows(report)).toEqual(first);
  });
});
