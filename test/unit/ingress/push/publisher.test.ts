import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { BatchPublisher, MessageBatch } from '../../../../src/bus/batch-publisher.ts';
import type { Payload, Published, Publisher } from '../../../../src/bus/publisher.ts';
import { buildMessage, createPushPublisher, type DueFragment } from '../../../../src/ingress/push/publish.ts';
import { Fault } from '../../../../src/model/fault.ts';
import type { Layout } from '../../../../src/model/records.ts';
import { uidBase } from '../../../../src/model/uid.ts';
import { createPublishersBook } from '../../../../src/outcomes/publishers-book.ts';
import { createIngressMetrics } from '../../../../src/telemetry/ingress-metrics.ts';
import { decodeEnvelope, type MetricsEnvelope } from '../../../../src/wire/metrics-envelope.ts';
import { partDays } from '../../../../src/wire/part-days.ts';
import { always } from '../../../support/properties.ts';
import { encodePoints } from '../../../support/push/encode-points.ts';
import { readRows } from '../../../support/push/line-protocol-reader.ts';
import { ageMsMax } from '../../../support/push/point-cases.ts';
import { arrivedAt, contextWith, sourceWith } from '../../../support/push/source.ts';

/** The largest message the bus takes (architecture 5.3). */
const payloadMax = 8 * 2 ** 20;

const time = arrivedAt - 1000;

/** The runs of one request, as they go to the bus. */
const fragmentsOf = (
  data: readonly unknown[],
  {
    layout = 'wide',
    base = 1000n,
    dataId = 1500001,
    questdb = 'default',
  }: {
    layout?: Layout;
    base?: bigint;
    dataId?: number;
    questdb?: string;
  } = {},
): DueFragment[] => {
  const source = { ...sourceWith(layout, ['a', 'b'], ['d']), dataId, questdb };
  const context = contextWith(source, { base: uidBase(base) });
  return encodePoints(data, context).runs.map((run) => ({
    source,
    base: context.base,
    run,
    arrivedAt,
    policy: context.policy,
    deadlineAt: Number.POSITIVE_INFINITY,
  }));
};

const read = (payload: Uint8Array): MetricsEnvelope => {
  const result = decodeEnvelope(payload, 1);
  if (result.kind !== 'envelope') throw new Error(`the message is ${result.kind}`);
  return result.envelope;
};

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

