import { describe, expect, it } from 'vitest';
import { accountOf, type MessageAccount, withStrays } from '../../../src/outcomes/message-account.ts';
import { randomOf } from '../../support/otlp/plain/mutations.ts';
import { historyOf, lastRecords, withoutLetters } from '../../support/outcomes/histories.ts';

const histories = 10_000;

const countsOf = ({ outcomes }: MessageAccount): Record<string, number> =>
  Object.fromEntries([...outcomes].filter(([, items]) => items !== 0));

const isSound = ({ received, outcomes, open, unnamed }: MessageAccount): boolean => {
  const counts = [...outcomes.values()];
  const named = open.reduce((sum, { items }) => sum + items, 0);
  return (
    counts.every((items) => items >= 0) &&
    unnamed >= 0 &&
    received === counts.reduce((sum, items) => sum + items, 0) &&
    named + unnamed === (outcomes.get('dead_lettered') ?? 0)
  );
};

const record = (
  ordinal: number,
  redrive: number,
  outcomes: Record<string, number>,
  letters: Record<number, number> = {},
) => ({
  ordinal,
  redrive,
  received: Object.values(outcomes).reduce((sum, items) => sum + items, 0),
  outcomes,
  letters: Object.keys(letters).map(Number),
  letterItems: Object.values(letters),
});

// An account that is wrong by one item cannot tell a loss from its own arithmetic.
describe('the records of a message, its redrives and its purges', () => {
  it('are the true place of every item, in any order of arrival and any number of settlements', () => {
    const random = randomOf(1);
    let settledAgain = 0;
    let moved = 0;
    for (let number = 0; number < histories; number++) {
      const history = historyOf(random);
      const account = accountOf(lastRecords(history.records));
      if (!account.isStanding) expect(history.truth, `history ${number}`).toEqual({});
      expect(countsOf(account), `history ${number}`).toEqual(history.truth);
      expect(isSound(account), `history ${number}`).toBe(true);
      if (history.settlements > 1) settledAgain++;
      if (history.records.some(({ redrive }) => redrive > 1)) moved++;
    }
    // The histories reach what they are made for.
    expect(settledAgain).toBeGreaterThan(histories / 10);
    expect(moved).toBeGreaterThan(histories / 10);
  });

  it('add up and have nothing below 0 where records are lost', () => {
    const random = randomOf(2);
    for (let number = 0; number < histories; number++) {
      const { records } = historyOf(random, { isLossy: true });
      expect(isSound(accountOf(lastRecords(records))), `history ${number}`).toBe(true);
    }
  });

  it('of earlier programs, which name no letters, have nothing below 0, and are true where the message was settled once', () => {
    const random = randomOf(3);
    for (let number = 0; number < histories; number++) {
      const isPlain = number % 2 === 0;
      const history = withoutLetters(historyOf(random, { isPlain }));
      const account = accountOf(lastRecords(history.records));
      expect(isSound(account), `history ${number}`).toBe(true);
      if (isPlain) expect(countsOf(account), `history ${number}`).toEqual(history.truth);
    }
  });

  const cases: [string, Parameters<typeof accountOf>[0], Record<string, number>][] = [
    [
      'a repeat that stored what a redrive had stored counts once',
      [record(-1, 0, { stored: 10 }), record(0, 1, { stored: 10, dead_lettered: -10 })],
      { stored: 10 },
    ],
    [
      'a purge of what a repeat has stored counts nothing',
      [record(-1, 0, { stored: 10 }), record(0, 1, { 'dropped/purged_by_operator': 10, dead_lettered: -10 })],
      { stored: 10 },
    ],
    [
      'a redrive that was refused again and the next one, which stored',
      [
        record(-1, 0, { stored: 2, dead_lettered: 3 }, { 4: 3 }),
        record(4, 1, { stored: 2, dead_lettered: -2 }, { 5: 1 }),
        record(5, 2, { stored: 1, dead_lettered: -1 }),
      ],
      { stored: 5 },
    ],
    [
      'a chain whose first letter no record names counts nothing, beside another dead letter',
      [
        record(-1, 0, { stored: 9, dead_lettered: 1 }, { 7: 1 }),
        record(4, 1, { dead_lettered: 0 }, { 4: 1 }),
        record(4, 2, { stored: 1, dead_lettered: -1 }),
      ],
      { stored: 9, dead_lettered: 1 },
    ],
    [
      'a redrive of an earlier program, as far as the message has dead-lettered items',
      [
        record(-1, 0, { stored: 8, dead_lettered: 2 }),
        record(1, 1, { stored: 1, dead_lettered: -1 }),
        record(2, 1, { stored: 5, dead_lettered: -5 }),
      ],
      { stored: 10 },
    ],
    [
      'a malformed message that a later program could read leaves with its item',
      [
        record(-1, 0, { dead_lettered: 1 }, { [-1]: 1 }),
        record(-1, 1, { dead_lettered: 0 }, { [-1]: 1 }),
        record(-1, 2, { dead_lettered: -1 }),
      ],
      {},
    ],
    [
      'a redrive without a standing record counts nothing',
      [record(3, 1, { stored: 1, dead_lettered: -1 })],
      {},
    ],
  ];
  it.each(cases)('%s', (_, records, outcomes) => {
    const account = accountOf(records);
    expect(countsOf(account)).toEqual(outcomes);
    expect(isSound(account)).toBe(true);
  });
});

describe('redrives whose message has no standing record', () => {
  it('move items as far as their owner has dead-lettered ones, stored ones first', () => {
    const sums = { received: 10, outcomes: { stored: 7, dead_lettered: 3 } };
    const stray = { stored: 2, 'dropped/a': 4 };
    expect(withStrays(sums, stray, 6)).toEqual({
      received: 10,
      outcomes: { stored: 9, dead_lettered: 0, 'dropped/a': 1 },
    });
    expect(withStrays({ received: 4, outcomes: { stored: 4 } }, stray, 6)).toEqual({
      received: 4,
      outcomes: { stored: 4 },
    });
  });
});
