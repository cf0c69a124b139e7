import { describe, expect, it } from 'vitest';
import { compareBooks, countThere, type Evidence } from '../../../src/account/compare.ts';
import { BookHistory } from '../../support/account/book-history.ts';
import { evidenceOf, sumsOf, truthOf } from '../../support/account/book-truth.ts';
import { randomOf } from '../../support/otlp/plain/mutations.ts';
import { moreRuns } from '../../support/properties.ts';

type Line = Evidence['published'][number];
type Held = NonNullable<Evidence['held']>[number];

const minute = 1_790_000_040;
const life = 7;
const none = { dataId: 0, appId: 0 };
const [a, b] = [
  { dataId: 1_500_001, appId: 0 },
  { dataId: 1_500_002, appId: 0 },
];

const line = (of: Partial<Line>): Line => ({
  ...{ life, minute, ...none, messages: 4, items: 0, sequenceFirst: 11, sequenceLast: 14, reach: 4 },
  ...of,
});
const head = line({});
const settledOf = (owner: typeof a, counted: number, countedMessages = 0, beyond = 0) => ({
  ...{ life, minute, ...owner, counted, countedMessages, beyond, doubtful: 0 },
});
const messagesOf = (counted: number, { beyond = 0, short = 0 } = {}) => ({
  life,
  minute,
  counted,
  beyond,
  short,
});
const waitingOf = (serial: number, items = 10): Held => ({
  ...{ sequence: 10 + serial, life, serial, minute },
  items: [{ ...a, items }],
});

/** Four messages with 10 items of one owner each, of which everything is settled. */
const compared = (change: Partial<Evidence>, queue: Partial<Evidence['queue']> = {}) => {
  const { differences, ...rest } = compareBooks({
    stream: 'METRICS',
    queue: { ...{ exists: true, begin: 1, first: 15, last: 14, end: 14, messages: 0, floor: 14 }, ...queue },
    published: [head, line({ ...a, items: 40 })],
    settled: [settledOf(a, 40, 4)],
    messages: [messagesOf(4)],
    ...{ stuck: [], held: undefined, silent: new Set(), isDoubtful: () => false, gapsOf: () => 0 },
    ...change,
  });
  const named = differences.map(({ kind, dataId, items, messages }) => [kind, dataId, items, messages]);
  return { ...rest, named };
};
const lacking = { settled: [settledOf(a, 20, 2)], messages: [messagesOf(2)] };

