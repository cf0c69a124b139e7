import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ItemsContext } from '../../../../src/wire/otlp/types.ts';
import {
  agree,
  contextOfMany,
  type Encoding,
  forgivingContext,
} from '../../../support/otlp/plain/agreement.ts';
import { alikeSpans } from '../../../support/otlp/plain/alike-spans.ts';
import { mutatedJson } from '../../../support/otlp/plain/json-mutations.ts';
import { randomOf } from '../../../support/otlp/plain/mutations.ts';
import { mutatedProtobuf } from '../../../support/otlp/plain/protobuf-mutations.ts';
import { encodeOtlpJson, encodeOtlpProtobuf, type OtlpRequest } from '../../../support/otlp/protobuf.ts';
import { anyRequest } from '../../../support/otlp/requests.ts';
import { goodSpan, requestOf } from '../../../support/otlp/trace-source.ts';
import { always } from '../../../support/properties.ts';

/** Limits that the generated requests reach, or not. */
const anyContext = fc
  .tuple(
    fc.record(
      {
        attributesMax: fc.constantFrom(0, 1, 2, 4),
        eventsMax: fc.constantFrom(0, 1, 2),
        linksMax: fc.constantFrom(0, 1, 2),
        valueBytesMax: fc.constantFrom(1, 3, 5, 20),
        spansMax: fc.constantFrom(2, 6),
      },
      { requiredKeys: [] },
    ),
    fc.constantFrom('192.0.2.9', '::ffff:192.0.2.9', '127.0.0.1', '::1', '2001:db8::7'),
  )
  .map(([limits, clientIp]) => contextOfMany(limits, clientIp));

type Counts = { read: number; malformed: number; rows: number };

const compare = (encoding: Encoding, bytes: Uint8Array, context: ItemsContext, counts?: Counts): void => {
  const { kind, rows } = agree(encoding, bytes, context);
  if (counts === undefined) return;
  if (kind === 'read') counts.read++;
  else counts.malformed++;
  counts.rows += rows;
};

const encodings = [
  ['JSON', 'json', encodeOtlpJson, mutatedJson],
  ['protobuf', 'protobuf', encodeOtlpProtobuf, mutatedProtobuf],
] as const;

// The readers are written for speed and share buffers between requests: a wrong offset would store a neighbour's data.
describe.each(encodings)('the reader of %s and its plain twin', (_, encoding, encode, mutated) => {
  it('agree on the output of exporters', () => {
    always(
      fc.property(anyRequest, (request) => compare(encoding, encode(request), contextOfMany())),
      150,
    );
  });

  it('agree on spans of more days than a request may hold', () => {
    // Ten messages of 250 days each.
    const attributes = [{ key: 'text', value: { stringValue: 'x'.repeat(4000) } }];
    const spans = Array.from({ length: 2500 }, (__, index) => {
      const time = String(BigInt(goodSpan.startTimeUnixNano) - BigInt(index % 250) * 86_400_000_000_000n);
      return { ...goodSpan, startTimeUnixNano: time, endTimeUnixNano: time, attributes };
    });
    const counts = { read: 0, malformed: 0, rows: 0 };
    compare(encoding, encode(requestOf(...spans)), contextOfMany(), counts);
    expect(counts).toEqual({ read: 1, malformed: 0, rows: 2048 });
  });

  it('agree under limits that a request reaches', () => {
    always(
      fc.property(anyRequest, anyContext, (request, context) => compare(encoding, encode(request), context)),
      250,
    );
  });

  it('agree on requests that are more than one message', () => {
    const pad = (size: number): OtlpRequest['resourceSpans'] => [
      {
        resource: { attributes: [{ key: 'pad', value: { stringValue: 'p'.repeat(size) } }] },
        scopeSpans: [{ spans: Array.from({ length: 3 }, () => ({ name: 'n'.repeat(size / 3) })) }],
      },
    ];
    always(
      fc.property(anyRequest, fc.integer({ min: 1000, max: 900_000 }), ({ resourceSpans = [] }, size) =>
        compare(
          encoding,
          encode({ resourceSpans: [...(pad(size) ?? []), ...resourceSpans] }),
          contextOfMany(),
        ),
      ),
      25,
    );
  });

  it('agree on bodies that no exporter would write', () => {
    const counts: Counts = { read: 0, malformed: 0, rows: 0 };
    always(
      fc.property(anyRequest, fc.integer(), (request, seed) =>
        compare(encoding, mutated(request, randomOf(seed)), forgivingContext(), counts),
      ),
      800,
    );
    // Bodies that all fail would compare nothing.
    expect(counts.malformed).toBeGreaterThan(30);
    expect(counts.read).toBeGreaterThan(300);
    expect(counts.rows).toBeGreaterThan(150);
  });
});

// Earlier parts of the body give the reader of JSON the beginning of an attribute: none of that may reach another's
// row.
describe('spans with the same attributes', () => {
  it('are read by the reader of JSON as by its plain twin', () => {
    const counts: Counts = { read: 0, malformed: 0, rows: 0 };
    always(
      fc.property(fc.integer(), (seed) =>
        compare('json', alikeSpans(randomOf(seed)), forgivingContext(), counts),
      ),
      1200,
    );
    expect(counts.malformed).toBeGreaterThan(30);
    expect(counts.read).toBeGreaterThan(600);
    expect(counts.rows).toBeGreaterThan(2700);
  });

  it('are held to the limits of values and attributes', () => {
    always(
      fc.property(fc.integer(), anyContext, (seed, context) =>
        compare('json', alikeSpans(randomOf(seed)), context),
      ),
      300,
    );
  });
});
