import assert from 'node:assert/strict';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { jsonTraces } from '../../../src/rules/spans/json-traces.ts';
import { protobufTraces } from '../../../src/rules/spans/protobuf-traces.ts';
import {
  type EncodedItems,
  type ItemsContext,
  MalformedBody,
  TooManyItems,
} from '../../../src/wire/otlp/types.ts';
import { agree, contextOfMany, type Encoding, forgivingContext } from '../../support/otlp/plain/agreement.ts';
import { alikeSpans } from '../../support/otlp/plain/alike-spans.ts';
import { mutatedJson } from '../../support/otlp/plain/json-mutations.ts';
import { type Random, shuffled } from '../../support/otlp/plain/mutations.ts';
import { mutatedProtobuf } from '../../support/otlp/plain/protobuf-mutations.ts';
import { encodeOtlpJson, encodeOtlpProtobuf, type OtlpRequest } from '../../support/otlp/protobuf.ts';
import { anyRequest } from '../../support/otlp/requests.ts';
import { mutatedBytes } from '../bytes.ts';
import { exampleBodies, pickBody } from '../example-bodies.ts';
import { depthOf, depthSafe, printJson } from '../json-text.ts';
import type { Target } from '../target.ts';

const contexts: readonly ItemsContext[] = [
  forgivingContext(),
  contextOfMany(),
  contextOfMany({ attributesMax: 1, eventsMax: 1, linksMax: 1, valueBytesMax: 5, itemsMax: 6 }, '::1'),
  contextOfMany({ attributesMax: 0, eventsMax: 0, linksMax: 0, valueBytesMax: 1, itemsMax: 2 }),
];

/** The requests that the members of a corpus were made of: the twin's mutations start from those. */
const origins = new WeakMap<Buffer, OtlpRequest>();

const corpusOf =
  (encode: (request: OtlpRequest) => Buffer) =>
  (seed: number): Buffer[] =>
    fc.sample(anyRequest, { seed, numRuns: 150 }).map((request) => {
      const bytes = encode(request);
      origins.set(bytes, request);
      return bytes;
    });

const documented = {
  json: exampleBodies('traces', 'json'),
  protobuf: exampleBodies('traces', 'protobuf'),
};

const originOf = (bytes: Buffer): OtlpRequest => origins.get(bytes) ?? {};

const checkOf =
  (encoding: Encoding) =>
  (bytes: Buffer): string => {
    const context = contexts[crc32(bytes) % contexts.length] ?? forgivingContext();
    if (encoding === 'protobuf' || depthOf(bytes.toString('utf8')) <= depthSafe)
      return agree(encoding, bytes, context).kind;
    try {
      jsonTraces.encode(bytes, context);
      return 'read';
    } catch (error) {
      if (error instanceof MalformedBody) return 'malformed';
      if (error instanceof TooManyItems) return 'too many';
      throw error;
    }
  };

/** OTLP in JSON against its plain twin. */
export const otlpJsonTarget: Target = {
  name: 'otlp-json',
  corpus: corpusOf(encodeOtlpJson),
  mutate: (random: Random, valid, other) => {
    const kind = random(7);
    if (kind === 0) return mutatedBytes(random, valid, other);
    if (kind === 6) return alikeSpans(random);
    if (kind === 5) return mutatedBytes(random, pickBody(random, documented.json, valid), other);
    if (kind === 1) return Buffer.from(printJson(originOf(valid), random, random(2) === 0 ? 15 : 60));
    return mutatedJson(originOf(valid), random);
  },
  check: checkOf('json'),
  checkCut: (cut) => {
    assert.throws(() => jsonTraces.encode(cut, forgivingContext()), MalformedBody);
  },
};

/** OTLP in protobuf against its plain twin. */
export const otlpProtobufTarget: Target = {
  name: 'otlp-protobuf',
  corpus: corpusOf(encodeOtlpProtobuf),
  mutate: (random: Random, valid, other) => {
    const kind = random(7);
    if (kind === 6) return mutatedBytes(random, pickBody(random, documented.protobuf, valid), other);
    return kind < 2 ? mutatedBytes(random, valid, other) : mutatedProtobuf(originOf(valid), random);
  },
  check: checkOf('protobuf'),
};

const comparable = (encoded: EncodedItems): unknown => ({
  ...encoded,
  examples: encoded.examples.map(({ index, reason, field }) => ({ index, reason, field })),
});

/** Both encodings of a canonical request; undefined for malformed bytes. */
const bothOf = (bytes: Buffer): readonly [json: Buffer, protobuf: Buffer] | undefined => {
  try {
    const request: OtlpRequest = JSON.parse(bytes.toString('utf8'));
    return [encodeOtlpJson(request), encodeOtlpProtobuf(request)];
  } catch {
    return undefined;
  }
};

/** The same data in both encodings, which must come to the same runs, blocks and counts, byte for byte. */
export const otlpEqualTarget: Target = {
  name: 'otlp-equal',
  corpus: corpusOf(encodeOtlpJson),
  mutate: (random: Random, valid, other) => {
    const all = [valid, other].flatMap((each) => originOf(each).resourceSpans ?? []);
    const scopes = all.flatMap(({ scopeSpans = [] }) => scopeSpans);
    const spans = scopes.flatMap((scope) => scope.spans ?? []);
    const mixed = shuffled(random, all).map((resourceSpans) => ({
      ...resourceSpans,
      scopeSpans: shuffled(random, scopes)
        .slice(0, random(3))
        .map((scope) => ({ ...scope, spans: shuffled(random, spans).slice(0, random(5)) })),
    }));
    return encodeOtlpJson({ resourceSpans: mixed });
  },
  check: (bytes) => {
    const both = bothOf(bytes);
    if (both === undefined) return 'not canonical';
    const context = contextOfMany();
    const [json, protobuf] = both;
    assert.deepStrictEqual(
      comparable(protobufTraces.encode(protobuf, context)),
      comparable(jsonTraces.encode(json, context)),
    );
    return 'read';
  },
};
