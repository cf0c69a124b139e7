import { encodeOtlpProtobuf, type OtlpAttribute, type OtlpSpan } from '../test/support/otlp/protobuf.ts';
import { createRandom } from './bodies.ts';
import { allDifferent, type Load } from './load.ts';
import { asGzip } from './point-loads.ts';
import { spanRequest } from './span-bodies.ts';

/** How services export spans. */
export type SpanLoad = {
  readonly spans: number;
  readonly attributes: number;
  /** One span in five failed, with the event of its exception, and every span has one more event. */
  readonly hasEvents?: boolean;
  readonly isZipped?: boolean;
  readonly connections: number;
};

export const usualSpans: SpanLoad = { spans: 100, attributes: 10, connections: 8 };

/** Loads that users have. */
export const spanLoads: Readonly<Record<string, SpanLoad>> = {
  'spans of 10 attributes, 100 a request': usualSpans,
  'spans of 30 attributes': { ...usualSpans, attributes: 30 },
  'spans with errors and events': { ...usualSpans, hasEvents: true },
  'spans as gzip': { ...usualSpans, isZipped: true },
  'spans, 1000 a request': { ...usualSpans, spans: 1_000 },
  'spans, 10 a request': { ...usualSpans, spans: 10, connections: 32 },
  'spans, 1 a request': { ...usualSpans, spans: 1, connections: 64 },
};

const spanBodiesCount = 64;

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

/** Requests of this load in protobuf, without an address; `ageMs`: all spans are so old, so that no two loads are equal. */
export const spanRequests = (load: SpanLoad, ageMs: number): Omit<Load, 'urls'> => {
  const requests = {
    headers: { 'content-type': 'application/x-protobuf' },
    nextBody: allDifferent(loadedSpanBodies(load, Date.now() - ageMs), 'protobuf'),
    itemsPerBody: load.spans,
    connections: load.connections,
  };
  return load.isZipped === true ? asGzip(requests) : requests;
};