describe('a message', () => {
  const point = fc.record({
    metrics: fc.dictionary(fc.constantFrom('a', 'b'), fc.integer()),
    timestamp: fc.constantFrom<unknown>(time, time + 5, 'N', 12),
  });
  const requests = fc.array(
    fc.tuple(fc.constantFrom(1500001, 1500002, 1500003), fc.array(point, { minLength: 1, maxLength: 4 })),
    {
      minLength: 1,
      maxLength: 6,
    },
  );

  // What is not in the message is lost although it was acknowledged; what is in it under another data id is a leak.
  it('holds the rows, the deferred points and the outcomes of every request in it, each under its own data id', () => {
    always(
      fc.property(requests, (all) => {
        const fragments = all.flatMap(([dataId, data], index) =>
          fragmentsOf(data, { dataId, base: BigInt(index * 1000) }),
        );
        const { header, partBytes, deferredBytes } = read(buildMessage(fragments));
        for (const dataId of [1500001, 1500002, 1500003]) {
          const own = fragments.filter(({ source }) => source.dataId === dataId);
          const parts = header.parts.flatMap((part, index) =>
            part.dataId === dataId ? [{ part, bytes: partBytes[index] }] : [],
          );
          const text = own.map(({ run }) => run.text).join('');
          expect(parts.map(({ bytes }) => textOf(bytes ?? new Uint8Array()))).toEqual(
            text === '' ? [] : [text],
          );
          for (const { part } of parts) {
            const rows = readRows(text);
            expect([part.rows, part.points]).toEqual([rows.length, rows.length]);
            const times = rows.map((row) => row.time);
            expect([part.timeMin, part.timeMax]).toEqual([Math.min(...times), Math.max(...times)]);
          }
          const groups = header.deferred.flatMap((group, index) =>
            group.dataId === dataId ? [{ group, bytes: deferredBytes[index] }] : [],
          );
          const deferred = own.filter(({ run }) => run.deferred.length > 0);
          expect(groups.map(({ bytes }) => textOf(bytes ?? new Uint8Array()))).toEqual(
            deferred.map(({ run }) => `[${run.deferred.join()}]`),
          );
          expect(
            groups.map(({ group }) => [group.base, group.ordinals, group.arrivedAt, group.policy]),
          ).toEqual(
            deferred.map(({ base, run }) => [
              base.text,
              run.deferredOrdinals,
              arrivedAt,
              { aheadMsMax: 3_600_000, ageMsMax },
            ]),
          );
          const dropped = header.outcomes
            .filter((outcome) => outcome.dataId === dataId)
            .map((outcome) => outcome.dropped);
          const empty = own.reduce((sum, { run }) => sum + (run.dropped.get('metrics_empty') ?? 0), 0);
          expect(dropped).toEqual(empty === 0 ? [] : [{ metrics_empty: empty }]);
        }
      }),
    );
  });

  // The account against the stores compares these with what a table holds.
  it('tells the rows of each data id by event day with the sum of their uids', () => {
    const timed = fc.record({
      metrics: fc.dictionary(fc.constantFrom('a', 'b'), fc.integer(), { minKeys: 1 }),
      timestamp: fc.constantFrom<unknown>(time, time - 86_400_000, 'N'),
    });
    const some = fc.array(
      fc.tuple(fc.constantFrom(1500001, 1500002), fc.array(timed, { minLength: 1, maxLength: 4 })),
      { minLength: 1, maxLength: 6 },
    );
    always(
      fc.property(some, fc.constantFrom<Layout>('wide', 'narrow'), (all, layout) => {
        const fragments = all.flatMap(([dataId, data], index) =>
          fragmentsOf(data, { dataId, layout, base: 2n ** 63n - 2n ** 32n + BigInt(index * 1000) }),
        );
        const { header, partBytes } = read(buildMessage(fragments));
        for (const [index, part] of header.parts.entries()) {
          const days = new Map<number, [rows: number, sum: bigint]>();
          for (const row of readRows(textOf(partBytes[index] ?? new Uint8Array()))) {
            const day = Math.floor(row.time / 86_400_000);
            const [rows, sum] = days.get(day) ?? [0, 0n];
            days.set(day, [rows + 1, BigInt.asUintN(64, sum + BigInt(row.uid))]);
          }
          const told = partDays(part)?.map(([day, rows, sum]) => [day, rows, BigInt(sum)]);
          expect(told?.toSorted(([a], [b]) => Number(a) - Number(b))).toEqual(
            [...days]
              .map(([day, [rows, sum]]) => [day, rows, sum])
              .toSorted(([a], [b]) => Number(a) - Number(b)),
          );
        }
      }),
    );
  });

  /** This many points of text that grows most on its way: control characters in JSON, signs that are escaped, three-byte signs. */
  const swelling = (unit: string, timestamp: unknown) => ({
    metrics: { a: 1 },
    target: unit.repeat(40_000),
    dimension: { d: unit.repeat(40_000), more: unit.repeat(40_000) },
    timestamp,
  });
  /** How many of them are more than one message. */
  const hostile: [string, number, unknown][] = [
    ['control characters', 10, swelling('\u0001', time)],
    ['deferred control characters', 10, swelling('\u0001', 'N')],
    ['quotes', 10, swelling('"', time)],
    ['blanks', 10, swelling(' ', time)],
    ['three-byte signs', 10, swelling('漢', time)],
    ['deferred unpaired surrogates', 10, swelling('\ud800', 'N')],
    [
      'long numbers',
      10,
      {
        metrics: Object.fromEntries(
          Array.from({ length: 9000 }, (_, index) => [`a${index}`, Number('-1.2345678901234567e-300')]),
        ),
        timestamp: time,
      },
    ],
    ['a timestamp of text', 20, { metrics: { a: 1 }, timestamp: '\u0001'.repeat(100_000) }],
    [
      'a timestamp of deep arrays with a long text',
      40,
      {
        metrics: { a: 1 },
        timestamp: JSON.parse(`${'['.repeat(80)}"${'x'.repeat(300_000)}"${']'.repeat(80)}`),
      },
    ],
  ];

  // The bus refuses a larger one for ever: its senders would get 503 for the same request until they give up.
  it.each(hostile)('of %s stays within the limit of the bus', (what, count, point) => {
    for (const layout of ['wide', 'narrow'] as const) {
      const points = Array.from({ length: count }, () => point);
      const fragments = fragmentsOf(points, { layout });
      // So that the first one is as full as a message gets; arrays that deep are dropped.
      if (!what.includes('deep')) expect(fragments.length).toBeGreaterThan(1);
      for (const fragment of fragments) expect(buildMessage([fragment]).length).toBeLessThan(payloadMax);
    }
  });
});

