import { gzipSync } from 'node:zlib';
import { encodeOtlpProtobuf, type OtlpAttribute, type OtlpSpan } from '../test/support/otlp/protobuf.ts';
import type { Stack } from '../test/support/stack/stack.ts';
import { columnBodies, createRandom, pushBodies } from './bodies.ts';
import { lineRow, withStack } from './line.ts';
import { allDifferent, inTurnOfNow, type Load } from './load.ts';
import { type MeasureOptions, measureRate, type Subject } from './rate.ts';
import type { Row } from './report.ts';
import { spanRequest } from './span-bodies.ts';
import { otlpSubject, pushSubject } from './subjects.ts';

/**
 * Loads that users have, each beside the usual one of its signal. More data ids and more columns are curves (`--only curves`).
 * Usual points are up to 5 s old in random order, of 64,000 hosts that are a target and a dimension.
 */
type PointLoad = {
  readonly points: number;
  readonly lateMs: number;
  readonly columns?: number;
  readonly isZipped?: boolean;
  readonly connections: number;
};

const usualPoints: PointLoad = { points: 1_000, lateMs: 5_000, connections: 8 };

const pointLoads: Readonly<Record<string, PointLoad>> = {
  'points up to 5 s late, 1000 a request': usualPoints,
  'points up to 60 s late': { ...usualPoints, lateMs: 60_000 },
  'points as gzip': { ...usualPoints, isZipped: true },
  'points of 100 columns': { ...usualPoints, columns: 100 },
  'points, 100 a request': { ...usualPoints, points: 100, connections: 16 },
  'points, 10 a request': { ...usualPoints, points: 10, connections: 64 },
  'points, 1 a request': { ...usualPoints, points: 1, connections: 64 },
};

type SpanLoad = {
  readonly spans: number;
  readonly attributes: number;
  /** One span in five failed, with the event of its exception, and every span has one more event. */
  readonly hasEvents?: boolean;
  readonly isZipped?: boolean;
  readonly connections: number;
};

const usualSpans: SpanLoad = { spans: 100, attributes: 10, connections: 8 };

const spanLoads: Readonly<Record<string, SpanLoad>> = {
  'spans of 10 attributes, 100 a request': usualSpans,
  'spans of 30 attributes': { ...usualSpans, attributes: 30 },
  'spans with errors and events': { ...usualSpans, hasEvents: true },
  'spans as gzip': { ...usualSpans, isZipped: true },
  'spans, 1000 a request': { ...usualSpans, spans: 1_000 },
  'spans, 10 a request': { ...usualSpans, spans: 10, connections: 32 },
  'spans, 1 a request': { ...usualSpans, spans: 1, connections: 64 },
};

const warmSeconds = 2;
/** The guard that follows a start has ended by then. */
const guardSeconds = 12;
const pointsOfBodies = 100_000;
const bodiesMax = 256;
const spanBodiesCount = 64;
const zipLevel = 1;
const columnsSecondsMax = 5;
const zipped = { 'content-encoding': 'gzip' } as const;

/** Each body as gzip when it is sent, as producers do: its times or ids are new. */
const zip = (nextBody: Load['nextBody']) => (): Uint8Array => gzipSync(nextBody(), { level: zipLevel });

const pointSubject = async (stack: Stack, name: string, load: PointLoad): Promise<Subject> => {
  const { points, lateMs, columns, isZipped = false, connections } = load;
  const subject = await pushSubject(stack, name, points, connections, lateMs);
  const { dataId, token } = subject.source;
  const count = Math.min(bodiesMax, Math.ceil(pointsOfBodies / points));
  const bodies = (nowMs: number): Buffer[] =>
    columns === undefined
      ? pushBodies(count, points, dataId, token, nowMs, lateMs)
      : columnBodies(points, columns, dataId, token, nowMs);
  return {
    ...subject,
    load: () => {
      const nextBody = inTurnOfNow(bodies);
      const usual = subject.load();
      return isZipped
        ? { ...usual, headers: { ...usual.headers, ...zipped }, nextBody: zip(nextBody) }
        : { ...usual, nextBody };
    },
  };
};

const text = (key: string, value: string): OtlpAttribute => ({ key, value: { stringValue: value } });

