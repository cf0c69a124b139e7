import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import type { ItemsContext } from '../../../src/wire/otlp/types.ts';
import { anyMetricsRequest } from '../../support/otlp/metric-requests.ts';
import { encodeMetricsProtobuf, type OtlpMetricsRequest } from '../../support/otlp/metrics.ts';
import { contextOfMany, type Encoding, forgivingContext } from '../../support/otlp/plain/agreement.ts';
import { mutatedText } from '../../support/otlp/plain/json-mutations.ts';
import { agreeOnMetrics } from '../../support/otlp/plain/metric-twin.ts';
import { mutatedWire } from '../../support/otlp/plain/protobuf-mutations.ts';
import { mutatedBytes } from '../bytes.ts';
import { depthOf, depthSafe, printJson } from '../json-text.ts';
import type { Target } from '../target.ts';

const contexts: readonly ItemsContext[] = [
  forgivingContext(),
  contextOfMany(),
  contextOfMany({ attributesMax: 1, valueBytesMax: 5, itemsMax: 6, bucketsMax: 2, exemplarsMax: 1 }, '::1'),
  contextOfMany({ attributesMax: 0, valueBytesMax: 1, itemsMax: 2 }),
];

/** The requests that the members of a corpus were made of: mutations start from those. */
const origins = new WeakMap<Buffer, OtlpMetricsRequest>();

const encodeJson = (request: OtlpMetricsRequest): Buffer => Buffer.from(JSON.stringify(request));

const corpusOf =
  (encode: (request: OtlpMetricsRequest) => Buffer) =>
  (seed: number): Buffer[] =>
    fc.sample(anyMetricsRequest, { seed, numRuns: 150 }).map((request) => {
      const bytes = encode(request);
      origins.set(bytes, request);
      return bytes;
    });

const checkOf =
  (encoding: Encoding) =>
  (bytes: Buffer): string => {
    const context = contexts[crc32(bytes) % contexts.length] ?? forgivingContext();
    // No sender nests deeper, and the twin nests calls.
    if (encoding === 'json' && depthOf(bytes.toString('utf8')) > depthSafe) return 'too deep';
    return agreeOnMetrics(encoding, bytes, context).kind;
  };

/** Data points in JSON against their plain twin. */
export const otelMetricsJsonTarget: Target = {
  name: 'otel-metrics-json',
  corpus: corpusOf(encodeJson),
  mutate: (random, valid, other) => {
    const kind = random(6);
    if (kind === 0) return mutatedBytes(random, valid, other);
    const request = origins.get(valid) ?? {};
    if (kind === 1) return Buffer.from(printJson(request, random, random(2) === 0 ? 15 : 60));
    return mutatedText(request, random);
  },
  check: checkOf('json'),
};

/** Data points in protobuf against their plain twin. */
export const otelMetricsProtobufTarget: Target = {
  name: 'otel-metrics-protobuf',
  corpus: corpusOf((request) => encodeMetricsProtobuf(request)),
  mutate: (random, valid, other) =>
    random(4) === 0
      ? mutatedBytes(random, valid, other)
      : mutatedWire(
          encodeMetricsProtobuf(origins.get(valid) ?? {}, random(2) === 0 ? 'packed' : 'unpacked'),
          'metrics',
          random,
        ),
  check: checkOf('protobuf'),
};