type Sent = {
  subject: string;
  messageId: string;
  payload: Uint8Array;
  serial: string | undefined;
  confirm(result: Partial<Published>): void;
  refuse(fault: Fault): void;
};

/** What a payload is on the bus. */
const bytesOf = (payload: Payload): Uint8Array =>
  payload instanceof Uint8Array
    ? payload
    : Buffer.concat(payload.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));

/** A bus that confirms when told to, and remembers what it was given. */
const createHeldBus = (
  sizeMax: number,
): {
  publisher: Publisher;
  batches: BatchPublisher;
  sent: Sent[];
  together: MessageBatch[];
} => {
  const sent: Sent[] = [];
  const together: MessageBatch[] = [];
  return {
    sent,
    together,
    batches: {
      publish: async (batch) => {
        together.push(batch);
        return batch.messages.map((_, index) => 101 + index);
      },
      pending: 0,
      close: () => {},
    },
    publisher: {
      publish: (subject, messageId, payload, _version, { serial } = {}) =>
        new Promise((resolve, refuse) => {
          sent.push({
            subject,
            messageId,
            payload: bytesOf(payload),
            serial,
            confirm: (result) =>
              resolve({ duplicate: false, wasKnown: false, tries: 1, sequence: sent.length, ...result }),
            refuse,
          });
        }),
      pending: 0,
      sizeMax,
      askSizeMax: async () => {},
      close: () => {},
    },
  };
};

/** Until what is scheduled for the next turn of the event loop has run. */
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

const setUp = (shards = 1, sizeMax = payloadMax) => {
  const { publisher: single, batches, sent, together } = createHeldBus(sizeMax);
  const book = createPublishersBook({ life: () => 77, now: () => 0, onUnbooked: () => {} });
  return {
    sent,
    together,
    book,
    push: createPushPublisher(
      { single, batches, book },
      { stream: 'METRICS', subject: 'metrics', shards },
      createIngressMetrics(),
    ),
  };
};

const only = (data: readonly unknown[], options: Parameters<typeof fragmentsOf>[1] = {}): DueFragment => {
  const [fragment, ...more] = fragmentsOf(data, options);
  if (fragment === undefined || more.length > 0) throw new Error('expected one run');
  return fragment;
};

const good = { metrics: { a: 1 }, timestamp: time };

