import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { readDataPoints } from '../support/otlp/data-point-rows.ts';
import type { Stack } from '../support/stack/stack.ts';
import { dataPointColumns, dataPointRoute } from './data-points.ts';
import {
  fateOf,
  goodRecord,
  goodSpan,
  narrowPoint,
  numberOfNarrowValue,
  originOf,
  rareMetric,
  rareValue,
  type World,
  widePoint,
} from './items.ts';
import { type Claim, claimOf, type Target } from './oracle.ts';

/** A stored row: its owner, which of its item's rows it is (a bit), and whether every value matches the number. */
export type SeenRow = {
  readonly id: number;
  readonly bit: number;
  readonly isUnchanged: boolean;
  /** The row as it was read, for who has to look into a violation. */
  readonly text: string;
};

const narrowMetrics: readonly string[] = ['load', 'free', 'idle'];

/** Bits of the rows that an item of this number has. */
export const bitsOf = (id: number, target: Target, world: World): number => {
  if (target.layout !== 'narrow') return 1;
  const { metrics } = narrowPoint(id, 'good', world);
  return narrowMetrics.reduce((bits, name, index) => (name in metrics ? bits | (1 << index) : bits), 0);
};

type Row = Readonly<Record<string, unknown>>;

const timeOf = (row: Row): number => Date.parse(String(row['timestamp']));

const fateIn = (claims: readonly Claim[], target: Target, id: number, world: World) =>
  fateOf(id, target.layout, claimOf(claims, id)?.first === id, target.hasSwing, world.seed);

const isUnchangedWide = (row: Row, id: number, claims: readonly Claim[], target: Target, world: World) => {
  const fate = fateIn(claims, target, id, world);
  const { metrics, target: sender, dimension, timestamp } = widePoint(id, fate, world);
  const rare = rareMetric(id);
  const rareColumns = Object.keys(row).filter((name) => name.startsWith('rare_') && row[name] !== null);
  return (
    Object.is(row['value_a'], metrics.value_a) &&
    Object.is(row['value_b'], metrics.value_b) &&
    row['target'] === sender &&
    row['module'] === dimension.module &&
    row['host'] === dimension.host &&
    timeOf(row) === timestamp &&
    rareColumns.length === (rare === undefined ? 0 : 1) &&
    (rare === undefined || row[rare] === rareValue(id))
  );
};

const isUnchangedNarrow = (row: Row, id: number, claims: readonly Claim[], target: Target, world: World) => {
  const expected = narrowPoint(id, fateIn(claims, target, id, world), world);
  return (
    expected.metrics[String(row['metric'])] === row['value'] &&
    row['target'] === expected.target &&
    row['module'] === expected.dimension.module &&
    timeOf(row) === expected.timestamp
  );
};

const readPoints = async (stack: Stack, table: string): Promise<Row[]> => {
  const { columns, dataset } = await stack.query(`SELECT * FROM "${table}"`);
  return dataset.map((values) => {
    const row: Record<string, unknown> = {};
    for (const [index, { name }] of columns.entries()) row[name] = values[index];
    return row;
  });
};

const spanRow = z.object({
  uid: z.string(),
  TraceId: z.string(),
  SpanId: z.string(),
  SpanName: z.string(),
  start: z.string(),
  duration: z.string(),
  SpanAttributes: z.record(z.string(), z.string()),
});

const readSpans = async (
  stack: Stack,
  target: Target,
  claims: readonly Claim[],
  world: World,
): Promise<SeenRow[]> => {
  const rows = await stack.spansQuery(
    `SELECT uid, TraceId, SpanId, SpanName, toString(toUnixTimestamp64Nano(Timestamp)) AS start, toString(Duration) AS duration, SpanAttributes FROM otel.otel_traces WHERE AppId = ${target.id}`,
  );
  return rows.map((each) => {
    const row = spanRow.parse(each);
    const id = Number(row.SpanAttributes['id']);
    const span = goodSpan(id, fateIn(claims, target, id, world), world);
    const duration = String(BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano));
    const isUnchanged =
      row.TraceId === span.traceId &&
      row.SpanId === span.spanId &&
      row.SpanName === span.name &&
      row.start === span.startTimeUnixNano &&
      row.duration === duration &&
      row.SpanAttributes['http.route'] === span.attributes[1]?.value.stringValue;
    return { id, bit: 1, isUnchanged, text: JSON.stringify(row) };
  });
};

