import { describe, expect, it } from 'vitest';
import { type Account, accountOf, sumDifferences, sumRuns } from '../../../src/account/accounts.ts';
import { compareBooks } from '../../../src/account/compare.ts';
import type { Difference, FoundDifference } from '../../../src/account/difference.ts';
import type { AccountOf } from '../../../src/outcomes/accounts.ts';
import { BookHistory } from '../../support/account/book-history.ts';
import { evidenceOf, waitingIn } from '../../support/account/book-truth.ts';
import { distinctLines, newestLines, standingIn } from '../../support/account/plain-books.ts';
import { pick, randomOf } from '../../support/otlp/plain/mutations.ts';

const minute = 1_790_000_040;
const owner = { pipeline: 'metrics', dataId: 1, appId: 0 } as const;

/** `recorded` of `received` have a place in the settlers' book. */
const balance = (
  received: number,
  recorded: number,
  [stored, dropped, dead] = [received, 0, 0],
): AccountOf => ({
  ...{ ...owner, received, recorded, stored: stored ?? 0, deadLettered: dead ?? 0, refusals: [] },
  dropped: { too_old: dropped ?? 0 },
});

const found = (change: Partial<FoundDifference>): FoundDifference => ({
  ...{ ...owner, kind: 'stuck', stream: 'METRICS', minute, items: 5, messages: 1 },
  ...{ closedItems: 0, closedMessages: 0, reason: '' },
  ...change,
});

const sumOf = ({ stored, dropped, deadLettered, ...of }: Account): number =>
  stored +
  Object.values(dropped).reduce((sum, items) => sum + items, 0) +
  [deadLettered, of.repeated, of.lost, of.stuck, of.unrecorded, of.inFlight].reduce(
    (sum, items) => sum + items,
    0,
  );

