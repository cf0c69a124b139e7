import {
  encodeOtlpJson,
  encodeOtlpProtobuf,
  type OtlpAttribute,
  type OtlpRequest,
  type OtlpSpan,
} from '../test/support/otlp/protobuf.ts';
import { createRandom } from './bodies.ts';

const services = ['cart', 'checkout', 'payment', 'catalog', 'search', 'mail', 'users', 'gateway'];
const methods = ['GET', 'POST', 'PUT', 'DELETE'];
const routes = [
  '/api/v1/items',
  '/api/v1/items/:id',
  '/api/v1/orders',
  '/api/v1/users/:id',
  '/healthz',
  '/login',
];
const hostsCount = 500;

const text = (key: string, value: string): OtlpAttribute => ({ key, value: { stringValue: value } });
const int = (key: string, value: number): OtlpAttribute => ({ key, value: { intValue: String(value) } });

const pick = (random: () => number, from: readonly string[]): string =>
  from[Math.floor(random() * from.length)] ?? '';

const hex = (random: () => number, characters: number): string => {
  let result = '';
  while (result.length < characters)
    result += Math.floor(random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0');
  return result.slice(0, characters);
};

const spanAt = (random: () => number, traceId: string, parentSpanId: string, nowMs: number): OtlpSpan => {
  const method = pick(random, methods);
  const route = pick(random, routes);
  const startMs = nowMs - Math.floor(random() * 5000) - 1000;
  const nanos = String(Math.floor(random() * 1e6)).padStart(6, '0');
  const id = Math.floor(random() * 1e6);
  return {
    traceId,
    spanId: hex(random, 16),
    parentSpanId,
    name: `${method} ${route}`,
    kind: 1 + Math.floor(random() * 3),
    startTimeUnixNano: `${startMs}${nanos}`,
    endTimeUnixNano: `${startMs + Math.floor(random() * 900) + 1}${nanos}`,
    attributes: [
      text('http.request.method', method),
      text('http.route', route),
      text('url.full', `http://10.3.2.1:8080${route}?id=${id}`),
      int('http.response.status_code', random() < 0.95 ? 200 : 500),
      text('server.address', '10.3.2.1'),
      int('server.port', 8080),
      text('user_agent.original', 'Mozilla/5.0 (X11; Linux x86_64)'),
      text('network.protocol.version', '1.1'),
      text('client.address', `10.9.${id % 250}.${id % 199}`),
      int('http.response.body.size', id),
    ],
    status: { code: random() < 0.95 ? 0 : 2 },
  };
};

/** A request as an SDK's batch processor sends it: one resource of 6 attributes, one scope, spans of 10 attributes in traces of 10. */
export const spanRequest = (random: () => number, spans: number, nowMs: number): OtlpRequest => {
  const host = Math.floor(random() * hostsCount);
  const list: OtlpSpan[] = [];
  let traceId = '';
  let parentSpanId = '';
  for (let index = 0; index < spans; index++) {
    if (index % 10 === 0) {
      traceId = hex(random, 32);
      parentSpanId = '';
    }
    const span = spanAt(random, traceId, parentSpanId, nowMs);
    parentSpanId = span.spanId ?? '';
    list.push(span);
  }
  return {
    resourceSpans: [
      {
        resource: {
          attributes: [
            text('service.name', pick(random, services)),
            text('net.host.ip', `10.4.${host >> 8}.${host & 255}`),
            text('net.host.name', `node-${host}`),
            text('telemetry.sdk.language', 'nodejs'),
            text('telemetry.sdk.name', 'opentelemetry'),
            text('telemetry.sdk.version', '2.2.0'),
          ],
        },
        scopeSpans: [
          { scope: { name: '@opentelemetry/instrumentation-http', version: '0.208.0' }, spans: list },
        ],
      },
    ],
  };
};

/** Whole trace bodies, all different, in one of the encodings. */
export const spanBodies = (
  encoding: 'json' | 'protobuf',
  count: number,
  spans: number,
  nowMs: number,
): Buffer[] => {
  const random = createRandom(20_260_201 + spans);
  const encode = encoding === 'json' ? encodeOtlpJson : encodeOtlpProtobuf;
  return Array.from({ length: count }, () => encode(spanRequest(random, spans, nowMs)));
};

const withNumbers = (attributes: readonly OtlpAttribute[] | undefined) =>
  attributes?.map(({ key, value }) => ({
    key,
    value: value !== undefined && 'intValue' in value ? { intValue: Number(value.intValue) } : value,
  }));

/**
 * JSON bodies with the members that the JavaScript SDK's exporter writes: numbers for integers, empty lists, counts of dropped
 * attributes, events and links.
 */
export const sdkBodies = (count: number, spans: number, nowMs: number): Buffer[] => {
  const random = createRandom(20_260_301 + spans);
  const bodyOf = ({ resourceSpans }: OtlpRequest): Buffer => {
    const resources = resourceSpans?.map(({ resource, scopeSpans }) => ({
      resource: { attributes: withNumbers(resource?.attributes), droppedAttributesCount: 0 },
      scopeSpans: scopeSpans?.map(({ scope, spans: list }) => ({
        scope,
        spans: list?.map(({ parentSpanId, attributes, status, ...span }) => ({
          ...span,
          ...(parentSpanId === '' ? {} : { parentSpanId }),
          attributes: withNumbers(attributes),
          droppedAttributesCount: 0,
          events: [],
          droppedEventsCount: 0,
          status,
          links: [],
          droppedLinksCount: 0,
          flags: 257,
        })),
      })),
    }));
    return Buffer.from(JSON.stringify({ resourceSpans: resources }));
  };
  return Array.from({ length: count }, () => bodyOf(spanRequest(random, spans, nowMs)));
};
