import {
  emptyExemplar,
  emptyMetric,
  emptyMetricResource,
  emptyMetricScope,
  emptyPoint,
  hasTemporality,
  type PlainExemplar,
  type PlainKind,
  type PlainMetric,
  type PlainMetricResource,
  type PlainMetricScope,
  type PlainMetrics,
  type PlainPoint,
} from './metric-model.ts';
import { idOf, NotReadable } from './model.ts';
import { readAttribute, readMessage } from './protobuf.ts';

const doubleOf = (bits: bigint): number => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(bits);
  return bytes.readDoubleLE();
};

const zigzag = (sent: bigint): number => {
  const bits = BigInt.asUintN(32, sent);
  return Number(BigInt.asIntN(32, bits % 2n === 0n ? bits / 2n : -(bits / 2n) - 1n));
};

const fixedOf = (bytes: Buffer): bigint[] => {
  if (bytes.length % 8 !== 0) throw new NotReadable('part of a number');
  return Array.from({ length: bytes.length / 8 }, (_, index) => bytes.readBigUInt64LE(8 * index));
};

const varintsOf = (bytes: Buffer): bigint[] => {
  const values: bigint[] = [];
  let value = 0n;
  let length = 0;
  for (const byte of bytes) {
    value |= BigInt(byte & 0x7f) << BigInt(7 * length++);
    if (length > 10 || value >= 2n ** 64n) throw new NotReadable('more than 64 bits');
    if (byte >= 0x80) continue;
    values.push(value);
    value = 0n;
    length = 0;
  }
  if (length > 0) throw new NotReadable('part of a number');
  return values;
};

const readExemplar = (bytes: Buffer): PlainExemplar => {
  const exemplar = emptyExemplar();
  readMessage(bytes, {
    'fixed64 2': (time) => {
      exemplar.time = time;
    },
    'fixed64 3': (bits) => {
      exemplar.value = { kind: 'double', value: doubleOf(bits) };
    },
    'fixed64 6': (bits) => {
      exemplar.value = { kind: 'int', value: BigInt.asIntN(64, bits) };
    },
    'bytes 4': (id) => {
      exemplar.spanId = idOf(id.toString('hex'), 8);
    },
    'bytes 5': (id) => {
      exemplar.traceId = idOf(id.toString('hex'), 16);
    },
    'bytes 7': (attribute) => void exemplar.attributes.push(readAttribute(attribute)),
  });
  return exemplar;
};

type Handlers = Parameters<typeof readMessage>[1];

const times = (point: PlainPoint): Handlers => ({
  'fixed64 2': (time) => {
    point.start = time;
  },
  'fixed64 3': (time) => {
    point.time = time;
  },
});

const distribution = (point: PlainPoint): Handlers => ({
  ...times(point),
  'fixed64 4': (count) => {
    point.count = count;
  },
  'fixed64 5': (bits) => {
    point.sum = doubleOf(bits);
  },
});

const attributesAt = (point: PlainPoint) => (bytes: Buffer) =>
  void point.attributes.push(readAttribute(bytes));
const exemplarsAt = (point: PlainPoint) => (bytes: Buffer) => void point.exemplars.push(readExemplar(bytes));
const flagsAt = (point: PlainPoint) => (flags: bigint) => {
  point.flags = Number(BigInt.asUintN(32, flags));
};

const setBuckets = (bytes: Buffer, counts: bigint[], setOffset: (offset: number) => void): void =>
  void readMessage(bytes, {
    'varint 1': (offset) => setOffset(zigzag(offset)),
    'bytes 2': (packed) => void counts.push(...varintsOf(packed)),
    'varint 2': (count) => void counts.push(count),
  });

const numberHandlers = (point: PlainPoint): Handlers => ({
  ...times(point),
  'fixed64 4': (bits) => {
    point.value = { kind: 'double', value: doubleOf(bits) };
  },
  'bytes 5': exemplarsAt(point),
  'fixed64 6': (bits) => {
    point.value = { kind: 'int', value: BigInt.asIntN(64, bits) };
  },
  'bytes 7': attributesAt(point),
  'varint 8': flagsAt(point),
});

const histogramHandlers = (point: PlainPoint): Handlers => ({
  ...distribution(point),
  'bytes 6': (packed) => void point.counts.push(...fixedOf(packed)),
  'fixed64 6': (count) => void point.counts.push(count),
  'bytes 7': (packed) => void point.bounds.push(...fixedOf(packed).map(doubleOf)),
  'fixed64 7': (bits) => void point.bounds.push(doubleOf(bits)),
  'bytes 8': exemplarsAt(point),
  'bytes 9': attributesAt(point),
  'varint 10': flagsAt(point),
  'fixed64 11': (bits) => {
    point.min = doubleOf(bits);
  },
  'fixed64 12': (bits) => {
    point.max = doubleOf(bits);
  },
});