describe('an account', () => {
  it('counts as received what publishers have counted, and what is neither settled nor named is in flight', () => {
    const books = [{ published: 30, counted: 10, uncounted: 4 }];
    expect(accountOf(balance(14, 14), books, [found({ items: 5 })], true)).toMatchObject({
      ...{ received: 34, stored: 14, repeated: 0, stuck: 5, inFlight: 15, addsUp: false },
    });
  });

  it('is not known while its store refuses to read rows, and wrong all the same where a loss is open', () => {
    const unread = found({ kind: 'not_known', items: 0, messages: 0 });
    const verdict = (...differences: FoundDifference[]) =>
      accountOf(balance(7, 0), [], differences, true).addsUp;
    expect(verdict(unread)).toBe(null);
    expect(verdict({ ...unread, reason: 'given up' })).toBe(true);
    expect(verdict(unread, found({}))).toBe(false);
  });

  it('counts records of earlier programs as received by themselves', () => {
    expect(accountOf(balance(7, 0), [], [], true)).toMatchObject({ received: 7, repeated: 0, addsUp: true });
  });

  it('has what was settled again under another serial as repeated', () => {
    const books = [{ published: 20, counted: 20, uncounted: 0 }];
    expect(accountOf(balance(10, 10), books, [], true)).toMatchObject({ received: 20, repeated: 10 });
  });

  it('has lost dead letters as lost, no longer as dead-lettered, and received is the same', () => {
    const books = [{ published: 20, counted: 20, uncounted: 0 }];
    const ofLetters = found({ kind: 'lost_in_the_stream', minute: minute + 15, items: 3 });
    const account = accountOf(balance(20, 20, [12, 3, 5]), books, [ofLetters], true);
    expect(account).toMatchObject({ received: 20, deadLettered: 2, lost: 3, inFlight: 0, addsUp: false });
    expect(account.differences).toMatchObject([{ from: minute, until: minute + 60, items: 3 }]);
  });

  it('has it as unrecorded instead, as far as the store has rows without a record', () => {
    const books = [{ published: 20, counted: 20, uncounted: 0 }];
    const ofStore = found({ kind: 'unrecorded', items: 8, messages: 0 });
    expect(accountOf(balance(10, 10), books, [ofStore], true)).toMatchObject({
      ...{ received: 20, repeated: 2, unrecorded: 8, addsUp: false },
    });
  });

  it('has it as unrecorded, as far as the books lack its records, dropped items among them', () => {
    const books = [{ published: 20, counted: 20, uncounted: 0 }];
    const ofBooks = found({ kind: 'unrecorded', items: 6, messages: 2, placedItems: 6 });
    expect(accountOf(balance(10, 10), books, [ofBooks], true)).toMatchObject({
      ...{ received: 20, repeated: 4, unrecorded: 6, inFlight: 0, addsUp: false },
    });
  });

  it('counts items once whose record is there and whose place is not', () => {
    const books = [{ published: 10, counted: 4, uncounted: 0 }];
    const difference = found({ kind: 'unrecorded', items: 6, messages: 1 });
    expect(accountOf(balance(10, 10), books, [difference], true)).toMatchObject({
      ...{ received: 10, stored: 10, unrecorded: 0, inFlight: 0, addsUp: false },
    });
  });

  it('of a minute whose records have their places in another minute adds up by itself', () => {
    expect(accountOf(balance(10, 10), [], [], true)).toMatchObject({
      ...{ received: 10, stored: 10, repeated: 0, unrecorded: 0, inFlight: 0 },
    });
  });

  it('counts stuck items that no publisher has counted as received', () => {
    const books = [{ published: 10, counted: 10, uncounted: 0 }];
    expect(accountOf(balance(10, 10), books, [found({})], true)).toMatchObject({
      ...{ received: 15, stuck: 5, inFlight: 0 },
    });
  });

  it('is not known while the looks are behind unless a loss is open, and adds up again once all is closed with a reason', () => {
    expect(accountOf(balance(0, 0), [], [], false).addsUp).toBe(null);
    expect(accountOf(balance(0, 0), [], [found({})], false).addsUp).toBe(false);
    const closed = found({ closedItems: 5, closedMessages: 1, reason: 'known' });
    expect(accountOf(balance(0, 0), [], [closed], true).addsUp).toBe(true);
    expect(accountOf(balance(0, 0), [], [{ ...closed, items: 6 }], true).addsUp).toBe(false);
    const harmless = [found({ kind: 'not_counted' }), found({ kind: 'unmerged', messages: 0 })];
    expect(accountOf(balance(0, 0), [], harmless, true).addsUp).toBe(true);
  });

  it('has the differences of a kind as one, the closed ones apart, from the first minute to the end of the last', () => {
    const closed = found({ minute: minute - 60, closedItems: 5, closedMessages: 1, reason: 'known' });
    expect(sumDifferences([found({}), found({ minute: minute + 120, items: 2 }), closed])).toMatchObject([
      { items: 7, messages: 2, from: minute, until: minute + 180, isOpen: true, reason: '' },
      { items: 5, messages: 1, from: minute - 60, until: minute, isOpen: false, reason: 'known' },
    ]);
  });

  it('has a loss after more than an hour without one as another run, and one after an hour as the same', () => {
    const later = [
      found({ minute: minute + 60 + 3_600, items: 2 }),
      found({ minute: minute + 90_000, items: 1 }),
    ];
    const ofDays = [0, 1, 3].map((day) =>
      found({ kind: 'missing_in_the_store', minute: minute + day * 86_400, messages: 0 }),
    );
    const differences = [...later, found({}), found({ dataId: 2, minute: minute + 86_400 }), ...ofDays];
    expect(
      sumRuns(differences.toReversed()).map(({ kind, dataId, from, until, items }) => [
        ...[kind, dataId, from - minute, until - minute, items],
      ]),
    ).toEqual([
      ['missing_in_the_store', 1, 3 * 86_400, 4 * 86_400, 5],
      ['stuck', 1, 90_000, 90_060, 1],
      ['stuck', 2, 86_400, 86_460, 5],
      ['missing_in_the_store', 1, 0, 2 * 86_400, 10],
      ['stuck', 1, 0, 3_720, 7],
    ]);
    expect(sumDifferences(differences)).toHaveLength(3);
  });

  it('shows a loss of each owner before the earlier runs of any', () => {
    const runs = Array.from({ length: 60 }, (_, hour) =>
      found({ dataId: 8, minute: minute + 7_200 * (1 + hour) }),
    );
    expect(
      sumRuns([...runs, found({ dataId: 7 })])
        .map(({ dataId }) => dataId)
        .slice(0, 2),
    ).toEqual([8, 7]);
  });
});

