import { describe, expect, it } from 'vitest';
import { isTooLarge, tooLarge } from '../../../src/bus/too-large.ts';
import { buildItemsMessage } from '../../../src/ingress/otlp/message.ts';
import { createRequestPublisher, type Outgoing } from '../../../src/ingress/request-publisher.ts';
import type { ApplicationPipeline } from '../../../src/model/signals.ts';
import { createPublishersBook } from '../../../src/outcomes/publishers-book.ts';
import { createIngressMetrics } from '../../../src/telemetry/ingress-metrics.ts';
import type { EncodedItems } from '../../../src/wire/otlp/types.ts';
import { openOtlpDoor } from '../../support/otlp/door.ts';
import { encodeLogsOfJson, logsOf } from '../../support/otlp/log-source.ts';
import { encodeMetricsOfJson, metricsOf } from '../../support/otlp/metric-source.ts';
import { contextWith, encodeJson, goodSpan, requestOf } from '../../support/otlp/trace-source.ts';

const payloadMax = 8 * 2 ** 20;

/** No time, and the text that grows most in JSON. */
const wrong = '\u0001'.repeat(40);
const many = <T>(count: number, item: T): T[] => Array.from({ length: count }, () => item);

const most = '18446744073709551615';
const lowest = -Number.MAX_VALUE;
const least = -(2 ** 31);
const distribution = { startTimeUnixNano: wrong, timeUnixNano: wrong, count: most, flags: 2 ** 32 - 1 };
const sums = { sum: lowest, min: lowest, max: lowest };
const exponential = {
  ...{ ...distribution, ...sums, scale: least, zeroCount: most, zeroThreshold: lowest },
  ...{ positive: { offset: least }, negative: { offset: least } },
};

/** Items whose texts are longest for what the cutting rule counts of them. */
const swelling: [string, ApplicationPipeline, () => EncodedItems][] = [
  [
    'exponential histograms',
    'otel_metrics',
    () =>
      encodeMetricsOfJson({
        resourceMetrics: [
          {
            scopeMetrics: [
              { metrics: [{ name: 'e', exponentialHistogram: { dataPoints: many(8_100, exponential) } }] },
            ],
          },
        ],
      }),
  ],
  [
    'histograms with exemplars',
    'otel_metrics',
    () => {
      const exemplars = many(20, {
        ...{ timeUnixNano: wrong, asDouble: lowest, traceId: goodSpan.traceId, spanId: goodSpan.spanId },
      });
      const dataPoints = many(1_000, { ...distribution, ...sums, exemplars });
      return encodeMetricsOfJson(metricsOf({ name: 'h', histogram: { dataPoints } }));
    },
  ],
  [
    'spans with events',
    'traces',
    () => {
      const events = many(20, { timeUnixNano: wrong });
      return encodeJson(
        requestOf(...many(2_000, { ...goodSpan, startTimeUnixNano: wrong, endTimeUnixNano: wrong, events })),
      );
    },
  ],
  [
    'log records',
    'logs',
    () =>
      encodeLogsOfJson(
        logsOf(...many(9_000, { timeUnixNano: wrong, observedTimeUnixNano: wrong, flags: 2 ** 32 - 1 })),
      ),
  ],
];

// The bus refuses a larger one for ever.
describe('a message of items with times that are none', () => {
  it.each(swelling)('stays well within the limit of the bus: %s', (_, pipeline, encode) => {
    const { base, arrivedAt } = contextWith();
    const { runs, deferred } = encode();
    expect([...deferred.keys()]).toEqual(['timestamp_not_numeric']);
    for (const run of runs)
      expect(buildItemsMessage({ pipeline, run, base, arrivedAt }).length).toBeLessThan(0.75 * payloadMax);
  });

  it('shows its sender the beginning of the time', () => {
    const [example] = encodeJson(requestOf({ ...goodSpan, startTimeUnixNano: wrong })).examples;
    expect(example?.got).toBe(JSON.stringify(`${wrong.slice(0, 6)}…`));
    const [quoted] = encodeJson(requestOf({ ...goodSpan, startTimeUnixNano: '"'.repeat(40) })).examples;
    expect(quoted?.got).toBe(JSON.stringify('"'.repeat(40)));
  });
});

const sent: string[] = [];
const limit = { now: payloadMax, known: payloadMax };
const publisher = createRequestPublisher(
  { pipeline: 'traces', stream: 'TRACES', subject: 'traces' },
  {
    single: {
      publish: async (_, messageId) => {
        sent.push(messageId);
        return { duplicate: false, wasKnown: false, tries: 1, sequence: sent.length };
      },
      ...{ pending: 0, close: () => {} },
      get sizeMax() {
        return limit.known;
      },
      askSizeMax: async () => {
        limit.known = limit.now;
      },
    },
    batches: {
      publish: async ({ messages }) => {
        sent.push(...messages.map(({ messageId }) => messageId));
        return messages.map((_, index) => index);
      },
      ...{ pending: 0, close: () => {} },
    },
    book: createPublishersBook({ life: () => 77, now: () => 0, onUnbooked: () => {} }),
  },
  createIngressMetrics(),
);
const message = (messageId: string, size: number): Outgoing => ({
  ...{ subject: 'traces.0', messageId, payload: [Buffer.alloc(size)] },
  entry: { arrivedAt: 0, key: { base: '1', first: 0 }, owners: [] },
});

// The others would be stored, and the sender come again with all of them until it gives up.
describe('a request of which one message is larger than NATS takes', () => {
  it.each([
    ['with a name', true],
    ['without one', false],
  ])('is stored in no part, and refused for good, %s', async (_, isNamed) => {
    const messages = [message('a', 100), message('b', payloadMax), message('c', 100)];
    const failure = await publisher.publishAll(messages, isNamed, Infinity).catch((error: unknown) => error);
    expect(isTooLarge(failure)).toBe(true);
    expect(sent).toEqual([]);
    await publisher.publishAll([message('a', 100), message('d', 7 * 2 ** 20)], isNamed, Infinity);
    expect(sent.splice(0)).toEqual(['a', 'd']);
  });

  it('is stored once NATS takes it again, over a connection that did not receive its new limit', async () => {
    limit.known = 1_000_000;
    await publisher.publish(message('e', 2_000_000), [], Infinity);
    limit.known = 1_000_000;
    await publisher.publishAll([message('f', 2_000_000), message('g', 100)], true, Infinity);
    expect(sent.splice(0)).toEqual(['e', 'f', 'g']);
  });

  it('is answered with 413, and its new series take no place', async () => {
    const door = await openOtlpDoor({
      seriesMax: 10,
      publish: async () => {
        throw tooLarge(9_000_000, payloadMax);
      },
    });
    try {
      const timeUnixNano = String(BigInt(Date.now()) * 1_000_000n);
      const body = metricsOf({ name: 'm', gauge: { dataPoints: [{ timeUnixNano, asDouble: 1 }] } });
      const answer = await door.post('otel_metrics', body);
      expect(answer.status).toBe(413);
      expect(await answer.json()).toMatchObject({
        message:
          'the request makes too large a message: the message has 9000000 bytes, the limit of NATS is 8388608; send smaller requests',
      });
      expect(door.refused).toEqual([{ reason: 'message_too_large', owner: 7, items: 1 }]);
      expect(door.gate.held).toBe(0);
    } finally {
      await door.close();
    }
  });
});