/** Attributes that an instrumented service adds to those of HTTP: names that repeat, values of which half repeat. */
const furtherAttributes = (random: () => number, count: number): OtlpAttribute[] =>
  Array.from({ length: count }, (_, index) =>
    text(
      `app.${['order', 'customer', 'cart', 'feature'][index % 4]}.field_${index}`,
      index % 2 === 0 ? `value-${index}` : `value-${Math.floor(random() * 1e6)}`,
    ),
  );

const exceptionOf = (timeUnixNano: string, id: number) => ({
  timeUnixNano,
  name: 'exception',
  attributes: [
    text('exception.type', 'java.net.SocketTimeoutException'),
    text('exception.message', `timeout after ${id % 5_000} ms`),
    text('exception.stacktrace', `at shop.Orders.save(Orders.java:${id % 400})\n`.repeat(20)),
  ],
});

const spanOf = (
  random: () => number,
  span: OtlpSpan,
  { attributes, hasEvents = false }: SpanLoad,
): OtlpSpan => {
  const { attributes: own = [], startTimeUnixNano = '0' } = span;
  const more = { ...span, attributes: [...own, ...furtherAttributes(random, attributes - own.length)] };
  if (!hasEvents) return more;
  const isFailed = random() < 0.2;
  const event = {
    timeUnixNano: startTimeUnixNano,
    name: 'message',
    attributes: [text('message.type', 'SENT'), text('message.id', String(Math.floor(random() * 1e6)))],
  };
  const exception = exceptionOf(startTimeUnixNano, Math.floor(random() * 1e6));
  return {
    ...more,
    events: isFailed ? [event, exception] : [event],
    status: isFailed ? { code: 2, message: 'the order was not saved' } : { code: 0 },
  };
};

const loadedSpanBodies = (load: SpanLoad, nowMs: number): Buffer[] => {
  const random = createRandom(20_261_124 + load.spans);
  return Array.from({ length: spanBodiesCount }, () => {
    const { resourceSpans = [] } = spanRequest(random, load.spans, nowMs);
    return encodeOtlpProtobuf({
      resourceSpans: resourceSpans.map(({ scopeSpans = [], ...resource }) => ({
        ...resource,
        scopeSpans: scopeSpans.map(({ spans = [], ...scope }) => ({
          ...scope,
          spans: spans.map((span) => spanOf(random, span, load)),
        })),
      })),
    });
  });
};

const spanSubject = async (stack: Stack, name: string, load: SpanLoad): Promise<Subject> => {
  const { spans, isZipped = false, connections } = load;
  const subject = await otlpSubject(stack, name, 'traces', 'protobuf', spans, connections);
  let salt = 0;
  return {
    ...subject,
    load: () => {
      const usual = subject.load();
      const nextBody = allDifferent(loadedSpanBodies(load, Date.now() - 1_000 * salt++), 'protobuf');
      return isZipped
        ? { ...usual, headers: { ...usual.headers, ...zipped }, nextBody: zip(nextBody) }
        : { ...usual, nextBody };
    },
  };
};

const matching = <Shape>(loads: Readonly<Record<string, Shape>>, wanted: string): [string, Shape][] =>
  Object.entries(loads).filter(([name]) => new RegExp(wanted, 'i').test(name));

/** The row of each load whose name matches (all: an empty text), one after the other on a stack for each signal. */
export const measureLoads = async (
  options: MeasureOptions & { readonly wanted: string },
): Promise<{ readonly points: readonly Row[]; readonly spans: readonly Row[] }> => {
  const points: Row[] = [];
  const spans: Row[] = [];
  const wantedPoints = matching(pointLoads, options.wanted);
  const wantedSpans = matching(spanLoads, options.wanted);
  if (wantedPoints.length > 0)
    await withStack(options, async (stack) => {
      for (const [index, [name, load]] of wantedPoints.entries()) {
        const subject = await pointSubject(stack, `load_${index}`, load);
        // A row has a place for each column.
        const seconds =
          load.columns === undefined ? options.seconds : Math.min(options.seconds, columnsSecondsMax);
        points.push(lineRow(name, [await measureRate(subject, seconds, warmSeconds)]));
      }
    });
  if (wantedSpans.length > 0)
    await withStack(
      options,
      async (stack) => {
        await measureRate(await spanSubject(stack, 'load_guarded', usualSpans), guardSeconds, 0);
        for (const [index, [name, load]] of wantedSpans.entries()) {
          const subject = await spanSubject(stack, `load_${index}`, load);
          spans.push(lineRow(name, [await measureRate(subject, options.seconds, warmSeconds)]));
        }
      },
      false,
    );
  return { points, spans };
};
