import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { logsSql } from '../../../../src/metadata/explore/log-sql.ts';
import { lastValuesSql, metricsSql } from '../../../../src/metadata/explore/metric-sql.ts';
import {
  aggregates,
  type Condition,
  extremesSql,
  groupCountSql,
  groupsSql,
  operators,
  type Place,
  type PointQuery,
  rawSql,
  seriesSql,
  valuesSql,
} from '../../../../src/metadata/explore/point-sql.ts';
import { redSeriesSql, redTotalsSql } from '../../../../src/metadata/explore/red-sql.ts';
import { nanosOf } from '../../../../src/metadata/explore/statement.ts';
import { findSql, spansSql, summarySql } from '../../../../src/metadata/explore/trace-sql.ts';
import { clickhouseLiteral, inlined } from '../../../../src/stores/clickhouse/literals.ts';
import { quoteLiteral } from '../../../../src/stores/questdb/sql.ts';
import { always, anyText, trickyText, validName } from '../../../support/properties.ts';

const everyone = { without: [1, 2] };
const hostile = fc.oneof(anyText(40), trickyText(`'"\\;-/*(){}[]$%?\n\r\t\u0000\u202e=`, 30));

/** The statement with each literal and each quoted identifier as one mark: what is left was written by the program. */
const skeleton = (sql: string, isBackslashed: boolean): string => {
  let out = '';
  for (let at = 0; at < sql.length; at++) {
    const quote = sql.charAt(at);
    if (quote !== "'" && quote !== '"') {
      out += quote;
      continue;
    }
    let end = at + 1;
    for (; end < sql.length; end++) {
      if (isBackslashed && sql.charAt(end) === '\\') end++;
      else if (sql.charAt(end) === quote) {
        if (isBackslashed || sql.charAt(end + 1) !== quote) break;
        end++;
      }
    }
    if (end >= sql.length) throw new Error(`a quote that never ends: ${sql}`);
    out += quote === "'" ? 'T' : 'N';
    at = end;
  }
  return out;
};

const value = fc.option(hostile, { nil: null });
const place: fc.Arbitrary<Place> = fc.oneof(
  fc.record({ column: validName(12) }),
  fc.record({ member: validName(12) }),
  fc.record({ column: validName(12), member: validName(12) }),
);
const condition: fc.Arbitrary<Condition> = fc.record({
  place,
  operator: fc.constantFrom(...operators),
  values: fc.array(value, { minLength: 1, maxLength: 3 }),
});
const named = fc.record({ name: validName(12), column: validName(12) });
const query: fc.Arbitrary<PointQuery> = fc.record({
  table: fc.constant('2_mon_time_series_1500001.__default__'),
  layout: fc.constantFrom('wide', 'narrow'),
  metrics: fc.array(named, { minLength: 1, maxLength: 4 }),
  aggregate: fc.constantFrom(...aggregates),
  filter: fc.array(condition, { maxLength: 3 }),
  groupBy: fc.array(place, { minLength: 1, maxLength: 2 }),
  period: fc.constant({ since: 1_800_000_000, until: 1_800_003_600 }),
  isScaled: fc.boolean(),
});

/** The same query whose values are all the same harmless letter. */
const harmless = (asked: PointQuery): PointQuery => ({
  ...asked,
  filter: asked.filter.map((each) => ({
    ...each,
    values: each.values.map((one) => (one === null ? null : 'a')),
  })),
});

