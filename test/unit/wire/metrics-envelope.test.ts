import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { envelopeVersion } from '../../../src/wire/frame.ts';
import {
  type DeferredGroup,
  decodeEnvelope,
  encodeEnvelope,
  type MetricsHeader,
  type Part,
} from '../../../src/wire/metrics-envelope.ts';
import { always, anyText } from '../../support/properties.ts';

const bytes = fc.uint8Array({ maxLength: 60 });
const whole = fc.maxSafeNat();

const part: fc.Arbitrary<[Part, Uint8Array]> = fc
  .record({
    dataId: whole,
    table: anyText(),
    layout: fc.constantFrom('wide' as const, 'narrow' as const),
    rows: whole,
    points: whole,
    base: fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }).map(String),
    first: whole,
    last: whole,
    timeMin: whole,
    timeMax: whole,
    section: bytes,
  })
  .map(({ section, ...rest }) => [{ ...rest, bytes: section.length }, section]);

const window = fc.option(whole, { nil: undefined });

const deferredGroup: fc.Arbitrary<[DeferredGroup, Uint8Array]> = fc
  .record({
    dataId: whole,
    arrivedAt: whole,
    policy: fc.record({ aheadMsMax: window, ageMsMax: window }),
    base: fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }).map(String),
    ordinals: fc.array(whole, { maxLength: 5 }),
    section: bytes,
  })
  .map(({ section, ...rest }) => [{ ...rest, bytes: section.length }, section]);

type Message = { header: MetricsHeader; partBytes: Uint8Array[]; deferredBytes: Uint8Array[] };

const message: fc.Arbitrary<Message> = fc
  .record({
    arrivedAt: whole,
    parts: fc.array(part, { maxLength: 4 }),
    deferred: fc.array(deferredGroup, { maxLength: 4 }),
    outcomes: fc.array(
      fc.record({ dataId: whole, dropped: fc.dictionary(fc.string({ minLength: 1, maxLength: 8 }), whole) }),
      { maxLength: 3 },
    ),
  })
  .map(({ arrivedAt, parts, deferred, outcomes }) => {
    const header: MetricsHeader = {
      version: envelopeVersion,
      kind: 'metrics',
      arrivedAt,
      parts: parts.map(([head]) => head),
      deferred: deferred.map(([head]) => head),
      outcomes,
    };
    return {
      header,
      partBytes: parts.map(([, section]) => section),
      deferredBytes: deferred.map(([, section]) => section),
    };
  });

const encode = ({ header, partBytes, deferredBytes }: Message): Buffer =>
  encodeEnvelope(header, [...partBytes, ...deferredBytes]);

const plain = (sections: readonly Uint8Array[]): number[][] => sections.map((section) => [...section]);

/** A payload whose header is this JSON. */
const payloadOf = (header: unknown, ...sections: Uint8Array[]): Buffer => {
  const json = Buffer.from(typeof header === 'string' ? header : JSON.stringify(header));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(json.length);
  return Buffer.concat([length, json, ...sections]);
};

const onePart: Part = {
  dataId: 1500001,
  table: '2_mon_time_series_1500001.__default__',
  layout: 'wide',
  rows: 1,
  points: 1,
  base: '7',
  first: 0,
  last: 0,
  timeMin: 1,
  timeMax: 1,
  bytes: 3,
};
const oneGroup: DeferredGroup = {
  dataId: 1500001,
  arrivedAt: 1,
  policy: { aheadMsMax: 1, ageMsMax: undefined },
  base: '7',
  ordinals: [1],
  bytes: 2,
};
const header: MetricsHeader = {
  version: 1,
  kind: 'metrics',
  arrivedAt: 1,
  parts: [onePart],
  deferred: [oneGroup],
  outcomes: [{ dataId: 1500001, dropped: { metrics_empty: 1 } }],
};
const sections = [Buffer.from('abc'), Buffer.from('[]')];