const exponentialHandlers = (point: PlainPoint): Handlers => ({
  ...distribution(point),
  'bytes 1': attributesAt(point),
  'varint 6': (scale) => {
    point.scale = zigzag(scale);
  },
  'fixed64 7': (count) => {
    point.zeroCount = count;
  },
  'bytes 8': (side) =>
    setBuckets(side, point.counts, (offset) => {
      point.positiveOffset = offset;
    }),
  'bytes 9': (side) =>
    setBuckets(side, point.negative, (offset) => {
      point.negativeOffset = offset;
    }),
  'varint 10': flagsAt(point),
  'bytes 11': exemplarsAt(point),
  'fixed64 12': (bits) => {
    point.min = doubleOf(bits);
  },
  'fixed64 13': (bits) => {
    point.max = doubleOf(bits);
  },
  'fixed64 14': (bits) => {
    point.zeroThreshold = doubleOf(bits);
  },
});

const summaryHandlers = (point: PlainPoint): Handlers => ({
  ...distribution(point),
  'bytes 6': (bytes) => {
    const pair = { quantile: 0, value: 0 };
    readMessage(bytes, {
      'fixed64 1': (bits) => {
        pair.quantile = doubleOf(bits);
      },
      'fixed64 2': (bits) => {
        pair.value = doubleOf(bits);
      },
    });
    point.quantiles.push(pair);
  },
  'bytes 7': attributesAt(point),
  'varint 8': flagsAt(point),
});

const handlersOf: Record<PlainKind, (point: PlainPoint) => Handlers> = {
  gauge: numberHandlers,
  sum: numberHandlers,
  histogram: histogramHandlers,
  exponentialHistogram: exponentialHandlers,
  summary: summaryHandlers,
};

const readMetric = (bytes: Buffer, leniencies: PlainMetrics['leniencies']): PlainMetric => {
  const metric = emptyMetric();
  // Of several kinds the last counts, and its parts are one.
  let parts: Buffer[] = [];
  const part = (kind: PlainKind) => (data: Buffer) => {
    if (metric.kind !== kind) parts = [];
    metric.kind = kind;
    parts.push(data);
  };
  readMessage(bytes, {
    'bytes 1': (name) => {
      metric.name = name;
    },
    'bytes 2': (description) => {
      metric.description = description;
    },
    'bytes 3': (unit) => {
      metric.unit = unit;
    },
    'bytes 5': part('gauge'),
    'bytes 7': part('sum'),
    'bytes 9': part('histogram'),
    'bytes 10': part('exponentialHistogram'),
    'bytes 11': part('summary'),
    'bytes 12': (attribute) => void metric.metadata.push(readAttribute(attribute)),
  });
  for (const data of parts)
    readMessage(data, {
      'bytes 1': (sent) => {
        const point = emptyPoint();
        readMessage(sent, handlersOf[metric.kind](point));
        metric.points.push(point);
      },
      'varint 2': (temporality) => {
        metric.temporality = Number(BigInt.asIntN(32, temporality));
      },
      'varint 3': (isMonotonic) => {
        metric.isMonotonic = isMonotonic !== 0n;
      },
    });
  if (!hasTemporality(metric.kind)) metric.temporality = 0;
  if (metric.temporality < 0 || metric.temporality > 2) {
    metric.temporality = 0;
    leniencies.set('enum_unknown', (leniencies.get('enum_unknown') ?? 0) + 1);
  }
  return metric;
};

const readScope = (bytes: Buffer, leniencies: PlainMetrics['leniencies']): PlainMetricScope => {
  const scope = emptyMetricScope();
  readMessage(bytes, {
    'bytes 1': (message) =>
      void readMessage(message, {
        'bytes 1': (name) => {
          scope.name = name;
        },
        'bytes 2': (version) => {
          scope.version = version;
        },
        'bytes 3': (attribute) => void scope.attributes.push(readAttribute(attribute)),
        'varint 4': (dropped) => {
          scope.dropped = Number(BigInt.asUintN(32, dropped));
        },
      }),
    'bytes 2': (metric) => void scope.metrics.push(readMetric(metric, leniencies)),
    'bytes 3': (schema) => {
      scope.schema = schema;
    },
  });
  return scope;
};

const readResource = (bytes: Buffer, leniencies: PlainMetrics['leniencies']): PlainMetricResource => {
  const resource = emptyMetricResource();
  readMessage(bytes, {
    'bytes 1': (message) =>
      void readMessage(message, {
        'bytes 1': (attribute) => void resource.attributes.push(readAttribute(attribute)),
      }),
    'bytes 2': (scope) => void resource.scopes.push(readScope(scope, leniencies)),
    'bytes 3': (schema) => {
      resource.schema = schema;
    },
  });
  return resource;
};

/** ExportMetricsServiceRequest as plain objects. Throws NotReadable. */
export const metricsOfProtobuf = (bytes: Uint8Array): PlainMetrics => {
  const resources: PlainMetricResource[] = [];
  const leniencies: PlainMetrics['leniencies'] = new Map();
  readMessage(Buffer.from(bytes), {
    'bytes 1': (message) => void resources.push(readResource(message, leniencies)),
  });
  return { resources, leniencies, hasRepeats: false };
};