describe('publishing requests without identity', () => {
  it('puts those that come while a publish is in flight into one message', async () => {
    const { push, sent } = setUp();
    const settled: number[] = [];
    const share = (base: number): void => {
      push.share(only([good], { base: BigInt(base) })).then(() => settled.push(base));
    };
    share(1);
    await nextTurn();
    share(2);
    share(3);
    await nextTurn();
    expect(sent.map(({ messageId }) => messageId)).toEqual(['1:0']);
    sent[0]?.confirm({ duplicate: false });
    await nextTurn();
    expect(sent.map(({ messageId }) => messageId)).toEqual(['1:0', '2:0']);
    expect(
      readRows(textOf(read(sent[1]?.payload ?? new Uint8Array()).partBytes[0] ?? new Uint8Array())).map(
        ({ uid }) => uid,
      ),
    ).toEqual(['2', '3']);
    expect(settled).toEqual([1]);
    sent[1]?.confirm({ duplicate: false });
    await nextTurn();
    expect(settled).toEqual([1, 2, 3]);
  });

  // Architecture 6.3: an answer before its own message's PubAck would acknowledge what may never be stored.
  it('rejects every request of a message that was refused, and no other', async () => {
    const { push, sent } = setUp();
    const first = push.share(only([good], { base: 1n }));
    await nextTurn();
    const others = [push.share(only([good], { base: 2n })), push.share(only([good], { base: 3n }))];
    await nextTurn();
    sent[0]?.confirm({ duplicate: false });
    await first;
    await nextTurn();
    sent[1]?.refuse(new Fault('transient', 'unconfirmed', 'no answer'));
    const results = await Promise.allSettled(others);
    expect(results.map((result) => result.status === 'rejected' && result.reason.code)).toEqual([
      'unconfirmed',
      'unconfirmed',
    ]);
  });

  // Its neighbours of that moment would get the same refusal, and their clients would drop them.
  it('refuses alone the request that is larger than the bus takes, and stores those that were gathered with it', async () => {
    const { push, sent } = setUp(1, 8_000);
    const first = push.share(only([good], { base: 1n }));
    await nextTurn();
    const large = { metrics: { a: 1 }, target: 'x'.repeat(10_000), timestamp: time };
    const others = [
      push.share(only([good], { base: 2n })),
      push.share(only([large], { base: 3n })),
      push.share(only([good], { base: 4n })),
    ];
    const results = Promise.allSettled(others);
    await nextTurn();
    sent[0]?.confirm({});
    await first;
    await nextTurn();
    for (const { confirm } of sent.slice(1)) confirm({});
    expect(
      (await results).map((each) => (each.status === 'rejected' ? each.reason.code : each.status)),
    ).toEqual(['fulfilled', 'message_too_large', 'fulfilled']);
    expect(sent.map(({ messageId }) => messageId).toSorted()).toEqual(['1:0', '2:0', '4:0']);
  });

  it('never makes a message larger than the limit of the bus, for any number and content of points', async () => {
    const { push, sent } = setUp();
    // A fleet that sends its times in seconds: hardly any rows, and much that travels for transfer's verdict.
    const seconds = {
      metrics: { a: 1 },
      target: 't'.repeat(200),
      dimension: { d: 'x'.repeat(200) },
      timestamp: 1_780_315_200,
    };
    const data = [good, ...Array.from({ length: 1500 }, () => seconds)];
    const all = Array.from({ length: 40 }, (_, index) =>
      push.share(only(data, { base: BigInt(index * 10_000) })),
    );
    let confirmed = 0;
    while (confirmed < sent.length || confirmed === 0) {
      await nextTurn();
      for (const { payload, confirm } of sent.slice(confirmed)) {
        expect(payload.length).toBeLessThan(payloadMax);
        confirmed++;
        confirm({ duplicate: false });
      }
      await nextTurn();
    }
    await Promise.all(all);
  });

  it('keeps the points of one data id on one subject', async () => {
    const { push, sent } = setUp(4);
    for (const dataId of [1500001, 1500002, 1500003, 1500004, 1500001]) {
      push.share(only([good], { dataId })).catch(() => {});
    }
    await nextTurn();
    expect(sent.map(({ subject }) => subject).toSorted()).toEqual([
      'metrics.0',
      'metrics.1',
      'metrics.2',
      'metrics.3',
    ]);
    const shard = sent.find(({ subject }) => subject === `metrics.${1500001 % 4}`);
    expect(read(shard?.payload ?? new Uint8Array()).header.parts.map(({ rows }) => rows)).toEqual([2]);
  });
});

describe('publishing a request of several messages without identity', () => {
  // Its sender cannot send the rest again: an own message for each run would leave a part behind.
  it('is one separate batch, whose ids name its base and first ordinals', async () => {
    const { push, sent, together } = setUp();
    const data = Array.from({ length: 3 }, () => ({ ...good, target: 't'.repeat(400_000) }));
    const fragments = fragmentsOf(data, { base: 77n });
    expect(fragments.length).toBeGreaterThan(1);
    await Promise.all([
      push.publishAll(fragments, undefined),
      push.share(only([good], { base: 5n })).catch(() => {}),
      nextTurn().then(() => sent[0]?.confirm({ duplicate: false })),
    ]);
    expect(sent.map(({ messageId }) => messageId)).toEqual(['5:0']);
    expect(together).toHaveLength(1);
    const messages = together[0]?.messages ?? [];
    expect(messages.map(({ subject, messageId }) => [subject, messageId])).toEqual(
      fragments.map(({ run }) => ['metrics.0', `77:${run.first}`]),
    );
    const parts = messages.flatMap(({ payload }) => read(bytesOf(payload)).header.parts);
    expect(parts.map(({ first, last }) => [first, last])).toEqual(
      fragments.map(({ run }) => [run.first, run.last]),
    );
  });
});

