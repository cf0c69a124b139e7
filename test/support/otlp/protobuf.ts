/** A request in OTLP's canonical JSON form; what is absent is left out, 64 bits are decimal strings, ids hexadecimal, bytes base64. */
export type OtlpValue =
  | { stringValue: string }
  | { boolValue: boolean }
  | { intValue: string }
  | { doubleValue: number | 'NaN' | 'Infinity' | '-Infinity' }
  | { bytesValue: string }
  | { arrayValue: { values?: OtlpValue[] } }
  | { kvlistValue: { values?: OtlpAttribute[] } }
  | { [kind: string]: never };
export type OtlpAttribute = { key?: string; value?: OtlpValue };
export type OtlpEvent = {
  timeUnixNano?: string;
  name?: string;
  attributes?: OtlpAttribute[];
  droppedAttributesCount?: number;
};
export type OtlpLink = {
  traceId?: string;
  spanId?: string;
  traceState?: string;
  attributes?: OtlpAttribute[];
  droppedAttributesCount?: number;
  flags?: number;
};
export type OtlpSpan = {
  traceId?: string;
  spanId?: string;
  traceState?: string;
  parentSpanId?: string;
  flags?: number;
  name?: string;
  kind?: number;
  startTimeUnixNano?: string;
  endTimeUnixNano?: string;
  attributes?: OtlpAttribute[];
  droppedAttributesCount?: number;
  events?: OtlpEvent[];
  droppedEventsCount?: number;
  links?: OtlpLink[];
  droppedLinksCount?: number;
  status?: { code?: number; message?: string };
};
export type OtlpScopeSpans = {
  scope?: { name?: string; version?: string; attributes?: OtlpAttribute[]; droppedAttributesCount?: number };
  spans?: OtlpSpan[];
  schemaUrl?: string;
};
export type OtlpResourceSpans = {
  resource?: { attributes?: OtlpAttribute[]; droppedAttributesCount?: number };
  scopeSpans?: OtlpScopeSpans[];
  schemaUrl?: string;
};
export type OtlpRequest = { resourceSpans?: OtlpResourceSpans[] };

/** Encodes protobuf field by field, plainly: what is absent is not written. */
export class Message {
  private readonly chunks: Uint8Array[] = [];

  varint(field: number, value: bigint | number | undefined): this {
    if (value === undefined) return this;
    this.chunks.push(varintBytes((BigInt(field) << 3n) | 0n), varintBytes(BigInt.asUintN(64, BigInt(value))));
    return this;
  }

  fixed64(field: number, decimal: string | undefined): this {
    if (decimal === undefined) return this;
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(BigInt(decimal));
    this.chunks.push(varintBytes((BigInt(field) << 3n) | 1n), bytes);
    return this;
  }

  double(field: number, value: number): this {
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleLE(value);
    this.chunks.push(varintBytes((BigInt(field) << 3n) | 1n), bytes);
    return this;
  }

  fixed32(field: number, value: number | undefined): this {
    if (value === undefined) return this;
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(value);
    this.chunks.push(varintBytes((BigInt(field) << 3n) | 5n), bytes);
    return this;
  }

  bytes(field: number, value: Uint8Array | undefined): this {
    if (value === undefined) return this;
    this.chunks.push(varintBytes((BigInt(field) << 3n) | 2n), varintBytes(BigInt(value.length)), value);
    return this;
  }

  text(field: number, value: string | undefined): this {
    return this.bytes(field, value === undefined ? undefined : Buffer.from(value));
  }

  hex(field: number, value: string | undefined): this {
    return this.bytes(field, value === undefined ? undefined : Buffer.from(value, 'hex'));
  }

  messages<T>(field: number, items: readonly T[] | undefined, encode: (item: T) => Message): this {
    for (const item of items ?? []) this.bytes(field, encode(item).end());
    return this;
  }

  end(): Buffer {
    return Buffer.concat(this.chunks);
  }
}

const varintBytes = (value: bigint): Uint8Array => {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  bytes.push(Number(rest));
  return Uint8Array.from(bytes);
};