describe('the two books', () => {
  it('of which one has what the other has differ in nothing', () => {
    expect(compared({})).toEqual({
      ...{ named: [], inFlight: 0, pending: new Set(), unjudged: new Set(), lost: new Map() },
    });
  });

  it('count the sequence of a message once that is stuck and was held too', () => {
    const [stuck, other] = [waitingOf(3), waitingOf(4)];
    expect(countThere([stuck, stuck, other], 11, 14)).toBe(2);
    expect(countThere([stuck, stuck, other], 11, 13)).toBe(1);
    expect(countThere([stuck, other], 15, 20)).toBe(0);
  });

  it('name a message with a missing sequence as lost in the stream, with its items and owner', () => {
    const { named, lost } = compared({ ...lacking, gapsOf: () => 2 });
    expect(named).toEqual([['lost_in_the_stream', a.dataId, 20, 2]]);
    expect(lost).toEqual(new Map([[minute, 2]]));
  });

  it('name a message without a missing sequence as lost by the engine', () => {
    expect(compared(lacking).named).toEqual([['lost_by_the_engine', a.dataId, 20, 2]]);
  });

  it('divide what is lost between stream and engine, and lose no item by it', () => {
    expect(compared({ ...lacking, gapsOf: () => 1 }).named).toEqual([
      ['lost_in_the_stream', a.dataId, 10, 1],
      ['lost_by_the_engine', a.dataId, 10, 1],
    ]);
  });

  it('name lost messages without items by their number', () => {
    const published = [head];
    expect(compared({ published, settled: [], messages: [], gapsOf: () => 4 }).named).toEqual([
      ['lost_in_the_stream', 0, 0, 4],
    ]);
  });

  it('name nothing before the floor has passed the last PubAck: it is in flight, and compared again', () => {
    expect(compared({ ...lacking, gapsOf: () => 2 }, { floor: 13 })).toEqual({
      ...{
        named: [],
        inFlight: 20,
        pending: new Set([minute]),
        unjudged: new Set([minute]),
        lost: new Map(),
      },
    });
  });

  it('name nothing that was published after the stream was read', () => {
    const queue = { floor: 12, last: 12, end: 14 };
    expect(compared(lacking, queue)).toMatchObject({ named: [], inFlight: 20 });
    // An empty stream had no message that could be read one by one.
    expect(compared({ ...lacking, held: [] }, queue)).toMatchObject({ named: [], inFlight: 20 });
  });

  it('wait for the last PubAck of any line where the line with owner 0 is older', () => {
    const published = [line({ messages: 2, sequenceLast: 12 }), line({ ...a, items: 40 })];
    expect(compared({ ...lacking, published }, { floor: 12 })).toMatchObject({ named: [], inFlight: 20 });
  });

  it('name what a stream that went back no longer has, once it settled what it has', () => {
    expect(compared(lacking, { last: 12, end: 12, floor: 11 })).toMatchObject({ named: [], inFlight: 20 });
    expect(compared(lacking, { last: 12, end: 12, floor: 12 }).named).toEqual([
      ['lost_by_the_engine', a.dataId, 20, 2],
    ]);
  });

  it('name what a stream that is gone no longer has', () => {
    expect(compared(lacking, { exists: false, floor: 0, last: 0, end: 0 }).named).toEqual([
      ['lost_by_the_engine', a.dataId, 20, 2],
    ]);
  });

  it('name a loss beside messages that wait, which are in flight', () => {
    const held = [waitingOf(3)];
    expect(compared({ ...lacking, held, gapsOf: () => 1 }, { floor: 12 })).toEqual({
      named: [['lost_in_the_stream', a.dataId, 10, 1]],
      ...{ inFlight: 10, pending: new Set([minute]), unjudged: new Set(), lost: new Map([[minute, 1]]) },
    });
  });

  it('name a loss beside waiting messages that no line has counted', () => {
    const held = [waitingOf(5), waitingOf(6)];
    expect(compared({ ...lacking, held, gapsOf: () => 2 }).named).toEqual([
      ['lost_in_the_stream', a.dataId, 20, 2],
    ]);
    const doubtful = { held: [waitingOf(1), waitingOf(2)], isDoubtful: () => true };
    expect(compared({ ...lacking, ...doubtful, gapsOf: () => 2 }).named).toEqual([
      ['lost_in_the_stream', a.dataId, 20, 2],
    ]);
  });

  it('take copies of a waiting message for one', () => {
    const copies = [waitingOf(3), { ...waitingOf(3), sequence: 20 }];
    expect(compared({ ...lacking, held: copies })).toMatchObject({
      ...{ named: [['lost_by_the_engine', a.dataId, 10, 1]], inFlight: 10 },
    });
    expect(compared({ ...lacking, stuck: copies })).toMatchObject({
      named: [
        ['lost_by_the_engine', a.dataId, 10, 1],
        ['stuck', a.dataId, 10, 1],
      ],
    });
  });

  it('name messages below the floor that nobody settled as stuck, and not as in flight or lost', () => {
    const stuck = [waitingOf(3), waitingOf(4)];
    const named = [['stuck', a.dataId, 20, 2]];
    expect(compared({ ...lacking, stuck, held: stuck })).toMatchObject({ named, inFlight: 0 });
    expect(compared({ ...lacking, stuck }, { floor: 13 })).toMatchObject({ named, inFlight: 0 });
  });

  it('name the items of one owner whose line is missing as unrecorded, the other owner untouched', () => {
    const published = [head, line({ ...a, items: 40 }), line({ ...b, messages: 1, items: 6 })];
    expect(compared({ published, messages: [messagesOf(4, { short: 1 })] }).named).toEqual([
      ['unrecorded', b.dataId, 6, 1],
    ]);
  });

  it('name items that an owner lacks of messages that are all there as unrecorded, of one message at least', () => {
    expect(compared({ settled: [settledOf(a, 35, 4)] }).named).toEqual([['unrecorded', a.dataId, 5, 1]]);
  });

  it('count the lost messages of an owner as those that named it', () => {
    const published = [head, line({ ...a, items: 40 }), line({ ...b, messages: 1, items: 6 })];
    expect(compared({ ...lacking, published, gapsOf: () => 2 }).named).toEqual([
      ['lost_in_the_stream', a.dataId, 20, 2],
      ['lost_in_the_stream', b.dataId, 6, 1],
    ]);
  });

  it('name what is settled beyond the last count of a killed life as not counted, and never as a loss', () => {
    const beyond = { settled: [settledOf(a, 40, 4, 15)], messages: [messagesOf(4, { beyond: 2 })] };
    expect(compared(beyond).named).toEqual([]);
    expect(compared({ ...beyond, silent: new Set([life]) }).named).toEqual([
      ['not_counted', a.dataId, 15, 2],
    ]);
    expect(compared({ silent: new Set([life]) }).named).toEqual([['not_counted', 0, 0, 0]]);
  });

  it('name more settled than published items as not counted, never as less than nothing', () => {
    expect(compared({ settled: [settledOf(a, 45, 4)] }).named).toEqual([['not_counted', a.dataId, 5, 0]]);
    expect(compared({ messages: [messagesOf(9)] }).named).toEqual([]);
    expect(compared({ settled: [settledOf(a, 45, 4)] }, { floor: 0 })).toMatchObject({
      named: [],
      inFlight: 0,
    });
  });
});