describe('a bus that does not answer', () => {
  const dueIn = (ms: number, base: bigint): DueFragment => ({
    ...only([good], { base }),
    deadlineAt: performance.now() + ms,
  });

  // Those that wait behind a publish would else wait for their own one after it: twice the deadline, or more.
  it('lets every request end at its own deadline: as unconfirmed in a message in flight, as not stored behind it', async () => {
    const { push, sent } = setUp();
    const startedAt = performance.now();
    const endOf = async (publishing: Promise<void>) => {
      const code = await publishing.then(
        () => 'stored',
        (error: unknown) => (error instanceof Fault ? error.code : 'failed'),
      );
      return [code, performance.now() - startedAt] as const;
    };
    const first = endOf(push.share(dueIn(200, 1n)));
    await nextTurn();
    const behind = endOf(push.share(dueIn(300, 2n)));
    const patient = endOf(push.share(dueIn(60_000, 3n)));
    const [firstCode, firstMs] = await first;
    const [behindCode, behindMs] = await behind;
    expect([firstCode, behindCode]).toEqual(['unconfirmed', 'not_stored']);
    expect(firstMs).toBeGreaterThanOrEqual(200);
    expect(behindMs).toBeGreaterThanOrEqual(300);
    expect(behindMs).toBeLessThan(30_000);
    expect(sent).toHaveLength(1);
    sent[0]?.confirm({ duplicate: false });
    await nextTurn();
    // What has ended is not published after all.
    expect(
      read(sent[1]?.payload ?? new Uint8Array()).header.parts.map(({ base, rows }) => [base, rows]),
    ).toEqual([['3', 1]]);
    sent[1]?.confirm({ duplicate: false });
    expect((await patient)[0]).toBe('stored');
  });
});

describe('publishing a request with identity', () => {
  it('takes a message of its own, whose id names identity, ordinals and rule version', async () => {
    const { push, sent } = setUp();
    const first = push.publishAll([only([good, good])], 'abc');
    const second = push.publishAll([only([good, good])], 'abc');
    expect(sent.map(({ messageId }) => messageId)).toEqual(['abc:0-1:1', 'abc:0-1:1']);
    sent[0]?.confirm({ duplicate: false });
    sent[1]?.confirm({ duplicate: true });
    expect(await Promise.all([first, second])).toEqual([false, true]);
  });
});

// One that is away would otherwise hold up rows of the others, in messages and in the stream.
it('points of another QuestDB instance go to its own stream and share no message with others', async () => {
  const { sent, push } = setUp(2);
  const point = { metrics: { a: 1 }, timestamp: time };
  const shared = [
    { dataId: 1500002, questdb: 'default' },
    { dataId: 1500004, questdb: 'b' },
    { dataId: 1500006, questdb: 'b' },
    { dataId: 1500005, questdb: 'b' },
  ].map((each, index) => push.share(only([point], { ...each, base: BigInt(index) })));
  const alone = push.publishAll([only([point], { dataId: 1500004, questdb: 'b' })], 'ab');
  await nextTurn();
  expect(
    sent
      .map(({ subject, payload }) => [subject, read(payload).header.parts.map(({ dataId }) => dataId)])
      .toSorted(),
  ).toEqual([
    ['metrics-b.0', [1500004]],
    ['metrics-b.0', [1500004, 1500006]],
    ['metrics-b.1', [1500005]],
    ['metrics.0', [1500002]],
  ]);
  for (const { confirm } of sent) confirm({ duplicate: false });
  await Promise.all([...shared, alone]);
});

