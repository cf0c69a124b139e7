import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import type { ItemsContext } from '../../../src/wire/otlp/types.ts';
import { anyLogsRequest } from '../../support/otlp/log-requests.ts';
import { encodeLogsProtobuf, type OtlpLogsRequest } from '../../support/otlp/logs.ts';
import { contextOfMany, type Encoding, forgivingContext } from '../../support/otlp/plain/agreement.ts';
import { mutatedText } from '../../support/otlp/plain/json-mutations.ts';
import { agreeOnLogs } from '../../support/otlp/plain/log-twin.ts';
import { deepOr, type Random } from '../../support/otlp/plain/mutations.ts';
import { mutatedWire } from '../../support/otlp/plain/protobuf-mutations.ts';
import { mutatedBytes } from '../bytes.ts';
import { depthOf, depthSafe, printJson } from '../json-text.ts';
import type { Target } from '../target.ts';

const contexts: readonly ItemsContext[] = [
  forgivingContext(),
  contextOfMany(),
  contextOfMany({ attributesMax: 1, valueBytesMax: 5, itemsMax: 6 }, '::1'),
  contextOfMany({ attributesMax: 0, valueBytesMax: 1, itemsMax: 2 }),
];

/** The requests that the members of a corpus were made of: mutations start from those. */
const origins = new WeakMap<Buffer, OtlpLogsRequest>();

const encodeJson = (request: OtlpLogsRequest): Buffer => Buffer.from(JSON.stringify(request));

const corpusOf =
  (encode: (request: OtlpLogsRequest) => Buffer) =>
  (seed: number): Buffer[] =>
    fc.sample(anyLogsRequest, { seed, numRuns: 150 }).map((request) => {
      const bytes = encode(request);
      origins.set(bytes, request);
      return bytes;
    });

/** With some bodies and attributes nested about as deep as rows hold them. */
const withDeepValues = ({ resourceLogs = [] }: OtlpLogsRequest, random: Random): OtlpLogsRequest => ({
  resourceLogs: resourceLogs.map((entry) => ({
    ...entry,
    scopeLogs: (entry.scopeLogs ?? []).map((scopeLogs) => ({
      ...scopeLogs,
      logRecords: (scopeLogs.logRecords ?? []).map(({ body, ...record }) => {
        const deeper = deepOr(body, random);
        return deeper === undefined ? record : { ...record, body: deeper };
      }),
    })),
  })),
});

const checkOf =
  (encoding: Encoding) =>
  (bytes: Buffer): string => {
    const context = contexts[crc32(bytes) % contexts.length] ?? forgivingContext();
    // No sender nests deeper, and the twin nests calls.
    if (encoding === 'json' && depthOf(bytes.toString('utf8')) > depthSafe) return 'too deep';
    return agreeOnLogs(encoding, bytes, context).kind;
  };

/** Log records in JSON against their plain twin. */
export const logsJsonTarget: Target = {
  name: 'logs-json',
  corpus: corpusOf(encodeJson),
  mutate: (random, valid, other) => {
    const kind = random(6);
    if (kind === 0) return mutatedBytes(random, valid, other);
    const request = withDeepValues(origins.get(valid) ?? {}, random);
    if (kind === 1) return Buffer.from(printJson(request, random, random(2) === 0 ? 15 : 60));
    return mutatedText(request, random);
  },
  check: checkOf('json'),
};

/** Log records in protobuf against their plain twin. */
export const logsProtobufTarget: Target = {
  name: 'logs-protobuf',
  corpus: corpusOf(encodeLogsProtobuf),
  mutate: (random, valid, other) =>
    random(4) === 0
      ? mutatedBytes(random, valid, other)
      : mutatedWire(encodeLogsProtobuf(withDeepValues(origins.get(valid) ?? {}, random)), 'logs', random),
  check: checkOf('protobuf'),
};
