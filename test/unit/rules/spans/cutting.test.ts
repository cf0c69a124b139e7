import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countedBase } from '../../../../src/model/uid.ts';
import { protobufTraces } from '../../../../src/rules/spans/protobuf-traces.ts';
import type { EncodedItems } from '../../../../src/wire/otlp/types.ts';
import {
  encodeOtlpProtobuf,
  type OtlpAttribute,
  type OtlpRequest,
  type OtlpSpan,
} from '../../../support/otlp/protobuf.ts';
import { anyRequest } from '../../../support/otlp/requests.ts';
import { rowsOfTraces } from '../../../support/otlp/span-blocks.ts';
import {
  arrivedAt,
  contextWith,
  encodeJson,
  encodeProtobuf,
  goodSpan,
  nanosAt,
  owner,
  requestOf,
} from '../../../support/otlp/trace-source.ts';
import { always } from '../../../support/properties.ts';

const text = (key: string, value: string): OtlpAttribute => ({ key, value: { stringValue: value } });

const dayMs = 86_400_000;

const encodings = [
  ['JSON', encodeJson],
  ['protobuf', encodeProtobuf],
] as const;

const sum = (counts: Iterable<number>): number => [...counts].reduce((a, b) => a + b, 0);

describe('the parts of a run', () => {
  it.each(encodings)(
    'are one for each day of start, with their least and greatest time (%s)',
    (_, encode) => {
      const midnight = Math.floor(arrivedAt / dayMs) * dayMs - arrivedAt;
      const at = (offset: number, rest: number): OtlpSpan => ({
        ...goodSpan,
        startTimeUnixNano: nanosAt(offset, rest),
        endTimeUnixNano: nanosAt(offset + 5),
      });
      const encoded = encode(
        requestOf(at(midnight, 0), at(midnight - 1, 999_999), at(midnight, 7), at(midnight - 500, 3)),
      );
      const today = Math.floor(arrivedAt / dayMs);
      expect(
        encoded.runs[0]?.parts.map(({ day, rows, timeMin, timeMax }) => ({ day, rows, timeMin, timeMax })),
      ).toEqual([
        { day: today, rows: 2, timeMin: nanosAt(midnight), timeMax: nanosAt(midnight, 7) },
        {
          day: today - 1,
          rows: 2,
          timeMin: nanosAt(midnight - 500, 3),
          timeMax: nanosAt(midnight - 1, 999_999),
        },
      ]);
    },
  );

  it('carry uids across 32 bits', () => {
    const base = countedBase(1, 2 ** 32 - 2);
    const encoded = encodeJson(requestOf(goodSpan, goodSpan, goodSpan, goodSpan), contextWith({ base }));
    expect(rowsOfTraces(encoded).map(({ uid }) => uid)).toEqual(
      [0n, 1n, 2n, 3n].map((n) => BigInt(base.text) + n),
    );
  });
});

