import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildItemsMessage, itemsMessageParts } from '../../../src/ingress/otlp/message.ts';
import { buildMessage, type Fragment, messageParts } from '../../../src/ingress/push/message.ts';
import type { Layout } from '../../../src/model/records.ts';
import { uidBase } from '../../../src/model/uid.ts';
import type { BookEntry } from '../../../src/outcomes/publishers-book.ts';
import {
  deadLetteredOutcome,
  droppedOutcome,
  storedOutcome,
  type Tally,
} from '../../../src/outcomes/tally.ts';
import { validateItems } from '../../../src/transfer/blocks/validate-items.ts';
import { validatePoints } from '../../../src/transfer/points/validate-points.ts';
import { decodeBlocksEnvelope } from '../../../src/wire/blocks-envelope.ts';
import { decodeEnvelope } from '../../../src/wire/metrics-envelope.ts';
import * as traces from '../../support/otlp/trace-source.ts';
import { always } from '../../support/properties.ts';
import { encodePoints } from '../../support/push/encode-points.ts';
import { arrivedAt, contextWith, sourceWith } from '../../support/push/source.ts';

/** Items by owner, as transfer settles them, with those among them that the receiver has dropped. */
const settled = (tally: Tally): [number, number][] =>
  [...tally]
    .map(([owner, counts]): [number, number] => [
      owner,
      [...counts.values()].reduce((sum, count) => sum + count, 0),
    ])
    .toSorted();

const booked = ({ owners }: BookEntry): [number, number][] =>
  owners.map(({ owner, items }): [number, number] => [owner, items]).toSorted();

const sum = (counts: Iterable<number>): number => [...counts].reduce((total, count) => total + count, 0);

/** Of each owner no outcome may be of another kind than the book has foreseen. */
const expectSettledAsBooked = (entry: BookEntry, tally: Tally): void => {
  expect(settled(tally)).toEqual(booked(entry));
  for (const { owner, items, dropped = {} } of entry.owners) {
    const counts = tally.get(owner) ?? new Map<string, number>();
    for (const [reason, count] of Object.entries(dropped))
      expect(counts.get(droppedOutcome(reason))).toBe(count);
    const stored = counts.get(storedOutcome) ?? 0;
    expect(stored + sum(Object.values(dropped))).toBeLessThanOrEqual(items);
    expect(counts.has(deadLetteredOutcome)).toBe(false);
  }
};

// The publishers' book and the settlers' book are compared item by item: a message that both count otherwise would be a loss for ever.
describe('the items that the receiver books of a message are those that transfer settles', () => {
  const time = arrivedAt - 1_000;
  const point = fc.record({
    metrics: fc.dictionary(fc.constantFrom('a', 'b'), fc.integer()),
    timestamp: fc.constantFrom<unknown>(time, time + 5, 'N', 12, arrivedAt + 10 ** 10),
  });
  const owner = fc.constantFrom<[number, Layout]>([1500001, 'wide'], [1500002, 'narrow'], [1500003, 'wide']);
  const requests = fc.array(fc.tuple(owner, fc.array(point, { minLength: 1, maxLength: 4 })), {
    minLength: 1,
    maxLength: 6,
  });

  it('for points of several requests and owners, deferred and dropped ones among them', () => {
    always(
      fc.property(requests, (all) => {
        const fragments = all.flatMap(([[dataId, layout], data], index): Fragment[] => {
          const source = { ...sourceWith(layout, ['a', 'b'], []), dataId };
          const context = contextWith(source, { base: uidBase(BigInt(index * 1_000)) });
          const { base, policy } = context;
          return encodePoints(data, context).runs.map((run) => ({ source, base, run, arrivedAt, policy }));
        });
        const { entry, payload } = messageParts(fragments);
        const message = buildMessage(fragments);
        expect(
          Buffer.concat(payload.map((part) => (typeof part === 'string' ? Buffer.from(part) : part))),
        ).toEqual(message);
        const read = decodeEnvelope(message, 1);
        if (read.kind !== 'envelope') throw new Error(`the message is ${read.kind}`);
        expectSettledAsBooked(entry, validatePoints(read.envelope, new Set()).tally);
        const { header, partBytes, deferredBytes } = read.envelope;
        expect(sum(entry.owners.map(({ rows }) => rows))).toBe(sum(header.parts.map(({ rows }) => rows)));
        expect(sum(entry.owners.map(({ bytes }) => bytes))).toBe(
          sum([...partBytes, ...deferredBytes].map(({ length }) => length)),
        );
        expect([entry.arrivedAt, entry.key]).toEqual([header.arrivedAt, header.key]);
      }),
    );
  });

  it('for spans of several applications and days, deferred and dropped ones among them', () => {
    const span = fc.record({
      traceId: fc.constantFrom(traces.goodSpan.traceId, traces.goodSpan.traceId, 'not a trace'),
      start: fc.constantFrom(-1_000, -2_000, -86_400_000, 10 ** 10, undefined),
    });
    const resources = fc.array(
      fc.tuple(fc.constantFrom('one', 'two', 'three'), fc.array(span, { minLength: 1, maxLength: 4 })),
      { minLength: 1, maxLength: 5 },
    );
    const appIds: Readonly<Record<string, number>> = { one: 11, two: 12, three: 13 };
    let messages = 0;
    always(
      fc.property(resources, (all) => {
        const body = {
          resourceSpans: all.map(([token, spans]) => ({
            resource: { attributes: [{ key: 'mon.data.token', value: { stringValue: token } }] },
            scopeSpans: [
              {
                spans: spans.map(({ traceId, start }) => ({
                  ...traces.goodSpan,
                  traceId,
                  startTimeUnixNano: start === undefined ? '0' : traces.nanosAt(start),
                  endTimeUnixNano: start === undefined ? '0' : traces.nanosAt(start),
                })),
              },
            ],
          })),
        };
        const context = traces.contextWith({
          resolve: (token) => ({ ...traces.owner, appId: appIds[token ?? ''] ?? 14 }),
        });
        for (const run of traces.encodeJson(body, context).runs) {
          const { base, arrivedAt } = context;
          const fragment = { pipeline: 'traces', run, base, arrivedAt } as const;
          const { entry } = itemsMessageParts(fragment);
          const read = decodeBlocksEnvelope(buildItemsMessage(fragment), 1);
          if (read.kind !== 'envelope') throw new Error(`the message is ${read.kind}`);
          expectSettledAsBooked(entry, validateItems(read.envelope).tally);
          const { header, partBytes, deferredBytes } = read.envelope;
          expect(sum(entry.owners.map(({ rows }) => rows))).toBe(sum(header.parts.map(({ rows }) => rows)));
          expect(sum(entry.owners.map(({ bytes }) => bytes))).toBe(
            sum([...partBytes, ...deferredBytes].map(({ length }) => length)),
          );
          expect([entry.arrivedAt, entry.key]).toEqual([header.arrivedAt, header.key]);
          messages++;
        }
      }),
    );
    expect(messages).toBeGreaterThan(100);
  });
});
