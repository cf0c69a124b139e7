import {
  depthMax,
  emptySpan,
  forgive,
  idOf,
  NotReadable,
  noText,
  type PlainAttribute,
  type PlainEvent,
  type PlainLink,
  type PlainRequest,
  type PlainResource,
  type PlainScope,
  type PlainSpan,
  type PlainValue,
  spanKinds,
  statusCodes,
} from './model.ts';

/** One field of a message as it stands on the wire. */
type Field = { readonly number: bigint } & (
  | { readonly type: 'varint' | 'fixed64'; readonly value: bigint }
  | { readonly type: 'bytes'; readonly bytes: Buffer }
  | { readonly type: 'fixed32'; readonly value: bigint }
  | { readonly type: 'group' }
);

/** Groups in one another, as many as other readers of protobuf take. */
const groupsMax = 100;

/** Reads one field after the other, by the protobuf encoding guide. */
class Wire {
  private readonly bytes: Buffer;
  private at = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.at === this.bytes.length;
  }

  field(): Field {
    const { number, type } = this.tag();
    if (type === 0) return { number, type: 'varint', value: this.varint() };
    if (type === 1) return { number, type: 'fixed64', value: this.take(8n).readBigUInt64LE() };
    if (type === 2) return { number, type: 'bytes', bytes: this.take(this.varint()) };
    if (type === 5) return { number, type: 'fixed32', value: BigInt(this.take(4n).readUInt32LE()) };
    if (type !== 3) throw new NotReadable(`wire type ${type}`);
    this.endOfGroup(number);
    return { number, type: 'group' };
  }

  private tag(): { number: bigint; type: number } {
    const tag = this.varint();
    const number = tag >> 3n;
    if (number < 1n || number > 2n ** 29n - 1n) throw new NotReadable(`field number ${number}`);
    return { number, type: Number(tag & 7n) };
  }

  /** Skips the fields of a group up to the end with its number; groups may hold groups. */
  private endOfGroup(group: bigint): void {
    const open = [group];
    while (open.length > 0) {
      const { number, type } = this.tag();
      if (type === 0) this.varint();
      else if (type === 1) this.take(8n);
      else if (type === 2) this.take(this.varint());
      else if (type === 3 && open.length < groupsMax) open.push(number);
      else if (type === 5) this.take(4n);
      else if (type !== 4 || open.pop() !== number) throw new NotReadable('the end of no group');
    }
  }

  private take(length: bigint): Buffer {
    if (length > BigInt(this.bytes.length - this.at)) throw new NotReadable('cut short');
    const from = this.at;
    this.at += Number(length);
    return this.bytes.subarray(from, this.at);
  }

  private varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.take(1n).readUInt8();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) {
        if (value >= 2n ** 64n) break;
        return value;
      }
    }
    throw new NotReadable('a varint of more than 64 bits');
  }
}

/** The handling of a field, by its number and wire type; any other is unknown and skipped. */
type Handlers = {
  readonly [field: `bytes ${number}`]: (bytes: Buffer) => void;
  readonly [field: `varint ${number}` | `fixed64 ${number}` | `fixed32 ${number}`]: (value: bigint) => void;
};

/** Answers the numbers of the unknown fields. */
export const readMessage = (bytes: Buffer, handlers: Handlers): string[] => {
  const wire = new Wire(bytes);
  const unknown: string[] = [];
  while (!wire.isAtEnd) {
    const field = wire.field();
    const number = Number(field.number);
    if (field.type === 'bytes') {
      const handle = handlers[`bytes ${number}`];
      if (handle !== undefined) handle(field.bytes);
      else unknown.push(String(number));
    } else if (field.type !== 'group') {
      const handle = handlers[`${field.type} ${number}`];
      if (handle !== undefined) handle(field.value);
      else unknown.push(String(number));
    } else unknown.push(String(number));
  }
  return unknown;
};

const doubleOf = (bits: bigint): number => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(bits);
  return bytes.readDoubleLE();
};

/**
 * Reads an AnyValue into what an earlier occurrence of the same field left: messages that come twice are merged, and of a oneof
 * the last counts. `depth` counts the arrays and lists around it.
 */
export const readValue = (bytes: Buffer, before: PlainValue, depth: number): PlainValue => {
  let value = before;
  const container = (read: () => PlainValue): void => {
    value = depth < depthMax ? read() : { kind: 'cut' };
  };
  readMessage(bytes, {
    'bytes 1': (text) => {
      value = { kind: 'string', text };
    },
    'varint 2': (number) => {
      value = { kind: 'bool', value: number !== 0n };
    },
    'varint 3': (number) => {
      value = { kind: 'int', value: BigInt.asIntN(64, number) };
    },
    'fixed64 4': (bits) => {
      value = { kind: 'double', value: doubleOf(bits) };
    },
    'bytes 5': (list) =>
      container(() => {
        const values = value.kind === 'array' ? [...value.values] : [];
        readMessage(list, {
          'bytes 1': (item) => void values.push(readValue(item, { kind: 'none' }, depth + 1)),
        });
        return { kind: 'array', values };
      }),
    'bytes 6': (list) =>
      container(() => {
        const entries = value.kind === 'kvlist' ? [...value.entries] : [];
        readMessage(list, { 'bytes 1': (entry) => void entries.push(readAttribute(entry, depth + 1)) });
        return { kind: 'kvlist', entries };
      }),
    'bytes 7': (content) => {
      value = { kind: 'bytes', bytes: content };
    },
  });
  return value;
};