describe('random histories', () => {
  it('are compared as a model has them that knows what became of each message', () => {
    const seen = { missing: 0, unrecorded: 0, notCounted: 0, stuck: 0, inFlight: 0, engine: 0 };
    for (let seed = 1; seed <= 3000 * moreRuns; seed++) {
      const random = randomOf(seed);
      const history = new BookHistory(random, 10 + random(60));
      const isHeldRead = random(2) === 0;
      const evidence = evidenceOf(history, isHeldRead);
      const { differences, inFlight, pending, lost } = compareBooks(evidence);
      const truth = truthOf(history, isHeldRead, evidence.silent);
      const at = `seed ${seed}`;
      for (const { items, messages } of differences) {
        expect(items, at).toBeGreaterThanOrEqual(0);
        expect(messages, at).toBeGreaterThanOrEqual(0);
        expect(Number.isInteger(items) && Number.isInteger(messages), at).toBe(true);
      }
      const losses = ['lost_in_the_stream', 'lost_by_the_engine', 'unrecorded'] as const;
      expect(sumsOf(differences, ...losses), at).toEqual(truth.missing);
      expect(sumsOf(differences, 'not_counted'), at).toEqual(truth.notCounted);
      expect(sumsOf(differences, 'stuck'), at).toEqual(truth.stuck);
      expect(inFlight, at).toBe(truth.inFlight);
      expect(pending, at).toEqual(truth.pending);
      if (!history.isBlurred) expect(sumsOf(differences, 'unrecorded'), at).toEqual(truth.unrecorded);
      const byEngine = sumsOf(differences, 'lost_by_the_engine');
      if (!history.stream.exists) expect(lost.size, at).toBe(0);
      else if (!history.wentBack && !history.isBlurred) {
        // Sequences are given once: each lost message leaves a gap.
        expect(byEngine.size, at).toBe(0);
        expect(new Map(lost), at).toEqual(truth.lostMessages);
      }
      seen.missing += truth.missing.size;
      seen.unrecorded += truth.unrecorded.size;
      seen.notCounted += truth.notCounted.size;
      seen.stuck += truth.stuck.size;
      seen.inFlight += truth.inFlight > 0 ? 1 : 0;
      seen.engine += byEngine.size;
    }
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(90);
  });
});