describe('an envelope', () => {
  it('is read as it was written, header and every section', () => {
    always(
      fc.property(message, (written) => {
        const read = decodeEnvelope(encode(written), envelopeVersion);
        if (read.kind !== 'envelope') throw new Error(`read as ${read.kind}`);
        expect(read.envelope.header).toEqual(JSON.parse(JSON.stringify(written.header)));
        expect(plain(read.envelope.partBytes)).toEqual(plain(written.partBytes));
        expect(plain(read.envelope.deferredBytes)).toEqual(plain(written.deferredBytes));
      }),
    );
  });

  it('is read from the middle of a larger buffer, as the NATS client hands it over', () => {
    const payload = payloadOf(header, ...sections);
    const inside = Buffer.concat([Buffer.from('before'), payload, Buffer.from('after')]);
    const read = decodeEnvelope(new Uint8Array(inside.buffer, inside.byteOffset + 6, payload.length), 1);
    expect(read.kind === 'envelope' && plain(read.envelope.partBytes)).toEqual([[97, 98, 99]]);
  });

  // A cut message must end in the dead letters, and not as other rows than were acknowledged.
  it('that was cut anywhere, or has bytes too many, is unreadable', () => {
    always(
      fc.property(message, (written) => {
        const payload = encode(written);
        for (let length = 0; length < payload.length; length++) {
          expect(decodeEnvelope(payload.subarray(0, length), undefined).kind).toBe('unreadable');
        }
        expect(decodeEnvelope(Buffer.concat([payload, Buffer.of(0)]), undefined).kind).toBe('unreadable');
      }),
      25,
    );
  });

  it('never throws for any bytes', () => {
    always(
      fc.property(
        fc.uint8Array({ maxLength: 200 }),
        fc.option(fc.integer(), { nil: undefined }),
        (payload, version) => {
          decodeEnvelope(payload, version);
        },
      ),
      1000,
    );
    always(
      fc.property(message, fc.nat(), fc.nat(255), (written, at, value) => {
        const payload = encode(written);
        payload[at % payload.length] = value;
        decodeEnvelope(payload, undefined);
      }),
      1000,
    );
  });
});

describe('the version', () => {
  it.each([
    ['the NATS header, for any payload', Buffer.from('a layout to come'), 2, 2],
    [
      'the payload, where the NATS header says nothing',
      payloadOf({ version: 7, sections: [] }),
      undefined,
      7,
    ],
    ['the payload, where the NATS header says less', payloadOf({ version: 3 }), 1, 3],
  ])('of a newer program is recognised by %s', (_, payload, versionInHeader, version) => {
    expect(decodeEnvelope(payload, versionInHeader)).toEqual({ kind: 'newer', version });
  });

  it('of this program is read with and without the NATS header', () => {
    const payload = payloadOf(header, ...sections);
    expect(decodeEnvelope(payload, undefined).kind).toBe('envelope');
    expect(decodeEnvelope(payload, 1).kind).toBe('envelope');
  });
});

describe('unreadable are', () => {
  const withPart = (change: Record<string, unknown>) => ({ ...header, parts: [{ ...onePart, ...change }] });
  const withGroup = (change: Record<string, unknown>) => ({
    ...header,
    deferred: [{ ...oneGroup, ...change }],
  });

  it.each([
    ['nothing', Buffer.alloc(0), 'length field'],
    ['three bytes', Buffer.from('abc'), 'length field'],
    ['a length beyond the message', Buffer.from([255, 255, 255, 255, 1]), 'longer than the message'],
    ['a header that is not valid JSON', payloadOf('{"version":1', ...sections), 'not JSON'],
    ['a header that is no object', payloadOf([1]), 'no version'],
    ['a header without version', payloadOf({ ...header, version: undefined }, ...sections), 'no version'],
    ['a version that is no number', payloadOf({ ...header, version: '1' }, ...sections), 'no version'],
    ['another kind', payloadOf({ ...header, kind: 'traces' }, ...sections), 'does not match version 1'],
    ['parts that are no array', payloadOf({ ...header, parts: {} }, ...sections), 'does not match version 1'],
    [
      'a part without table',
      payloadOf(withPart({ table: undefined }), ...sections),
      'does not match version 1',
    ],
    [
      'a part of another layout',
      payloadOf(withPart({ layout: 'tall' }), ...sections),
      'does not match version 1',
    ],
    [
      'a part of negative length',
      payloadOf(withPart({ bytes: -3 }), ...sections),
      'does not match version 1',
    ],
    ['a part of half a byte', payloadOf(withPart({ bytes: 2.5 }), ...sections), 'does not match version 1'],
    [
      'a group without policy',
      payloadOf(withGroup({ policy: null }), ...sections),
      'does not match version 1',
    ],
    [
      'a group with texts as ordinals',
      payloadOf(withGroup({ ordinals: ['1'] }), ...sections),
      'does not match version 1',
    ],
    [
      'outcomes that are no counts',
      payloadOf({ ...header, outcomes: [{ dataId: 1, dropped: { x: -1 } }] }, ...sections),
      'does not match version 1',
    ],
    ['a section too short', payloadOf(withPart({ bytes: 4 }), ...sections), 'lengths of the sections'],
    ['a section too long', payloadOf(withPart({ bytes: 2 }), ...sections), 'lengths of the sections'],
    ['a section that is missing', payloadOf(header, Buffer.from('abc')), 'lengths of the sections'],
  ])('%s', (_, payload, why) => {
    expect(decodeEnvelope(payload, undefined)).toEqual({
      kind: 'unreadable',
      why: expect.stringContaining(why),
    });
  });
});
