import assert from 'node:assert/strict';
import { countedBase } from '../../../../src/model/uid.ts';
import { jsonTraces } from '../../../../src/rules/spans/json-traces.ts';
import { protobufTraces } from '../../../../src/rules/spans/protobuf-traces.ts';
import {
  defaultItemLimits,
  type EncodedItems,
  type ItemLimits,
  type ItemsContext,
  type ItemsOwner,
  MalformedBody,
  TooManyItems,
} from '../../../../src/wire/otlp/types.ts';
import { defaultTimePolicy } from '../../time-policy.ts';
import { arrivedAt } from '../requests.ts';
import { rowsOfTraces } from '../span-blocks.ts';
import { NotReadable } from './model.ts';
import { type Twin, twinOf } from './twin.ts';

const owners = new Map<string | undefined, ItemsOwner>([
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
const limited = (limits: ItemLimits): ItemsOwner => ({
  ...{ appId: 4, bizId: 7, fillDimensions: true, policy: defaultTimePolicy },
  limits: {
    itemsMax: limits.itemsMax,
    attributesMax: Math.min(limits.attributesMax, 2),
    eventsMax: Math.min(limits.eventsMax, 1),
    linksMax: Math.min(limits.linksMax, 1),
    valueBytesMax: Math.min(limits.valueBytesMax, 4),
  },
});

/** A context of several applications, one of which has limits of its own. */
export const contextOfMany = (some: Partial<ItemLimits> = {}, clientIp = '192.0.2.9'): ItemsContext => {
  const limits = { ...defaultItemLimits, ...some };
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
export const forgivingContext = (): ItemsContext => {
  const context = contextOfMany();
  const resolve: ItemsContext['resolve'] = (token) => {
    if (token === 'token-b') return 'invalid';
    const known = context.resolve(token);
    return typeof known === 'string' ? context.resolve(undefined) : known;
  };
  return { ...context, resolve };
};

export const sorted = (counts: Iterable<readonly [string, number]>): [string, number][] =>
  [...counts].map(([key, count]): [string, number] => [key, count]).sort(([a], [b]) => (a < b ? -1 : 1));

const ascending = (a: { ordinal: number }, b: { ordinal: number }): number => a.ordinal - b.ordinal;

/** What a reader yields, in the form of the twin. */
const shownReader = (encoded: EncodedItems): unknown => ({
  ...{ spans: encoded.items, accepted: encoded.accepted },
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

export const verdictOf = <T>(read: () => T): Verdict<T> => {
  try {
    return { kind: 'read', result: read() };
  } catch (error) {
    if (error instanceof MalformedBody || error instanceof NotReadable) return { kind: 'malformed' };
    if (error instanceof TooManyItems) return { kind: 'too many' };
    throw error;
  }
};

/** The same without members that are undefined, which mean what absent ones mean. */
export const plain = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .map(([name, member]) => [name, plain(member)]),
  );
};

/** An unusual name is reported only in part. */
const shortened = (name: string): string => (name.length > 80 ? `${name.slice(0, 80)}…` : name);

export type Encoding = 'json' | 'protobuf';

/** What a body came to, and how many rows it has. */
export type Agreement = { readonly kind: 'read' | 'malformed' | 'too many'; readonly rows: number };

/** Compares all that the reader yields of a body with what the twin does; throws where they differ. */
export const agree = (encoding: Encoding, bytes: Uint8Array, context: ItemsContext): Agreement => {
  const reader = encoding === 'json' ? jsonTraces : protobufTraces;
  const encoded = verdictOf(() => reader.encode(bytes, context));
  const twin = verdictOf(() => twinOf[encoding](bytes, context));
  // The reader stops at the span that is too many, and sees neither what is wrong behind it nor the same name once more.
  const isUnseen =
    twin.kind === 'malformed' || (twin.kind === 'read' && twin.result.leniencies.has('duplicate_key'));
  if (encoded.kind === 'too many' && isUnseen) return { kind: 'too many', rows: 0 };
  assert.equal(encoded.kind, twin.kind);
  if (encoded.kind !== 'read' || twin.kind !== 'read') return { kind: encoded.kind, rows: 0 };
  assert.deepStrictEqual(plain(shownReader(encoded.result)), plain(shownTwin(twin.result)));
  for (const [index, { field }] of encoded.result.examples.entries()) {
    const allowed: readonly string[] = twin.result.examples[index]?.fields ?? [];
    assert.ok(allowed.includes(field), `example ${index} names ${field}, the twin ${allowed.join(' or ')}`);
  }
  const unknown = encoded.result.items === 0 ? [...new Set([...twin.result.unknown].map(shortened))] : [];
  if (unknown.length <= 10)
    assert.deepStrictEqual(encoded.result.unknownTopLevelKeys.toSorted(), unknown.toSorted());
  const collected = reader.collectTokens(bytes);
  // A resource without spans may be named or not: nothing of it has an owner.
  const missed = [...twin.result.tokensOfSpans].filter((token) => !collected.includes(token));
  // Of a name that comes twice in JSON, tokens are collected before it is settled which counts.
  const isSettled = encoding === 'protobuf' || !twin.result.leniencies.has('duplicate_key');
  const invented = isSettled
    ? collected.filter((token) => token !== undefined && !twin.result.tokens.has(token))
    : [];
  assert.deepStrictEqual({ missed, invented }, { missed: [], invented: [] });
  return { kind: 'read', rows: encoded.result.accepted };
};
