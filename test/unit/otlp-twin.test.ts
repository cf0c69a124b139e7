import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defaultTimePolicy } from '../../src/model/time.ts';
import { countedBase } from '../../src/model/uid.ts';
import { jsonTraces } from '../../src/wire/otlp/json-traces.ts';
import { protobufTraces } from '../../src/wire/otlp/protobuf-traces.ts';
import {
  defaultTraceLimits,
  type EncodedTraces,
  MalformedBody,
  type SpanOwner,
  TooManySpans,
  type TraceLimits,
  type TracesContext,
} from '../../src/wire/otlp/types.ts';
import { encodeOtlpJson, encodeOtlpProtobuf, type OtlpRequest } from '../support/otlp-protobuf.ts';
import { anyRequest, arrivedAt } from '../support/otlp-requests.ts';
import { mutatedJson } from '../support/plain-otlp/json-mutations.ts';
import { NotReadable } from '../support/plain-otlp/model.ts';
import { randomOf } from '../support/plain-otlp/mutations.ts';
import { mutatedProtobuf } from '../support/plain-otlp/protobuf-mutations.ts';
import { type Twin, twinOf } from '../support/plain-otlp/twin.ts';
import { always } from '../support/properties.ts';
import { rowsOfTraces } from '../support/span-blocks.ts';

const owners = new Map<string | undefined, SpanOwner>([
  [undefined, { appId: 1, bizId: 2, fillDimensions: true, policy: defaultTimePolicy }],
  [
    'token-a',
    {
      appId: 70_000_000_000,
      bizId: -5,
      fillDimensions: false,
      policy: { ...defaultTimePolicy, ageMsMax: 86_400_000 },
    },
  ],
  ['token-b', { appId: 3, bizId: 0, fillDimensions: true, policy: defaultTimePolicy }],
]);

/** An application with limits of its own, which are never wider than those of the request. */
const limited = (limits: TraceLimits): SpanOwner => ({
  ...{ appId: 4, bizId: 7, fillDimensions: true, policy: defaultTimePolicy },
  limits: {
    spansMax: limits.spansMax,
    attributesMax: Math.min(limits.attributesMax, 2),
    eventsMax: Math.min(limits.eventsMax, 1),
    linksMax: Math.min(limits.linksMax, 1),
    valueBytesMax: Math.min(limits.valueBytesMax, 4),
  },
});

const contextWith = (some: Partial<TraceLimits> = {}, clientIp = '192.0.2.9'): TracesContext => {
  const limits = { ...defaultTraceLimits, ...some };
  const known = new Map(owners).set('cart', limited(limits));
  return {
    resolve: (token) => known.get(token) ?? (token === 'token-off' ? 'disabled' : 'invalid'),
    clientIp,
    // So that the uids of one request go across 32 bits.
    base: countedBase(9, 2 ** 32 - 2),
    arrivedAt,
    limits,
  };
};

/** Most tokens are good ones, so that most spans get as far as a row. */
const forgivingContext = (): TracesContext => {
  const context = contextWith();
  const resolve: TracesContext['resolve'] = (token) => {
    if (token === 'token-b') return 'invalid';
    const known = context.resolve(token);
    return typeof known === 'string' ? context.resolve(undefined) : known;
  };
  return { ...context, resolve };
};

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
  .map(([limits, clientIp]) => contextWith(limits, clientIp));

const sorted = (counts: Iterable<readonly [string, number]>): [string, number][] =>
  [...counts].map(([key, count]): [string, number] => [key, count]).sort(([a], [b]) => (a < b ? -1 : 1));

const ascending = (a: { ordinal: number }, b: { ordinal: number }): number => a.ordinal - b.ordinal;

/** What a reader yields, in the form of the twin. */
const shownReader = (encoded: EncodedTraces): unknown => ({
  ...{ spans: encoded.spans, accepted: encoded.accepted },
  ...{
    cutValues: encoded.cutValues,
    eventsDropped: encoded.eventsDropped,
    linksDropped: encoded.linksDropped,
  },
  rejected: sorted(encoded.rejected),
  deferred: sorted(encoded.deferred),
  leniencies: sorted(encoded.leniencies),
  runs: encoded.runs.map(({ first, last }) => [first, last]),
  rows: rowsOfTraces(encoded),
  parts: encoded.runs.flatMap(({ parts }, run) => parts.map(({ block, ...part }) => ({ run, ...part }))),
  dropped: sorted(
    encoded.runs.flatMap(({ dropped }, run) =>
      dropped.flatMap(({ appId, reasons }) =>
        [...reasons].map(([reason, count]): [string, number] => [`${run} ${appId} ${reason}`, count]),
      ),
    ),
  ),
  deferredItems: encoded.runs
    .flatMap(({ deferred }, run) =>
      deferred.flatMap(({ appId, ordinals, texts }) =>
        ordinals.map((ordinal, index) => {
          const item: unknown = JSON.parse(texts[index] ?? '');
          return { run, ordinal, appId, item };
        }),
      ),
    )
    .sort(ascending),
  examples: encoded.examples.map(({ index, reason }) => ({ index, reason })),
});

