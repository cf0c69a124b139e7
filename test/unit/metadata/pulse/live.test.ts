import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Bus } from '../../../../src/bus/connection.ts';
import { whileAllowed } from '../../../../src/metadata/console/while-allowed.ts';
import { createLive } from '../../../../src/metadata/pulse/live.ts';
import { parseTopics } from '../../../../src/metadata/pulse/live-topics.ts';
import { createLog } from '../../../../src/telemetry/log.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

type Callback = (error: null, message: { data: Uint8Array; subject: string }) => void;

/** A connection whose subscribers get what `publish` is given. */
const openBus = () => {
  const callbacks = new Set<Callback>();
  const subscribe = (_: string, { callback }: { callback: Callback }) => {
    callbacks.add(callback);
    return { unsubscribe: () => callbacks.delete(callback) };
  };
  // The live view uses no more of a connection than this.
  const bus: unknown = { nc: { subscribe, flush: async () => {} } };
  const isBus = (value: unknown): value is Bus => value === bus;
  if (!isBus(bus)) throw new Error('never');
  const publish = (rows: readonly object[]): void => {
    const data = Buffer.from(rows.map((row) => JSON.stringify(row)).join('\n'));
    for (const callback of callbacks) callback(null, { data, subject: 'ledger.samples' });
  };
  return { bus, publish, listeners: () => callbacks.size };
};

const sample = (dataId: number) => ({
  at: '2027-01-15 08:00:00.000',
  pipeline: 'metrics',
  stage: 'receiver',
  reason: 'metrics_empty',
  field: '',
  value: '',
  detail: '',
  payload: '',
  sender: '',
  sdk: '',
  data_id: dataId,
  app_id: 0,
  ordinal: 0,
  boot: 1,
  seq: 1,
});

const open = () => {
  const counts = { drawn: 0 };
  const acts: unknown[] = [];
  const { bus, ...own } = openBus();
  const live = createLive({
    bus,
    line: async () => JSON.stringify({ drawn: ++counts.drawn }),
    acts: () => acts,
    log: createLog('test', 'silent'),
  });
  return { live, counts, acts, ...own };
};

type Event = { readonly event: string; readonly data: unknown };

/** Reads a stream as it comes. */
const follow = (stream: ReadableStream<Uint8Array>) => {
  const state = { text: '', hasEnded: false };
  const read = async (): Promise<void> => {
    for await (const chunk of stream) state.text += Buffer.from(chunk).toString();
    state.hasEnded = true;
  };
  void read();
  const events = (): Event[] =>
    state.text.split('\n\n').flatMap((block) => {
      const [, event, json] = /^id: \d+\nevent: (\w+)\ndata: (.*)$/.exec(block) ?? [];
      return event === undefined || json === undefined ? [] : [{ event, data: JSON.parse(json) }];
    });
  return { state, events };
};

const tick = (ms = 1_000): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

describe('the live view', () => {
  it('sends the line at once and then each second, drawn once for all readers', async () => {
    const { live, counts } = open();
    const first = follow(await live.open(parseTopics('line')));
    const second = follow(await live.open(parseTopics('line,dead_letters')));
    const before = counts.drawn;
    await tick(3_000);
    expect(counts.drawn - before).toBe(3);
    expect(first.events()).toHaveLength(4);
    expect(second.events().map(({ event }) => event)).toEqual(['line', 'line', 'line', 'line']);
    expect(first.state.text.startsWith('retry: 2000\n\nevent: beat\ndata: {}\n\n')).toBe(true);
    live.stop();
    await tick(0);
    expect([first.state.hasEnded, second.state.hasEnded, vi.getTimerCount()]).toEqual([true, true, 0]);
  });

  it('begins a stream with a beat and sends one each ten seconds, also where nothing else comes', async () => {
    const { live } = open();
    const { state } = follow(await live.open(parseTopics('dead_letters')));
    await tick(0);
    const beats = (): number => state.text.split('event: beat\ndata: {}\n\n').length - 1;
    expect(beats()).toBe(1);
    await tick(30_000);
    expect(beats()).toBe(4);
    live.stop();
  });

  it('admits 64 readers, refuses the next, and admits one where another has left', async () => {
    const { live } = open();
    const streams = [];
    for (let reader = 0; reader < 64; reader++) streams.push(await live.open(parseTopics('line')));
    await expect(live.open(parseTopics('line'))).rejects.toMatchObject({
      code: 'too_many_readers',
      kind: 'transient',
    });
    await streams[5]?.cancel();
    await live.open(parseTopics('line'));
    live.stop();
    await expect(live.open(parseTopics('line'))).rejects.toMatchObject({ code: 'stopping' });
  });

  it('ends the stream of a reader whose token has ended, within a second, and no other', async () => {
    const { live } = open();
    let mayRead = true;
    const ended = follow(whileAllowed(await live.open(parseTopics('line')), async () => mayRead));
    const other = follow(await live.open(parseTopics('line')));
    await tick(2_500);
    mayRead = false;
    await tick(1_000);
    expect([ended.state.hasEnded, other.state.hasEnded]).toEqual([true, false]);
    live.stop();
  });

  it('gathers the drops of each second by owner, at most 200, and listens only while a reader wants them', async () => {
    const { live, publish, listeners } = open();
    await live.open(parseTopics('line'));
    expect(listeners()).toBe(0);
    const own = follow(await live.open(parseTopics('drops:7')));
    const all = follow(await live.open(parseTopics('drops')));
    const application = follow(await live.open(parseTopics('drops:app:7')));
    expect(listeners()).toBe(1);
    publish([sample(7), sample(8)]);
    publish(Array.from({ length: 250 }, () => sample(9)));
    await tick();
    expect(own.events()).toMatchObject([
      { event: 'drops', data: { data_id: 7, items: [{ data_id: 7 }], skipped: 0 } },
    ]);
    expect(all.events()).toMatchObject([{ event: 'drops', data: { skipped: 52 } }]);
    await tick();
    expect([own.events().length, application.events()]).toEqual([1, []]);
    live.stop();
    await tick(0);
    expect(listeners()).toBe(0);
  });

  it('gives a reader that does not read no more than a few events, and tells it later how many drops it missed', async () => {
    const { live, publish, counts } = open();
    const stream = await live.open(parseTopics('line,drops'));
    for (let second = 0; second < 20; second++) {
      publish([sample(7)]);
      await tick();
    }
    expect(counts.drawn).toBe(21);
    const { events } = follow(stream);
    await tick(0);
    expect(events().filter(({ event }) => event === 'line')).toHaveLength(4);
    publish([sample(7)]);
    await tick();
    const drops = events().filter(({ event }) => event === 'drops');
    expect(drops.at(-1)?.data).toMatchObject({ items: [{ data_id: 7 }], skipped: 17 });
    live.stop();
  });

  it('sends the progress of acts on dead letters while there are some', async () => {
    const { live, acts } = open();
    const reader = follow(await live.open(parseTopics('dead_letters')));
    await tick();
    acts.push({ id: 'a-1', done: 3 });
    await tick();
    expect(reader.events()).toEqual([{ event: 'dead_letters', data: { acts: [{ id: 'a-1', done: 3 }] } }]);
    live.stop();
  });
});