describe('received = stored + dropped + dead-lettered + repeated + lost + stuck + unrecorded + in flight', () => {
  it('holds in 3,000 random histories, and received is what a model has', () => {
    const seen = { repeated: 0, lost: 0, stuck: 0, unrecorded: 0, inFlight: 0 };
    for (let seed = 1; seed <= 3_000; seed++) {
      const random = randomOf(seed);
      const history = new BookHistory(random, 10 + random(60));
      const evidence = evidenceOf(history, random(2) === 0);
      const { differences, inFlight } = compareBooks(evidence);
      const standing = standingIn(history);
      const lines = distinctLines(history.settled);
      let onTheWay = 0;
      let hasOthers = false;
      for (const dataId of [1, 2, 3]) {
        const ofOwner = lines.filter((line) => line.owner === dataId);
        const sum = (of: readonly { readonly items: number }[]): number =>
          of.reduce((all, { items }) => all + items, 0);
        const isCounted = (line: (typeof lines)[number]): boolean => standing.of(line, dataId) === 'counted';
        const books = {
          published: sum(newestLines(history.published).filter((line) => line.owner === dataId)),
          counted: sum(ofOwner.filter(isCounted)),
          uncounted: sum(ofOwner.filter((line) => !isCounted(line))),
        };
        // Some messages were settled under the key of another one: of these the last record stands.
        const records = ofOwner.filter(() => random(8) > 0);
        const outcomes: [number, number, number] = [0, 0, 0];
        for (const { items } of records) outcomes[pick<0 | 1 | 2>(random, [0, 0, 1, 2])] += items;
        const earlier = random(3) * random(9);
        outcomes[0] += earlier;
        // Of some the record is gone.
        const withoutRecord = random(4) === 0 ? sum(ofOwner.filter((line) => !records.includes(line))) : 0;
        // Of some the place is gone.
        const withoutPlace = random(4) === 0 ? random(20) : 0;
        outcomes[0] += withoutPlace;
        const recorded = sum(records) + withoutPlace;
        const ofBooks = differences
          .filter((each) => each.dataId === dataId)
          .map(
            (each: Difference): FoundDifference => ({
              ...each,
              closedItems: 0,
              closedMessages: 0,
              reason: '',
            }),
          );
        const rows = found({ kind: 'unrecorded', items: random(9), messages: 0 });
        const gone = found({
          ...{ kind: 'unrecorded', minute: minute + 999, messages: 1 },
          ...{ items: withoutRecord, placedItems: withoutRecord },
        });
        const ofRecords = withoutRecord === 0 ? ofBooks : [...ofBooks, gone];
        const all = random(2) === 0 ? ofRecords : [...ofRecords, rows];
        const account = accountOf(balance(recorded + earlier, recorded, outcomes), [books], all, true);
        const at = `seed ${seed} owner ${dataId}`;
        expect(sumOf(account), at).toBe(account.received);
        for (const column of ['received', 'repeated', 'lost', 'stuck', 'unrecorded', 'inFlight'] as const)
          expect(account[column], at).toBeGreaterThanOrEqual(0);
        if (withoutPlace === 0) expect(account.unrecorded, at).toBeGreaterThanOrEqual(withoutRecord);
        onTheWay += account.inFlight;
        for (const column of ['repeated', 'lost', 'stuck', 'unrecorded', 'inFlight'] as const)
          seen[column] += account[column];
        if (history.isBlurred || withoutPlace > 0) {
          hasOthers = true;
          continue;
        }
        // What a publisher has counted, what is settled beside, and what is stuck and has no place in any book.
        let received = earlier + books.uncounted;
        for (const message of history.messages)
          if (message.result === 'stored' && message.life > 0 && standing.of(message, dataId) === 'counted')
            received += message.owners.get(dataId) ?? 0;
        const stuck = waitingIn(history).filter(([sequence]) => sequence <= history.stream.floor);
        const uncounted = stuck.filter(
          ([, each]) => each.life === 0 || standing.of(each, dataId) !== 'counted',
        );
        const distinct = new Map(
          uncounted.map(([sequence, each]) => [
            each.life === 0 ? sequence : `${each.life} ${each.serial}`,
            each,
          ]),
        );
        const beyond = [...distinct.values()].reduce(
          (items, { owners }) => items + (owners.get(dataId) ?? 0),
          0,
        );
        // No sum of an owner distinguishes stuck items that no publisher has counted from items on their way: the larger one shows.
        expect(account.received, at).toBeGreaterThanOrEqual(received);
        expect(account.received, at).toBeLessThanOrEqual(received + beyond);
        hasOthers ||= beyond > 0;
      }
      if (!hasOthers) expect(onTheWay, `seed ${seed}`).toBe(inFlight);
    }
    for (const items of Object.values(seen)) expect(items).toBeGreaterThan(1_000);
  });
});
