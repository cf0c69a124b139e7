import { describe, expect, it } from 'vitest';
import { ownerText } from '../../../src/account/explain-losses.ts';
import {
  createLostLetters,
  isOfLetters,
  sumLostLetters,
  textOfLetter,
  textOfOwnLetter,
} from '../../../src/account/lost-letters.ts';
import type { OpenLetterOf } from '../../../src/outcomes/record-reader.ts';
import { LetterHistory } from '../../support/account/letter-history.ts';
import { randomOf } from '../../support/otlp/plain/mutations.ts';

const histories = 10_000;

const letter = (change: Partial<OpenLetterOf> = {}): OpenLetterOf => ({
  ...{ pipeline: 'metrics', data_id: 1, app_id: 0, base: '5', first: 0, minute: 120, redrive: 0 },
  ...{ ordinal: -1, items: 4 },
  ...change,
});

describe('lost dead letters', () => {
  it('are exactly those that are nowhere, regardless of what happens during the search', async () => {
    const random = randomOf(3);
    const reached = { lost: 0, redriven: 0, again: 0 };
    for (let number = 0; number < histories; number++) {
      const history = new LetterHistory(random);
      const search = createLostLetters(history.dependencies);
      for (let turn = random(8); turn >= 0; turn--) {
        for (let acts = random(12); acts > 0; acts--) history.act();
        const found = (await search.find()) ?? [];
        expect(history.lost, `history ${number}`).toEqual(expect.arrayContaining(found.map(textOfOwnLetter)));
      }
      history.rest();
      await search.find();
      await search.find();
      const found = (await search.find()) ?? [];
      expect(found.map(textOfOwnLetter).toSorted(), `history ${number}`).toEqual(history.lost);
      for (const name of ['lost', 'redriven', 'again'] as const) reached[name] += history.acts[name];
    }
    // The histories reach what they are made for.
    for (const count of Object.values(reached)) expect(count).toBeGreaterThan(histories / 10);
  });

  it('are not known where DEADLETTER is too long to be read', async () => {
    const history = new LetterHistory(randomOf(4));
    const search = createLostLetters({ ...history.dependencies, readKept: async () => undefined });
    while (history.letters.length === 0) history.act();
    history.rest();
    expect(await search.find()).toBeUndefined();
  });

  it('name the sequences that their redrives had, if they were lost there', async () => {
    let end = 10;
    let kept = new Set([letter(), letter({ base: '6' })].map(textOfOwnLetter));
    const dependencies = {
      streamOf: () => 'METRICS',
      readOpen: async () => [letter(), letter({ base: '6' })],
      readKept: async () => kept,
      readEnds: async () => new Map([['METRICS', end++]]),
      readRedrives: async () => new Set<string>(),
      untilRecorded: async () => undefined,
    };
    const search = createLostLetters(dependencies);
    await search.find();
    end = 15;
    kept = new Set();
    await search.find();
    expect(search.redrivesIn('METRICS'), 'missed once').toEqual([]);
    expect(await search.find()).toHaveLength(2);
    expect(search.redrivesIn('METRICS')).toEqual([{ first: 11, last: 16, messages: 2 }]);
    expect(search.redrivesIn('TRACES')).toEqual([]);
    // Of letters that were gone before the first search it is not known.
    const later = createLostLetters(dependencies);
    await later.find();
    expect(await later.find()).toHaveLength(2);
    expect(later.redrivesIn('METRICS')).toEqual([]);
  });

  it('are none of those whose redrive waits, also where an earlier process found one', async () => {
    const first = letter();
    const search = createLostLetters({
      streamOf: () => 'METRICS-b',
      readOpen: async () => [first],
      readKept: async () => new Set(),
      readEnds: async () => new Map(['METRICS', 'METRICS-b'].map((stream) => [stream, 9])),
      readRedrives: async (stream) => new Set(stream === 'METRICS-b' ? [textOfLetter(first)] : []),
      untilRecorded: async () => undefined,
    });
    expect(await search.find()).toBeUndefined();
    expect(await search.find()).toEqual([]);
    expect(search.isSearching).toBe(true);
  });

  it.each(['cannot be read', 'is long'])(
    'are reported for all other streams beside one that %s, whose letters stand until it is read',
    async (why) => {
      const [here, there] = [letter(), letter({ base: '6', data_id: 2 })];
      let isRead = false;
      const search = createLostLetters({
        streamOf: ({ data_id }) => (data_id === 2 ? 'METRICS-z' : 'METRICS'),
        readOpen: async () => [here, there],
        readKept: async () => new Set(),
        readEnds: async () =>
          new Map([['METRICS', 9], ...(isRead || why === 'is long' ? [['METRICS-z', 9] as const] : [])]),
        readRedrives: async (stream) => (stream === 'METRICS-z' && !isRead ? undefined : new Set()),
        untilRecorded: async () => undefined,
      });
      expect(await search.find()).toBeUndefined();
      expect(await search.find()).toEqual([here]);
      expect(search.unjudged).toEqual([there]);
      isRead = true;
      // Where its end was not known, a redrive may be there that no search has read.
      if (why !== 'is long') expect(await search.find()).toBeUndefined();
      expect(await search.find()).toEqual([here, there]);
      expect(search.unjudged).toEqual([]);
    },
  );

  it('are a difference of each owner and minute, less the items whose rows the store has', async () => {
    const letters = [
      letter(),
      letter({ base: '6', items: 3 }),
      letter({ minute: 240 }),
      letter({ data_id: 2 }),
    ];
    const differences = await sumLostLetters(letters, {
      unrecordedRows: async (owners) =>
        new Map(owners.map((owner) => [ownerText(owner), owner.dataId === 2 ? 9 : 1])),
      rowsBefore: () => 0,
      strayItems: async () => 100,
    });
    const common = {
      kind: 'lost_in_the_stream',
      stream: 'METRICS',
      pipeline: 'metrics',
      dataId: 1,
      appId: 0,
    };
    expect(differences).toEqual([
      { ...common, minute: 135, items: 6, messages: 2 },
      { ...common, minute: 255, items: 4, messages: 1 },
    ]);
    expect(differences.every(isOfLetters)).toBe(true);
  });

  it('are lost where the rows without a record were there before they arrived', async () => {
    const differences = await sumLostLetters([letter({ items: 3 }), letter({ items: 3, minute: 240 })], {
      unrecordedRows: async (owners) => new Map(owners.map((owner) => [ownerText(owner), 4])),
      rowsBefore: (_owner, minute) => (minute === 240 ? 4 : 0),
      strayItems: async () => 0,
    });
    expect(differences).toMatchObject([{ minute: 255, items: 3, messages: 1 }]);
  });

  it('of items far from the base of their message are not distinguished from its first item, and are none once redriven', async () => {
    const open = [letter({ ordinal: 0 }), letter({ base: '6', ordinal: 1 })];
    let kept = new Set([textOfOwnLetter({ ...letter({ base: '900' }), ordinal: 0 })]);
    const search = createLostLetters({
      streamOf: () => 'METRICS',
      readOpen: async () => open,
      readKept: async () => kept,
      readEnds: async () => new Map([['METRICS', 1]]),
      readRedrives: async () => new Set(),
      untilRecorded: async () => undefined,
    });
    expect(await search.find()).toBeUndefined();
    expect(await search.find()).toBeUndefined();
    kept = new Set();
    const found = await search.find();
    expect(found).toEqual(open);
    const explained = {
      unrecordedRows: async () => new Map(),
      rowsBefore: () => 0,
      strayItems: async () => 4,
    };
    expect(await sumLostLetters(found ?? [], explained)).toMatchObject([{ items: 4, minute: 135 }]);
  });
});