describe('the cutting rule', () => {
  const budget = 2 * 2 ** 20;
  const spanOf = (size: number): OtlpSpan => ({ ...goodSpan, name: 'n'.repeat(size) });
  // service.name, cart, an attribute; scope and 1.
  const shared = 12 + 4 + 16 + 5 + 1;
  const cost = (size: number): number => 256 + 2 * (size + shared);
  const runs = (encoded: EncodedItems): [number, number][] =>
    encoded.runs.map(({ first, last }) => [first, last]);

  it.each(encodings)('fills a run up to the budget and not beyond (%s)', (_, encode) => {
    const half = budget / 4 - 128 - shared;
    expect(cost(half) * 2).toBe(budget);
    expect(runs(encode(requestOf(spanOf(half), spanOf(half), spanOf(0))))).toEqual([
      [0, 1],
      [2, 2],
    ]);
    expect(runs(encode(requestOf(spanOf(half), spanOf(half + 1), spanOf(0))))).toEqual([
      [0, 0],
      [1, 2],
    ]);
  });

  it.each(encodings)('keeps the largest span it can and rejects one byte more (%s)', (_, encode) => {
    const largest = budget / 2 - 128 - shared;
    expect(encode(requestOf(spanOf(largest)))).toMatchObject({ accepted: 1 });
    const encoded = encode(requestOf(spanOf(5), spanOf(largest + 1), spanOf(5)));
    expect(Object.fromEntries(encoded.rejected)).toEqual({ item_too_large: 1 });
    expect(runs(encoded)).toEqual([
      [0, 0],
      [1, 1],
      [2, 2],
    ]);
  });

  // A retry is cut alike although policies, limits and tokens have changed in between, else its message ids would differ.
  it('depends on the request alone', () => {
    always(
      fc.property(anyRequest, fc.integer({ min: 1, max: 300_000 }), (request, size) => {
        const padded: OtlpRequest = {
          resourceSpans: (request.resourceSpans ?? []).map(({ resource, ...rest }) => ({
            resource: { attributes: [...(resource?.attributes ?? []), text('pad', 'p'.repeat(size))] },
            ...rest,
          })),
        };
        const bytes = encodeOtlpProtobuf(padded);
        const plain = protobufTraces.encode(bytes, contextWith());
        const other = protobufTraces.encode(
          bytes,
          contextWith({
            resolve: (token) =>
              token === undefined ? { ...owner, appId: 5, fillDimensions: true } : 'invalid',
            arrivedAt: arrivedAt - 100 * dayMs,
            clientIp: '198.51.100.200',
            limits: { attributesMax: 1, eventsMax: 0, linksMax: 1, valueBytesMax: 10 },
          }),
        );
        expect(runs(other)).toEqual(runs(plain));
        expect(runs(encodeJson(padded))).toEqual(runs(plain));
      }),
      100,
    );
  });

  // A message holds 8 MiB: for any content of a run, its sections must fit with room for the header.
  it.each([
    ['empty attributes', { ...goodSpan, attributes: Array.from({ length: 128 }, () => ({})) }],
    [
      'empty events',
      { ...goodSpan, events: Array.from({ length: 128 }, () => ({ timeUnixNano: nanosAt(0) })) },
    ],
    [
      'links',
      {
        ...goodSpan,
        links: Array.from({ length: 128 }, () => ({ traceId: goodSpan.traceId, spanId: goodSpan.spanId })),
      },
    ],
    ['control characters', { ...goodSpan, attributes: [text('\u0001'.repeat(500), '\u0001'.repeat(5000))] }],
    [
      'nested nothing',
      {
        ...goodSpan,
        attributes: [
          {
            key: 'k',
            value: {
              arrayValue: {
                values: Array.from({ length: 500 }, () => ({ doubleValue: -1.7976931348623157e308 })),
              },
            },
          },
        ],
      },
    ],
    ['small spans', goodSpan],
  ])('leaves a run room in a message (%s)', (_, span) => {
    for (const endTimeUnixNano of [goodSpan.endTimeUnixNano, nanosAt(-5000)]) {
      const spans = Array.from({ length: 9000 }, () => ({ ...span, endTimeUnixNano }));
      const encoded = encodeProtobuf(requestOf(...spans.slice(0, span === goodSpan ? 9000 : 400)));
      for (const { parts, deferred } of encoded.runs) {
        const bytes =
          sum(parts.map(({ block }) => block.length)) +
          sum(deferred.flatMap(({ texts }) => texts.map((each) => Buffer.byteLength(each) + 1)));
        expect(bytes).toBeLessThan(7.5 * 2 ** 20);
      }
    }
  });

  it('starts another run when a run would have too many parts', () => {
    const spans = Array.from({ length: 600 }, (_, index) => ({
      ...goodSpan,
      startTimeUnixNano: nanosAt(-index * dayMs),
      endTimeUnixNano: nanosAt(-index * dayMs),
    }));
    const encoded = encodeProtobuf(requestOf<OtlpSpan>(...spans, goodSpan));
    expect(encoded.accepted).toBe(601);
    expect(encoded.runs.map(({ parts }) => parts.length)).toEqual([256, 256, 89]);
  });
});
