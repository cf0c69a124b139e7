import assert from 'node:assert/strict';
import fc from 'fast-check';
import { buildItemsMessage } from '../../../src/ingress/otlp/publish.ts';
import { jsonTraces } from '../../../src/rules/spans/json-traces.ts';
import { decodeBlocksEnvelope, encodeBlocksEnvelope } from '../../../src/wire/blocks-envelope.ts';
import { envelopeVersion } from '../../../src/wire/frame.ts';
import { decodeEnvelope, encodeEnvelope, type MetricsHeader } from '../../../src/wire/metrics-envelope.ts';
import { contextOfMany } from '../../support/otlp/plain/agreement.ts';
import type { Random } from '../../support/otlp/plain/mutations.ts';
import { encodeOtlpJson } from '../../support/otlp/protobuf.ts';
import { anyRequest } from '../../support/otlp/requests.ts';
import { mutatedBytes } from '../bytes.ts';
import { depthOf, depthSafe, printJson } from '../json-text.ts';
import type { Target } from '../target.ts';

const bytes = fc.uint8Array({ maxLength: 40 });
const whole = fc.maxSafeNat();

const anyMessage = fc
  .record({
    arrivedAt: whole,
    sections: fc.array(bytes, { maxLength: 3 }),
    groups: fc.array(fc.tuple(bytes, fc.array(whole, { maxLength: 4 })), { maxLength: 3 }),
    dropped: fc.dictionary(fc.string({ minLength: 1, maxLength: 8 }), whole),
  })
  .map(({ arrivedAt, sections, groups, dropped }) => {
    const header: MetricsHeader = {
      ...{ version: envelopeVersion, kind: 'metrics', arrivedAt, outcomes: [{ dataId: 1, dropped }] },
      parts: sections.map((section, index) => ({
        ...{ dataId: index, table: 'é "t"', layout: 'wide', rows: 1, points: 1, base: '7' },
        ...{ first: 0, last: 0, timeMin: 1, timeMax: 2, bytes: section.length },
      })),
      deferred: groups.map(([section, ordinals]) => ({
        ...{ dataId: 1, arrivedAt, policy: { aheadMsMax: 1, ageMsMax: undefined }, base: '7' },
        ...{ ordinals, bytes: section.length },
      })),
    };
    return encodeEnvelope(header, [...sections, ...groups.map(([section]) => section)]);
  });

const lengthBytes = 4;

/** The message with another header and its right length. */
const withHeader = (message: Buffer, random: Random): Buffer => {
  const end = lengthBytes + message.readUInt32LE(0);
  const header: unknown = JSON.parse(message.toString('utf8', lengthBytes, end));
  const text = Buffer.from(printJson(header, random, [6, 30][random(2)] ?? 30));
  const length = Buffer.alloc(lengthBytes);
  length.writeUInt32LE(text.length);
  return Buffer.concat([length, text, message.subarray(end)]);
};

const mutate: Target['mutate'] = (random, valid, other) =>
  random(2) === 0 ? withHeader(valid, random) : mutatedBytes(random, valid, other);

type Read = ReturnType<typeof decodeEnvelope> | ReturnType<typeof decodeBlocksEnvelope>;

/** Sections are what the header says, lie in order and leave nothing over; written again the message reads the same. */
const expectSections = (read: Read, payload: Buffer, rewrite: (sections: Uint8Array[]) => Read): void => {
  if (read.kind !== 'envelope') return;
  const { header, partBytes, deferredBytes } = read.envelope;
  const sections = [...partBytes, ...deferredBytes];
  const told = [...header.parts, ...header.deferred].map((section) => section.bytes);
  assert.deepStrictEqual(
    sections.map((section) => section.length),
    told,
  );
  const body = Buffer.concat(sections);
  assert.deepStrictEqual(body, Buffer.from(payload.subarray(payload.length - body.length)));
  if (depthOf(payload.toString('latin1')) > depthSafe) return;
  const again = rewrite(sections);
  // As text: JSON has no name for -0 and infinity, which a header may hold where nobody reads it.
  assert.equal(again.kind, 'envelope');
  assert.equal(JSON.stringify(again), JSON.stringify(read));
};

const checkMetrics = (payload: Buffer): string => {
  const read = decodeEnvelope(payload, undefined);
  expectSections(read, payload, (sections) =>
    decodeEnvelope(
      encodeEnvelope(read.kind === 'envelope' ? read.envelope.header : assert.fail(), sections),
      undefined,
    ),
  );
  return read.kind;
};

const checkSpans = (payload: Buffer): string => {
  const read = decodeBlocksEnvelope(payload, undefined);
  expectSections(read, payload, (sections) =>
    decodeBlocksEnvelope(
      encodeBlocksEnvelope(read.kind === 'envelope' ? read.envelope.header : assert.fail(), sections),
      undefined,
    ),
  );
  return read.kind;
};

/** Messages of the METRICS stream. */
export const metricsEnvelopeTarget: Target = {
  name: 'envelope-metrics',
  corpus: (seed) => fc.sample(anyMessage, { seed, numRuns: 150 }),
  mutate,
  check: checkMetrics,
  checkCut: (cut) => assert.equal(decodeEnvelope(cut, undefined).kind, 'unreadable'),
};

/** Messages of the TRACES stream. */
export const spansEnvelopeTarget: Target = {
  name: 'envelope-spans',
  corpus: (seed) => {
    const context = contextOfMany();
    return fc
      .sample(anyRequest, { seed, numRuns: 150 })
      .flatMap((request) => jsonTraces.encode(encodeOtlpJson(request), context).runs)
      .map((run) =>
        buildItemsMessage({ pipeline: 'traces', run, base: context.base, arrivedAt: context.arrivedAt }),
      );
  },
  mutate,
  check: checkSpans,
  checkCut: (cut) => assert.equal(decodeBlocksEnvelope(cut, undefined).kind, 'unreadable'),
};