describe('the book', () => {
  const many = (count: number) => Array.from({ length: count }, () => good);
  const unconfirmed = new Fault('transient', 'unconfirmed', 'no answer');
  const notStored = new Fault('transient', 'not_stored', 'nothing was stored');

  type Case = {
    readonly what: string;
    readonly isNamed: boolean;
    readonly answer: Partial<Published> | Fault;
    readonly counted: string;
  };
  const cases: Case[] = [
    { what: 'stored', isNamed: true, answer: {}, counted: 'stored' },
    { what: 'stored at a second try', isNamed: true, answer: { tries: 2 }, counted: 'stored' },
    { what: 'known', isNamed: true, answer: { duplicate: true, wasKnown: true }, counted: 'nothing' },
    {
      what: 'known after a second try',
      isNamed: true,
      answer: { wasKnown: true, tries: 2 },
      counted: 'told',
    },
    { what: 'without an answer', isNamed: true, answer: unconfirmed, counted: 'doubtful' },
    { what: 'surely not stored', isNamed: true, answer: notStored, counted: 'nothing' },
    { what: 'stored', isNamed: false, answer: {}, counted: 'stored' },
    // Its id is this process's own: what is known is its own first try.
    {
      what: 'known after a second try',
      isNamed: false,
      answer: { wasKnown: true, tries: 2 },
      counted: 'stored',
    },
    { what: 'without an answer', isNamed: false, answer: unconfirmed, counted: 'doubtful' },
    { what: 'surely not stored', isNamed: false, answer: notStored, counted: 'nothing' },
  ];

  it.each(cases)(
    'counts a message that is $what (named: $isNamed) as $counted',
    async ({ isNamed, answer, counted }) => {
      const { push, sent, book } = setUp();
      const fragment = only([good, good, {}], { base: 5n });
      const publishing = isNamed ? push.publishAll([fragment], 'abc') : push.share(fragment);
      await nextTurn();
      expect(sent[0]?.serial).toBe(`77.1.${Math.floor(arrivedAt / 60_000)}`);
      if (answer instanceof Fault) sent[0]?.refuse(answer);
      else sent[0]?.confirm({ sequence: 9, ...answer });
      await Promise.allSettled([publishing]);
      const due = book.take();
      expect(due?.published.map(({ data_id, items, closed }) => [data_id, items, closed])).toEqual([
        ...(counted === 'stored' ? [[1500001, 3, 1]] : []),
        [0, 0, 1],
      ]);
      expect(due?.doubtful.map(({ items, base, first, told }) => [items, base, first, told])).toEqual(
        counted === 'told' || counted === 'doubtful' ? [[3, '5', 0, counted === 'told' ? 1 : 0]] : [],
      );
    },
  );

  it('counts a shared message for each of its owners, when its publish ends, whether a sender still waits for it or not', async () => {
    const { push, sent, book } = setUp();
    const first = push.share(only([good], { base: 1n }));
    await nextTurn();
    const deadlineAt = performance.now();
    const late = [1500002, 1500003].map((dataId, index) =>
      push.share({
        ...only(many(2 + index), { dataId, base: BigInt(10 + index) }),
        deadlineAt: deadlineAt + 150,
      }),
    );
    await nextTurn();
    sent[0]?.confirm({ sequence: 1 });
    await first;
    await nextTurn();
    expect(await Promise.allSettled(late)).toMatchObject([{ status: 'rejected' }, { status: 'rejected' }]);
    expect(book.take()?.published.map(({ data_id, items }) => [data_id, items])).toEqual([
      [1500001, 1],
      [0, 0],
    ]);
    book.written();
    sent[1]?.confirm({ sequence: 2 });
    await nextTurn();
    expect(book.take()?.published.map(({ data_id, items, messages }) => [data_id, items, messages])).toEqual([
      [1500002, 2, 1],
      [1500003, 3, 1],
      [0, 0, 2],
    ]);
  });

  it('gives each message of a batch its own serial and its own sequence', async () => {
    const { push, together, book } = setUp();
    const fragments = [only([good], { base: 1n }), only([good, good], { base: 2n, dataId: 1500002 })];
    await push.publishAll(fragments, undefined);
    expect(together[0]?.messages.map(({ serial }) => serial?.split('.')[1])).toEqual(['1', '2']);
    expect(
      book
        .take()
        ?.published.map(({ data_id, items, sequence_first, sequence_last }) => [
          ...[data_id, items],
          ...[sequence_first, sequence_last],
        ]),
    ).toEqual([
      [1500001, 1, 101, 101],
      [1500002, 2, 102, 102],
      [0, 0, 101, 102],
    ]);
  });

  it('counts points of another QuestDB instance in its own stream', async () => {
    const { push, sent, book } = setUp();
    const publishing = push.publishAll([only([good], { questdb: 'b' })], 'abc');
    sent[0]?.confirm({});
    await publishing;
    expect(book.take()?.published.map(({ stream }) => stream)).toEqual(['METRICS-b', 'METRICS-b']);
  });
});