describe('a statement for QuestDB', () => {
  it('has the same form for every value: no value leaves its quotes', () => {
    always(
      fc.property(
        query,
        fc.array(fc.array(value, { minLength: 2, maxLength: 2 }), { minLength: 1, maxLength: 4 }),
        (asked, groups) => {
          const plain = harmless(asked);
          // Equal values are named once, so different ones stay different.
          const all = [...new Set(groups.flat())];
          const plainGroups = groups.map((group) =>
            group.map((one) => (one === null ? null : `a${all.indexOf(one)}`)),
          );
          const pairs = [
            [groupsSql(asked, 21), groupsSql(plain, 21)],
            [groupCountSql(asked), groupCountSql(plain)],
            [seriesSql(asked, groups, 60), seriesSql(plain, plainGroups, 60)],
            [rawSql(asked, ['target'], 50), rawSql(plain, ['target'], 50)],
            [extremesSql(asked), extremesSql(plain)],
          ] as const;
          for (const [sql, expected] of pairs) expect(skeleton(sql, false)).toBe(skeleton(expected, false));
        },
      ),
    );
  });

  // The form of the check itself.
  it('of a value that is not escaped has another form', () => {
    const [text] = ["a' OR 'a' = 'a"];
    expect(skeleton(`x = '${text}'`, false)).not.toBe(skeleton("x = 'a'", false));
    expect(skeleton(`x = ${quoteLiteral(text ?? '')}`, false)).toBe(skeleton("x = 'a'", false));
    expect(skeleton("x = 'a\\'; DROP'", true)).toBe('x = T');
  });

  it('orders groups and values with equally many rows by their columns: the same ones are answered each time', () => {
    const period = { since: 1, until: 2 };
    const asked: PointQuery = {
      ...{
        table: 't',
        layout: 'wide',
        metrics: [{ name: 'cpu', column: 'cpu' }],
        aggregate: 'avg',
        filter: [],
      },
      ...{ groupBy: [{ column: 'host' }, { column: 'zone' }], period },
    };
    expect(groupsSql(asked, 21)).toMatch(/ ORDER BY "rows #" DESC, "host", "zone" LIMIT 21$/);
    expect(valuesSql({ table: 't', period }, { column: 'host' }, 11)).toMatch(
      / ORDER BY "rows #" DESC, "host" LIMIT 11$/,
    );
  });

  it('refuses a name that quotes cannot hold', () => {
    const period = { since: 1, until: 2 };
    for (const column of ['a"b', '', 'a\u0000', 'a\nb'])
      expect(() => valuesSql({ table: 't', period }, { column }, 10)).toThrow(/cannot be a name/);
    expect(() => valuesSql({ table: 'a"; DROP TABLE b; --', period }, { column: 'host' }, 10)).toThrow(
      /cannot be a name/,
    );
  });

  it('samples by calendar in the largest unit, for both layouts', () => {
    const wide: PointQuery = {
      table: 't.__default__',
      layout: 'wide',
      metrics: [{ name: 'cpu', column: 'cpu' }],
      aggregate: 'last',
      filter: [{ place: { column: 'host' }, operator: 'in', values: ["it's", null] }],
      groupBy: [{ column: 'host' }],
      period: { since: 0, until: 3_600 },
    };
    expect(seriesSql(wide, [['a'], [null]], 3_600)).toBe(
      `SELECT timestamp, "host", last_not_null("cpu") AS "last cpu" FROM "t.__default__" WHERE timestamp >= '1970-01-01T00:00:00.000Z' ` +
        `AND timestamp < '1970-01-01T01:00:00.000Z' AND ("host" IN ('it''s') OR "host" IS NULL) AND "cpu" IS NOT NULL ` +
        `AND ("host" IN ('a') OR "host" IS NULL) SAMPLE BY 1h FILL(NULL) ALIGN TO CALENDAR`,
    );
    expect(seriesSql({ ...wide, layout: 'narrow', groupBy: [], filter: [] }, [], 90)).toBe(
      `SELECT timestamp, metric, last_not_null(value) AS "last value" FROM "t.__default__" WHERE timestamp >= '1970-01-01T00:00:00.000Z' ` +
        `AND timestamp < '1970-01-01T01:00:00.000Z' AND metric IN ('cpu') SAMPLE BY 90s FILL(NULL) ALIGN TO CALENDAR`,
    );
  });
});