export const one = <T>(item: T | undefined): T[] => (item === undefined ? [] : [item]);

const doubles = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  '-Infinity': Number.NEGATIVE_INFINITY,
};

export const encodeValue = (value: OtlpValue): Message => {
  const message = new Message();
  if ('stringValue' in value) return message.text(1, value.stringValue);
  if ('boolValue' in value) return message.varint(2, value.boolValue ? 1 : 0);
  if ('intValue' in value) return message.varint(3, BigInt(value.intValue));
  if ('doubleValue' in value) {
    const { doubleValue } = value;
    return message.double(4, typeof doubleValue === 'string' ? doubles[doubleValue] : doubleValue);
  }
  if ('bytesValue' in value) return message.bytes(7, Buffer.from(value.bytesValue, 'base64'));
  if ('arrayValue' in value)
    return message.bytes(5, new Message().messages(1, value.arrayValue.values, encodeValue).end());
  if ('kvlistValue' in value)
    return message.bytes(6, new Message().messages(1, value.kvlistValue.values, encodeAttribute).end());
  return message;
};

export const encodeAttribute = ({ key, value }: OtlpAttribute): Message =>
  new Message().text(1, key).messages(2, one(value), encodeValue);

const encodeEvent = (event: OtlpEvent): Message =>
  new Message()
    .fixed64(1, event.timeUnixNano)
    .text(2, event.name)
    .messages(3, event.attributes, encodeAttribute)
    .varint(4, event.droppedAttributesCount);

const encodeLink = (link: OtlpLink): Message =>
  new Message()
    .hex(1, link.traceId)
    .hex(2, link.spanId)
    .text(3, link.traceState)
    .messages(4, link.attributes, encodeAttribute)
    .varint(5, link.droppedAttributesCount)
    .fixed32(6, link.flags);

const encodeSpan = (span: OtlpSpan): Message =>
  new Message()
    .hex(1, span.traceId)
    .hex(2, span.spanId)
    .text(3, span.traceState)
    .hex(4, span.parentSpanId)
    .text(5, span.name)
    .varint(6, span.kind)
    .fixed64(7, span.startTimeUnixNano)
    .fixed64(8, span.endTimeUnixNano)
    .messages(9, span.attributes, encodeAttribute)
    .varint(10, span.droppedAttributesCount)
    .messages(11, span.events, encodeEvent)
    .varint(12, span.droppedEventsCount)
    .messages(13, span.links, encodeLink)
    .varint(14, span.droppedLinksCount)
    .messages(15, one(span.status), (status) => new Message().text(2, status.message).varint(3, status.code))
    .fixed32(16, span.flags);

/** InstrumentationScope. */
export const encodeScope = ({
  name,
  version,
  attributes,
  droppedAttributesCount,
}: NonNullable<OtlpScopeSpans['scope']>): Message =>
  new Message()
    .text(1, name)
    .text(2, version)
    .messages(3, attributes, encodeAttribute)
    .varint(4, droppedAttributesCount);

/** Resource. */
export const encodeResource = ({
  attributes,
  droppedAttributesCount,
}: NonNullable<OtlpResourceSpans['resource']>): Message =>
  new Message().messages(1, attributes, encodeAttribute).varint(2, droppedAttributesCount);

const encodeScopeSpans = ({ scope, spans, schemaUrl }: OtlpScopeSpans): Message =>
  new Message().messages(1, one(scope), encodeScope).messages(2, spans, encodeSpan).text(3, schemaUrl);

/** ExportTraceServiceRequest on the wire. */
export const encodeOtlpProtobuf = ({ resourceSpans }: OtlpRequest): Buffer =>
  new Message()
    .messages(1, resourceSpans, ({ resource, scopeSpans, schemaUrl }) =>
      new Message()
        .messages(1, one(resource), encodeResource)
        .messages(2, scopeSpans, encodeScopeSpans)
        .text(3, schemaUrl),
    )
    .end();

/** The same request as JSON. */
export const encodeOtlpJson = (request: OtlpRequest): Buffer => Buffer.from(JSON.stringify(request));