const shownTwin = (twin: Twin): unknown => ({
  ...{ spans: twin.spans, accepted: twin.rows.length },
  ...{ cutValues: twin.cutValues, eventsDropped: twin.eventsDropped, linksDropped: twin.linksDropped },
  rejected: sorted(twin.rejected),
  deferred: sorted(twin.deferred),
  leniencies: sorted(twin.leniencies),
  runs: twin.runs,
  rows: twin.rows,
  parts: [...twin.parts.values()].map(({ starts, ...part }) => {
    const ordered = starts.toSorted((a, b) => (a < b ? -1 : 1));
    return {
      ...part,
      rows: starts.length,
      timeMin: String(ordered.at(0)),
      timeMax: String(ordered.at(-1)),
    };
  }),
  dropped: sorted(twin.dropped),
  deferredItems: twin.deferredItems,
  examples: twin.examples.map(({ index, reason }) => ({ index, reason })),
});

type Verdict<T> = { readonly kind: 'read'; readonly result: T } | { readonly kind: 'malformed' | 'too many' };

const verdictOf = <T>(read: () => T): Verdict<T> => {
  try {
    return { kind: 'read', result: read() };
  } catch (error) {
    if (error instanceof MalformedBody || error instanceof NotReadable) return { kind: 'malformed' };
    if (error instanceof TooManySpans) return { kind: 'too many' };
    throw error;
  }
};

type Counts = { read: number; malformed: number; rows: number };

/** Compares all that the reader yields of a body with what the twin does. */
const compare = (
  encoding: 'json' | 'protobuf',
  bytes: Uint8Array,
  context: TracesContext,
  counts?: Counts,
): void => {
  const reader = encoding === 'json' ? jsonTraces : protobufTraces;
  const asked = new Set<string>();
  const resolve = (token: string | undefined): ReturnType<TracesContext['resolve']> => {
    if (token !== undefined) asked.add(token);
    return context.resolve(token);
  };
  const encoded = verdictOf(() => reader.encodeTraces(bytes, { ...context, resolve }));
  const twin = verdictOf(() => twinOf[encoding](bytes, context));
  expect(encoded.kind).toBe(twin.kind);
  if (counts !== undefined && encoded.kind !== 'read') counts.malformed++;
  if (encoded.kind !== 'read' || twin.kind !== 'read') return;
  if (counts !== undefined) {
    counts.read++;
    counts.rows += encoded.result.accepted;
  }
  expect(shownReader(encoded.result)).toEqual(shownTwin(twin.result));
  for (const [index, { field }] of encoded.result.examples.entries())
    expect(twin.result.examples[index]?.fields).toContain(field);
  const unknown = encoded.result.spans === 0 ? [...twin.result.unknown] : [];
  if (unknown.length <= 10) expect(encoded.result.unknownTopLevelKeys.toSorted()).toEqual(unknown.toSorted());
  const collected = reader.collectTokens(bytes);
  // A name that comes twice may have made the reader ask for a token that does not count.
  expect([...asked].filter((token) => twin.result.tokens.has(token) && !collected.includes(token))).toEqual(
    [],
  );
  expect(collected.filter((token) => !twin.result.tokens.has(token))).toEqual([]);
};

const encodings = [
  ['JSON', 'json', encodeOtlpJson, mutatedJson],
  ['protobuf', 'protobuf', encodeOtlpProtobuf, mutatedProtobuf],
] as const;

// The readers are written for speed and share buffers between requests: a wrong offset would store a neighbour's data.
describe.each(encodings)(
  'the reader of %s and its plain twin',
  { timeout: 60_000 },
  (_, encoding, encode, mutated) => {
    it('agree on what exporters send', () => {
      always(
        fc.property(anyRequest, (request) => compare(encoding, encode(request), contextWith())),
        500,
      );
    });

    it('agree under limits that a request reaches', () => {
      always(
        fc.property(anyRequest, anyContext, (request, context) =>
          compare(encoding, encode(request), context),
        ),
        800,
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
            contextWith(),
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
        2500,
      );
      // Bodies that all fail would compare nothing.
      expect(counts.malformed).toBeGreaterThan(100);
      expect(counts.read).toBeGreaterThan(1000);
      expect(counts.rows).toBeGreaterThan(500);
    });
  },
);