describe('a statement for ClickHouse', () => {
  it('never has a value in its text, and shown with its values has the same form for all of them', () => {
    always(
      fc.property(hostile, hostile, fc.array(hostile, { maxLength: 3 }), (key, text, ids) => {
        const conditions = (one: string, other: string) => ({
          ...{ applications: everyone, service: other, span_name: other },
          attributes: [{ scope: 'span', key: one, value: other } as const],
        });
        const window = [nanosOf(1), nanosOf(2)] as const;
        const place = (id: string) => ({ at: 5n, id });
        const asked = findSql(conditions(key, text), window, place(text), 20);
        const plain = findSql(conditions('a', 'a'), window, place('a'), 20);
        expect(asked.sql).toBe(plain.sql);
        expect(skeleton(inlined(asked.sql, asked.params), true)).toBe(
          skeleton(inlined(plain.sql, plain.params), true),
        );
        const summary = summarySql(ids);
        const plainSummary = summarySql(ids.map(() => 'a'));
        expect(skeleton(inlined(summary.sql, summary.params), true)).toBe(
          skeleton(inlined(plainSummary.sql, plainSummary.params), true),
        );
      }),
    );
  });

  it('for log records has a value in its text as little', () => {
    const words = (text: string): number =>
      logsSql({ applications: everyone, text, attributes: [] }, [1n, 2n], undefined, 1).sql.split('hasToken')
        .length;
    always(
      fc.property(hostile, hostile, (key, text) => {
        const conditions = (one: string, other: string) => ({
          ...{ applications: everyone, service: other, trace_id: other, text: other },
          attributes: [{ scope: 'log', key: one, value: other } as const],
        });
        const window = [nanosOf(1), nanosOf(2)] as const;
        const asked = logsSql(conditions(key, text), window, { at: 5n, uid: '7' }, 20);
        const plain = logsSql(conditions('a', 'a'), window, { at: 5n, uid: '7' }, 20);
        const one = 'hasToken(Body, T) AND ';
        const rest = (sql: string): string =>
          skeleton(sql, true).replaceAll(one, '').replace('match(Body, T)', 'position(Body, T) > 0');
        expect(rest(inlined(asked.sql, asked.params))).toBe(rest(inlined(plain.sql, plain.params)));
        expect(words(text)).toBeLessThanOrEqual(1 + text.length);
      }),
    );
  });

  it('of metrics has the same form for every value', () => {
    always(
      fc.property(hostile, hostile, (one, other) => {
        const statements = (first: string, second: string) => {
          const conditions = {
            service: first,
            name: second,
            kind: 'sum',
            applications: { only: 7 },
          } as const;
          const period = { since: 1, until: 2 };
          const attributes = [{ scope: 'data_point', key: first, value: second } as const];
          return [metricsSql(conditions, period, 9), lastValuesSql(conditions, attributes, period, 9)];
        };
        const formOf = ({ sql, params }: ReturnType<typeof metricsSql>) =>
          skeleton(inlined(sql, params), true);
        expect(statements(one, other).map(formOf)).toEqual(statements('a', 'a').map(formOf));
      }),
    );
  });

  it('of requests, errors and durations has the same form for every value', () => {
    always(
      fc.property(hostile, hostile, (service, operation) => {
        const conditions = (one: string, other: string) =>
          ({
            service: one,
            operation: other,
            kinds: ['server'],
            by: 'operation',
            applications: { only: 7 },
          }) as const;
        const period = { since: 1, until: 2 };
        for (const sqlOf of [
          (given: ReturnType<typeof conditions>) => redTotalsSql(given, period, 10),
          (given: ReturnType<typeof conditions>) =>
            redSeriesSql(given, period, 60, [
              { app_id: 7, service: given.service, operation: given.operation },
              { app_id: -8, service: given.operation, operation: '' },
            ]),
        ]) {
          const [asked, plain] = [sqlOf(conditions(service, operation)), sqlOf(conditions('a', 'a'))];
          expect(skeleton(inlined(asked.sql, asked.params), true)).toBe(
            skeleton(inlined(plain.sql, plain.params), true),
          );
        }
      }),
    );
  });

  it('looks by the index of bodies for those words of a text that stand between signs of ASCII', () => {
    const { sql, params } = logsSql(
      { applications: everyone, text: "can't pay: Übung_7", attributes: [] },
      [1n, 2n],
      undefined,
      1,
    );
    expect(inlined(sql, params)).toContain(
      "hasToken(Body, 't') AND hasToken(Body, 'pay') AND hasToken(Body, 'Übung') AND match(Body, '(?:\\\\b|_)can\\'t pay: Übung_7(?:\\\\b|_)')",
    );
  });

  it('shows a value of braces as it is, not as another parameter', () => {
    const { sql, params } = spansSql('{id:String}', { rows: 20, spanBytes: 1, resourceBytes: 1 }, 10);
    expect(inlined(sql, params)).toContain(`TraceId = '{id:String}'`);
    expect(clickhouseLiteral("a'\\\u0000\n")).toBe("'a\\'\\\\\\x00\\n'");
    expect(() => inlined('{constructor:String}', {})).toThrow(/parameter/);
    expect(() => inlined('{n:Int64}', { n: '1 OR 1' })).toThrow(/parameter/);
  });
});
