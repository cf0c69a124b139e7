import { countedBase } from '../../../src/model/uid.ts';
import { jsonTraces } from '../../../src/rules/spans/json-traces.ts';
import { protobufTraces } from '../../../src/rules/spans/protobuf-traces.ts';
import {
  defaultItemLimits,
  type EncodedItems,
  type ItemLimits,
  type ItemsContext,
  type ItemsOwner,
} from '../../../src/wire/otlp/types.ts';
import { defaultTimePolicy } from '../time-policy.ts';
import { encodeOtlpProtobuf, type OtlpRequest, type OtlpSpan } from './protobuf.ts';
import { rowsOfTraces, type SpanRow } from './span-blocks.ts';

export const arrivedAt = Date.UTC(2026, 5, 1, 12);

/** Nanoseconds of a moment this many milliseconds from the arrival. */
export const nanosAt = (offsetMs: number, rest = 0): string =>
  String(BigInt(arrivedAt + offsetMs) * 1_000_000n + BigInt(rest));

export const owner: ItemsOwner = { appId: 12, bizId: 2, fillDimensions: false, policy: defaultTimePolicy };

/** A context in which every credential belongs to `owner` by default. */
export const contextWith = ({
  limits,
  ...rest
}: Partial<Omit<ItemsContext, 'limits'>> & { limits?: Partial<ItemLimits> } = {}): ItemsContext => ({
  resolve: () => owner,
  clientIp: '192.0.2.9',
  base: countedBase(7, 1000),
  arrivedAt,
  limits: { ...defaultItemLimits, ...limits },
  ...rest,
});

/** A span with which nothing is wrong. */
export const goodSpan = {
  traceId: '5b8efff798038103d269b633813fc60c',
  spanId: 'eee19b7ec3c1b174',
  name: 'GET /',
  kind: 2,
  startTimeUnixNano: nanosAt(-1000),
  endTimeUnixNano: nanosAt(-900),
} as const satisfies OtlpSpan;

/** A request of these spans, of one resource and one scope. */
export const requestOf = <Span>(...spans: Span[]) => ({
  resourceSpans: [
    {
      resource: { attributes: [{ key: 'service.name', value: { stringValue: 'cart' } }] },
      scopeSpans: [{ scope: { name: 'scope', version: '1' }, spans }],
    },
  ],
});

/** Encodes a JSON body: text or bytes as they are, anything else by JSON.stringify. */
export const encodeJson = (body: unknown, context = contextWith()): EncodedItems => {
  if (body instanceof Uint8Array) return jsonTraces.encode(body, context);
  return jsonTraces.encode(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), context);
};

export const encodeProtobuf = (request: OtlpRequest, context = contextWith()): EncodedItems =>
  protobufTraces.encode(encodeOtlpProtobuf(request), context);

/** The only row of an encoded request. */
export const onlyRow = (encoded: EncodedItems): SpanRow => {
  const [row, ...others] = rowsOfTraces(encoded);
  if (row === undefined || others.length > 0) {
    throw new Error(
      `expected one row, got ${others.length + (row === undefined ? 0 : 1)}: ${JSON.stringify(encoded.examples)}`,
    );
  }
  return row;
};