export const readAttribute = (bytes: Buffer, depth = 0): PlainAttribute => {
  let key = noText;
  let value: PlainValue = { kind: 'none' };
  readMessage(bytes, {
    'bytes 1': (text) => {
      key = text;
    },
    'bytes 2': (any) => {
      value = readValue(any, value, depth);
    },
  });
  return { key, value };
};

const readEvent = (bytes: Buffer): PlainEvent => {
  const event: PlainEvent = { time: undefined, name: noText, attributes: [] };
  readMessage(bytes, {
    'fixed64 1': (time) => {
      event.time = time;
    },
    'bytes 2': (name) => {
      event.name = name;
    },
    'bytes 3': (attribute) => void event.attributes.push(readAttribute(attribute)),
  });
  return event;
};

const readLink = (bytes: Buffer): PlainLink => {
  const link: PlainLink = { traceId: 'absent', spanId: 'absent', traceState: noText, attributes: [] };
  readMessage(bytes, {
    'bytes 1': (id) => {
      link.traceId = idOf(id.toString('hex'), 16);
    },
    'bytes 2': (id) => {
      link.spanId = idOf(id.toString('hex'), 8);
    },
    'bytes 3': (state) => {
      link.traceState = state;
    },
    'bytes 4': (attribute) => void link.attributes.push(readAttribute(attribute)),
  });
  return link;
};

/** An enum is 32 bits wide: of a longer varint the lower ones count. */
const enumOf = (value: bigint, names: readonly string[]): number | undefined => {
  const number = Number(BigInt.asIntN(32, value));
  return number >= 0 && number < names.length ? number : undefined;
};

const readStatus = (bytes: Buffer, span: PlainSpan): void => {
  readMessage(bytes, {
    'bytes 2': (message) => {
      span.statusMessage = message;
    },
    'varint 3': (code) => {
      span.statusCode = enumOf(code, statusCodes);
    },
  });
};

const readSpan = (bytes: Buffer): PlainSpan => {
  const span = emptySpan();
  readMessage(bytes, {
    'bytes 1': (id) => {
      span.traceId = idOf(id.toString('hex'), 16);
    },
    'bytes 2': (id) => {
      span.spanId = idOf(id.toString('hex'), 8);
    },
    'bytes 3': (state) => {
      span.traceState = state;
    },
    'bytes 4': (id) => {
      span.parentSpanId = idOf(id.toString('hex'), 8);
    },
    'bytes 5': (name) => {
      span.name = name;
    },
    'varint 6': (kind) => {
      span.kind = enumOf(kind, spanKinds);
    },
    'fixed64 7': (time) => {
      span.start = time;
    },
    'fixed64 8': (time) => {
      span.end = time;
    },
    'bytes 9': (attribute) => void span.attributes.push(readAttribute(attribute)),
    'bytes 11': (event) => void span.events.push(readEvent(event)),
    'bytes 13': (link) => void span.links.push(readLink(link)),
    'bytes 15': (status) => readStatus(status, span),
  });
  return span;
};

const readScopeSpans = (bytes: Buffer): PlainScope => {
  const scope: PlainScope = { name: noText, version: noText, spans: [] };
  readMessage(bytes, {
    'bytes 1': (message) =>
      void readMessage(message, {
        'bytes 1': (name) => {
          scope.name = name;
        },
        'bytes 2': (version) => {
          scope.version = version;
        },
      }),
    'bytes 2': (span) => void scope.spans.push(readSpan(span)),
  });
  return scope;
};

const readResourceSpans = (bytes: Buffer): PlainResource => {
  const resource: PlainResource = { faults: [], attributes: [], scopes: [] };
  readMessage(bytes, {
    'bytes 1': (message) =>
      void readMessage(message, {
        'bytes 1': (attribute) => void resource.attributes.push(readAttribute(attribute)),
      }),
    'bytes 2': (scope) => void resource.scopes.push(readScopeSpans(scope)),
  });
  return resource;
};

/**
 * ExportTraceServiceRequest as plain objects. Unused fields (dropped counts, flags, scope attributes, schema URLs) are
 * skipped like unknown ones. Throws NotReadable.
 */
export const requestOfProtobuf = (bytes: Uint8Array): PlainRequest => {
  const resources: PlainResource[] = [];
  const unknown = readMessage(Buffer.from(bytes), {
    'bytes 1': (message) => void resources.push(readResourceSpans(message)),
  });
  const request: PlainRequest = { resources, unknown: new Set(unknown), leniencies: new Map() };
  for (const { scopes } of resources) {
    for (const { kind, statusCode, parentSpanId } of scopes.flatMap(({ spans }) => spans)) {
      forgive(
        request.leniencies,
        'enum_unknown',
        [kind, statusCode].filter((each) => each === undefined).length,
      );
      forgive(request.leniencies, 'zero_parent_span_id', parentSpanId === 'zero' ? 1 : 0);
    }
  }
  return request;
};