const recordRow = z.object({
  TraceId: z.string(),
  SpanId: z.string(),
  TraceFlags: z.coerce.number(),
  SeverityText: z.string(),
  SeverityNumber: z.coerce.number(),
  Body: z.string(),
  time: z.string(),
  seconds: z.string(),
  observed: z.string(),
  LogAttributes: z.record(z.string(), z.string()),
});

const recordsSql = (appId: number): string =>
  `SELECT TraceId, SpanId, TraceFlags, SeverityText, SeverityNumber, Body, LogAttributes,
     toString(toUnixTimestamp64Nano(Timestamp)) AS time, toString(toUnixTimestamp(TimestampTime)) AS seconds,
     toString(toUnixTimestamp64Nano(ObservedTimestamp)) AS observed
   FROM otel.otel_logs WHERE AppId = ${appId}`;

const readRecords = async (
  stack: Stack,
  target: Target,
  claims: readonly Claim[],
  world: World,
): Promise<SeenRow[]> => {
  const rows = await stack.spansQuery(recordsSql(target.id));
  return rows.map((each) => {
    const row = recordRow.parse(each);
    const id = Number(row.LogAttributes['id']);
    const record = goodRecord(id, fateIn(claims, target, id, world), world);
    const time = record.timeUnixNano === '0' ? record.observedTimeUnixNano : record.timeUnixNano;
    const isUnchanged =
      row.time === time &&
      row.seconds === time.slice(0, -9) &&
      row.observed === record.observedTimeUnixNano &&
      row.SeverityNumber === record.severityNumber &&
      row.SeverityText === record.severityText &&
      row.Body === record.body.stringValue &&
      row.TraceId === (record.traceId ?? '') &&
      row.SpanId === (record.spanId ?? '') &&
      row.TraceFlags === (record.flags ?? 0) &&
      row.LogAttributes['http.route'] === record.attributes[1]?.value.stringValue;
    return { id, bit: 1, isUnchanged, text: JSON.stringify(row) };
  });
};

const readDataPointRows = async (
  stack: Stack,
  target: Target,
  claims: readonly Claim[],
  world: World,
): Promise<SeenRow[]> =>
  (await readDataPoints(stack, target.id)).map((row) => {
    const { Attributes: attributes, ResourceAttributes: _, ...others } = row;
    const id = Number(attributes['id']);
    const origin = originOf(id, fateIn(claims, target, id, world), world);
    const expected = {
      ...dataPointColumns(id, origin),
      ResourceSchemaUrl: '',
      ScopeName: 'faults',
      ScopeVersion: '1',
      ScopeAttributes: {},
      ScopeDroppedAttrCount: 0,
      ScopeSchemaUrl: '',
      ServiceName: `service-${(claimOf(claims, id)?.first ?? 0) % 4}`,
      AppId: String(target.id),
      BizId: '2',
    };
    const isUnchanged =
      isDeepStrictEqual(others, expected) && attributes['http.route'] === dataPointRoute(id, origin);
    return { id, bit: 1, isUnchanged, text: JSON.stringify(row) };
  });

/** Every row of a target, as a plain query sees it. */
export const readRows = async (
  stack: Stack,
  target: Target,
  claims: readonly Claim[],
  world: World,
): Promise<SeenRow[]> => {
  if (target.layout === 'spans') return readSpans(stack, target, claims, world);
  if (target.layout === 'logs') return readRecords(stack, target, claims, world);
  if (target.layout === 'data_points') return readDataPointRows(stack, target, claims, world);
  const rows = await readPoints(stack, `2_mon_time_series_${target.id}.__default__`);
  return rows.map((row) => {
    const text = JSON.stringify(row);
    if (target.layout === 'wide') {
      const id = Number(row['id']);
      return { id, bit: 1, isUnchanged: isUnchangedWide(row, id, claims, target, world), text };
    }
    const id = numberOfNarrowValue(Number(row['value']));
    const bit = 1 << narrowMetrics.indexOf(String(row['metric']));
    return { id, bit, isUnchanged: isUnchangedNarrow(row, id, claims, target, world), text };
  });
};
