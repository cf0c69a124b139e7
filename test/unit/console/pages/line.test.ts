import { describe, expect, it } from 'vitest';
import {
  drawingOf,
  type Line,
  type Stream,
  streamTone,
  strokeOf,
} from '../../../../console/src/pages/line/layout.ts';
import { fullText, rateText, streamLines, termsOf } from '../../../../console/src/pages/line/words.ts';

const stream = (given: Partial<Stream>): Stream => ({
  ...{
    stream: 'METRICS',
    consumer: 'transfer',
    state: 'read',
    messages: 0,
    bytes: 0,
    bytes_max: 100,
    fill: 0,
  },
  ...{ oldest_age_seconds: 0, pending: 0, ack_pending: 0, redelivered: 0, waiting_pulls: 1 },
  ...{ messages_in_per_second: 0, growth_bytes_per_second: 0, seconds_to_full: null, read_seconds_ago: 0 },
  ...given,
});

/** The nodes and edges of a line with this number of QuestDB instances. */
const lineOf = (instances: number): Pick<Line, 'nodes' | 'edges'> => {
  const names = Array.from({ length: instances }, (_, index) => `q${index}`);
  const legs = [...names.map((name) => `METRICS-${name}`), 'TRACES', 'LEDGER'];
  const node = (id: string, kind: Line['nodes'][number]['kind']) => ({ id, kind, name: id });
  return {
    nodes: [
      node('producers:metrics', 'producers'),
      node('producers:traces', 'producers'),
      node('receiver:push', 'receiver'),
      node('receiver:otlp', 'receiver'),
      ...legs.map((name) => node(`stream:${name}`, 'stream')),
      ...legs.map((name) => node(`transfer:${name}`, 'transfer')),
      ...names.map((name) => node(`store:questdb:${name}`, 'store')),
      node('store:clickhouse', 'store'),
      node('dead_letters', 'dead_letters'),
    ],
    edges: [
      { from: 'producers:metrics', to: 'receiver:push', items_per_second: 1000, bytes_per_second: 1 },
      { from: 'transfer:LEDGER', to: 'stream:LEDGER', items_per_second: null, bytes_per_second: null },
      { from: 'nowhere', to: 'receiver:push', items_per_second: 5, bytes_per_second: null },
    ],
  };
};

describe('the drawing of the line', () => {
  it('has a place for each node, inside the picture and over no other, with one instance as with twelve', () => {
    for (const instances of [1, 2, 5, 12]) {
      const line = lineOf(instances);
      const { boxes, width, height } = drawingOf(line);
      expect(boxes.length).toBe(line.nodes.length);
      for (const box of boxes) {
        expect(box.x).toBeGreaterThanOrEqual(0);
        expect(box.x + box.width).toBeLessThanOrEqual(width);
        expect(box.y).toBeGreaterThanOrEqual(0);
        expect(box.y + box.height).toBeLessThanOrEqual(height);
        const over = boxes.filter(
          (other) => other.x === box.x && other.y < box.y + box.height && box.y < other.y + other.height,
        );
        expect(over, `${instances} ${box.node.id}`).toEqual([box]);
      }
    }
  });

  it('leaves out an edge to a node that it does not know', () => {
    expect(drawingOf(lineOf(1)).curves.map(({ edge }) => edge.from)).toEqual([
      'producers:metrics',
      'transfer:LEDGER',
    ]);
  });

  it('draws the busiest edge widest, and a still one as a hairline', () => {
    const widths = [null, 0, 1, 500, 1000].map((items) => strokeOf(items, 1000));
    expect(widths.toSorted((left, right) => left - right)).toEqual(widths);
    expect(widths[0]).toBe(1);
    expect(widths.at(-1)).toBe(12);
    expect(strokeOf(0, 0)).toBe(1);
  });
});

it('a stream is bad when it is missing or nearly full, and warns when it fills or its oldest message is five minutes old', () => {
  expect(streamTone(stream({}))).toBe('good');
  // The bounds of TidemarkStreamHalfFull, TidemarkLag and TidemarkStreamNearlyFull.
  expect(streamTone(stream({ fill: 0.5 }))).toBe('good');
  expect(streamTone(stream({ fill: 0.51 }))).toBe('warn');
  expect(streamTone(stream({ messages: 1, oldest_age_seconds: 300 }))).toBe('good');
  expect(streamTone(stream({ messages: 1, oldest_age_seconds: 301 }))).toBe('warn');
  expect(streamTone(stream({ consumer: null, messages: 1, oldest_age_seconds: 6000 }))).toBe('good');
  expect(streamTone(stream({ fill: 0.85 }))).toBe('warn');
  expect(streamTone(stream({ fill: 0.86 }))).toBe('bad');
  expect(streamTone(stream({ state: 'missing' }))).toBe('bad');
  expect(streamTone(stream({ state: 'unread', fill: 1 }))).toBe('neutral');
});

it('a stream says what it holds, and when it is full', () => {
  expect(streamLines(stream({}))).toEqual(['0% · empty', '0 pending · 0 under way']);
  const filling = stream({
    fill: 0.123,
    messages: 9,
    oldest_age_seconds: 75,
    pending: 1200,
    ack_pending: 3,
    seconds_to_full: 7500,
  });
  expect(streamLines(filling)).toEqual(['12.3% · oldest 1 min 15 s', '1,200 pending · 3 under way']);
  expect(fullText(filling)).toBe('full in 2 h 5 min');
  expect(rateText(null)).toBe('');
});

it('the equation names every term that is not 0, and stored, dropped, dead-lettered and in flight always', () => {
  const terms = {
    received: 11,
    stored: 7,
    dropped: 0,
    dead_lettered: 0,
    repeated: 3,
    lost: 0,
    stuck: 0,
    unrecorded: 0,
    in_flight: 1,
  };
  const shown = termsOf(terms);
  expect(shown.map(({ label, items }) => `${items} ${label}`)).toEqual([
    '7 stored',
    '0 dropped',
    '0 dead-lettered',
    '3 repeated',
    '1 in flight',
  ]);
  expect(shown.reduce((sum, { items }) => sum + items, 0)).toBe(terms.received);
});
