import { describe, expect, it } from 'vitest';
import { compareBooks, type Evidence } from '../../../src/account/compare.ts';
import { BookHistory } from '../../support/account/book-history.ts';
import { heldOf, sumsOf, truthOf, waitingIn } from '../../support/account/book-truth.ts';
import { plainBooks, standingIn } from '../../support/account/plain-books.ts';
import { randomOf } from '../../support/otlp/plain/mutations.ts';

/** What a look would read of a history. */
const evidenceOf = (history: BookHistory, isHeldRead: boolean): Evidence => {
  const { stream, settled, receivers, messages } = history;
  const waiting = waitingIn(history).map(([sequence, message]) => heldOf(sequence, message));
  const sequences = new Set([...settled.map(({ sequence }) => sequence), ...stream.messages.keys()]);
  return {
    stream: 'METRICS',
    queue: {
      ...{ exists: stream.exists, last: stream.last, floor: stream.floor, messages: stream.messages.size },
      first: Math.min(...stream.messages.keys()),
      end: stream.last,
    },
    ...plainBooks(history, new Set(messages.map(({ minute }) => minute))),
    stuck: waiting.filter(({ sequence }) => sequence <= stream.floor),
    isDoubtful: standingIn(history).isDoubtful,
    held: isHeldRead ? waiting : undefined,
    silent: new Set(receivers.filter(({ state }) => state === 'killed').map(({ life }) => life)),
    gapsOf: ({ sequenceFirst, sequenceLast }) => {
      if (!stream.exists || sequenceFirst === 0) return 0;
      let gaps = 0;
      for (let each = sequenceFirst; each <= Math.min(sequenceLast, stream.last); each++)
        if (!sequences.has(each)) gaps++;
      return gaps;
    },
  };
};

describe('10,000 random histories', () => {
  it('are compared as a model has them that knows what became of each message', () => {
    const seen = { missing: 0, unrecorded: 0, notCounted: 0, stuck: 0, inFlight: 0, engine: 0 };
    for (let seed = 1; seed <= 10_000; seed++) {
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
    console.log(seen);
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(300);
  });
});
