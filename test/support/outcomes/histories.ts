import type { MessageRecord } from '../../../src/outcomes/message-account.ts';
import { pick, type Random, shuffled } from '../otlp/plain/mutations.ts';

/** A record with the time that decides between those of one key. */
export type TimedRecord = MessageRecord & { readonly at: number };

/** What happened to one message of one owner. */
export type History = {
  /** In the order of their arrival at the store; some of them twice. */
  readonly records: readonly TimedRecord[];
  /** Records that did not arrive. */
  readonly lost: number;
  /** Times that it was settled. */
  readonly settlements: number;
  /** Items by outcome, as an account of each item by itself has them; empty while no settlement is recorded. */
  readonly truth: Readonly<Record<string, number>>;
};

const dead = 'dead_lettered';
const places = ['stored', 'stored', 'stored', dead, dead, dead, 'dropped/a', 'dropped/b'] as const;

/** A dead letter: items of the message, and the number of its earlier redrives. */
type Letter = { readonly redrive: number; readonly items: readonly number[]; readonly at: number };
type Judgement = { readonly at: number; readonly outcomeOf: ReadonlyMap<number, string> };

const countsOf = (outcomes: Iterable<string>): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const outcome of outcomes) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
};

/**
 * One seeded history: the message is settled once or several times, each time with other outcomes; some settlements end before their
 * record; letters are redriven and purged, also those that a restored backup brought back and those that no record names; a redrive may
 * dead-letter again. `isLossy`: records may be lost. `isPlain`: settled once, each letter redriven or purged once at most.
 */
export const historyOf = (random: Random, { isLossy = false, isPlain = false } = {}): History => {
  const below = random;
  const chance = (share: number): boolean => random(1_000) < share * 1_000;
  // Items keep their order. Some stand before the message's base: -1 is the whole message, so they begin at -2.
  const ordinalFirst = pick(random, [0, 0, 5, -4]);
  const ordinalOf = (item: number): number => {
    const ordinal = ordinalFirst + item;
    return ordinal < 0 ? ordinal - 1 : ordinal;
  };
  // A store refuses one row, or all rows of a table: the letters of a message are these blocks.
  const blocks: number[][] = [];
  let items = 0;
  for (let block = 1 + below(4); block > 0; block--)
    blocks.push(Array.from({ length: chance(0.5) ? 1 : 1 + below(3) }, () => items++));

  let clock = 1;
  const records: TimedRecord[] = [];
  const letters: Letter[] = [];
  const acts = new Map<string, Judgement>();
  let standing: Judgement | undefined;
  let settlements = 0;
  const ordinalOfLetter = (each: Letter): number => ordinalOf(each.items[0] ?? 0);
  const keyOf = (each: Letter): string => `${each.redrive} ${ordinalOfLetter(each)}`;

  const settle = (): void => {
    const outcomeOf = new Map<number, string>();
    const own: Letter[] = [];
    clock++;
    for (const block of blocks) {
      const isSplit = chance(0.3);
      const outcome = pick(random, places);
      for (const item of block)
        outcomeOf.set(item, isSplit ? pick(random, ['stored', 'dropped/a']) : outcome);
      if (!isSplit && outcome === dead) own.push({ redrive: 0, items: block, at: clock });
    }
    letters.push(...own);
    clock++;
    // The process was killed between the dead letters and the record: another delivery settles, perhaps with other outcomes.
    if (!isPlain && chance(0.2)) return;
    settlements++;
    standing = { at: clock, outcomeOf };
    records.push({
      ordinal: -1,
      redrive: 0,
      received: items,
      outcomes: countsOf(outcomeOf.values()),
      letters: own.map(ordinalOfLetter),
      letterItems: own.map((each) => each.items.length),
      at: clock,
    });
  };

  const act = (letter: Letter): void => {
    const isPurge = chance(0.25);
    const outcomeOf = new Map(
      letter.items.map((item) => [item, isPurge ? 'dropped/purged_by_operator' : pick(random, places)]),
    );
    // A purge has the time of its letter: it never takes the place of what a redrive recorded since.
    const at = isPurge ? letter.at : ++clock;
    const known = acts.get(keyOf(letter));
    if (known === undefined || known.at <= at) acts.set(keyOf(letter), { at, outcomeOf });
    const again = letter.items.filter((item) => outcomeOf.get(item) === dead);
    for (const item of again) letters.push({ redrive: letter.redrive + 1, items: [item], at });
    const counts = countsOf(outcomeOf.values());
    records.push({
      ordinal: ordinalOfLetter(letter),
      redrive: letter.redrive + 1,
      received: 0,
      outcomes: { ...counts, [dead]: (counts[dead] ?? 0) - letter.items.length },
      letters: again.map(ordinalOf),
      letterItems: again.map(() => 1),
      at,
    });
  };

  settle();
  for (let steps = below(12); steps > 0; steps--) {
    const letter = letters[below(Math.max(1, letters.length))];
    if (isPlain) {
      if (letter !== undefined && !acts.has(keyOf(letter))) act(letter);
    } else if (letter === undefined || chance(0.2)) settle();
    else act(letter);
  }

  const placeOf = (item: number, { outcomeOf }: Judgement): string => {
    let outcome = outcomeOf.get(item) ?? dead;
    let letter: Letter = { redrive: 0, items: blocks.find((block) => block.includes(item)) ?? [item], at: 0 };
    while (outcome === dead) {
      const judgement = acts.get(keyOf(letter));
      if (judgement === undefined) return dead;
      outcome = judgement.outcomeOf.get(item) ?? dead;
      letter = { redrive: letter.redrive + 1, items: [item], at: 0 };
    }
    return outcome;
  };
  const { length } = records;
  const arrived = isLossy ? records.filter(() => chance(0.7)) : records;
  const judged = standing;
  const truth =
    judged === undefined ? {} : countsOf(Array.from({ length: items }, (_, item) => placeOf(item, judged)));
  return {
    records: shuffled(random, [...arrived, ...arrived.filter(() => chance(0.2))]),
    lost: length - arrived.length,
    settlements,
    truth,
  };
};

/** What the store keeps of each key: the last record. */
export const lastRecords = (records: readonly TimedRecord[]): TimedRecord[] => {
  const last = new Map<string, TimedRecord>();
  for (const record of records) {
    const key = `${record.ordinal} ${record.redrive}`;
    const known = last.get(key);
    if (known === undefined || known.at <= record.at) last.set(key, record);
  }
  return [...last.values()];
};

/** The same history as an earlier program wrote it: its records name no letters. */
export const withoutLetters = (history: History): History => ({
  ...history,
  records: history.records.map((record) => ({ ...record, letters: [], letterItems: [] })),
});
