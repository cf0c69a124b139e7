import { fateOf, isOfApplication, type World } from './items.ts';
import { type Claim, claimOf, type Target } from './oracle.ts';
import { bitsOf, type SeenRow } from './rows.ts';

/**
 * Violations. `missing`: owed and not stored. `twice`: stored more than once (spans: also as FINAL sees it).
 * `unmerged`: a span stored twice for a plain query alone, still after the streams were empty for a while. `changed`: a
 * value differs. `unexpected`: stored without an owed item. `torn`: a part of a request that must be stored whole or
 * not at all. `unfindable`: a trace that its id does not find. `balance`: the outcomes differ from the books. `stuck`:
 * never answered 2xx though sent to the end. `answer`: a status that no fault explains. `dead_letter`: something was
 * dead-lettered though nothing was poison.
 */
export const offences = [
  'missing',
  'twice',
  'unmerged',
  'changed',
  'unexpected',
  'torn',
  'unfindable',
  'balance',
  'stuck',
  'answer',
  'dead_letter',
] as const;
export type Offence = (typeof offences)[number];

/** One violation, with the number of the item and its request where there is one. */
export type Finding = {
  readonly offence: Offence;
  readonly target: string;
  readonly detail: string;
  readonly id?: number;
  readonly claim?: Claim | undefined;
};

/** The expectations for a table. */
export type Owed = {
  readonly world: World;
  /** In the order of their numbers. */
  readonly claims: readonly Claim[];
  /** How long the streams remember an id. */
  readonly duplicateWindowSeconds: number;
};

/** The stored rows of each item, and their errors. */
export type Presence = {
  readonly bits: Map<number, number>;
  readonly findings: Finding[];
  lateRepeats: number;
};

/** Some of the request was published again when its first message may have been forgotten: FINAL alone sees it once. */
const isLate = ({ tries }: Claim, windowSeconds: number): boolean =>
  (tries.at(-1)?.answeredAt ?? 0) - (tries[0]?.sentAt ?? 0) > windowSeconds * 1000;

/** The stored items, and the errors of single rows. */
const lookAtRows = (
  rows: readonly SeenRow[],
  target: Target,
  { claims, duplicateWindowSeconds }: Owed,
): Presence => {
  const bits = new Map<number, number>();
  const findings: Finding[] = [];
  let lateRepeats = 0;
  for (const { id, bit, isUnchanged, text } of rows) {
    const claim = claimOf(claims, id);
    const find = (offence: Offence): void => {
      findings.push({ offence, target: target.name, id, claim, detail: text });
    };
    const seen = bits.get(id) ?? 0;
    if (claim === undefined || claim.target !== target) find('unexpected');
    else if ((seen & bit) !== 0 && !isOfApplication(target.layout)) find('twice');
    else if ((seen & bit) !== 0 && isLate(claim, duplicateWindowSeconds)) lateRepeats++;
    else if ((seen & bit) !== 0) find('unmerged');
    else if (!isUnchanged) find('changed');
    bits.set(id, seen | bit);
  }
  return { bits, findings, lateRepeats };
};

/** Compares the stored items with the owed ones, item by item. */
const holdAgainstDebts = ({ bits, findings }: Presence, { claims, world }: Owed, target: Target): void => {
  for (const claim of claims) {
    if (claim.target !== target) continue;
    const { first, count, debt } = claim;
    const isWhole = debt === 'owed' || (debt !== 'absent' && bits.has(first));
    for (let id = first; id < first + count; id++) {
      const fate = fateOf(id, target.layout, id === first, target.hasSwing, world.seed);
      const there = bits.get(id) ?? 0;
      const whole = bitsOf(id, target, world);
      const find = (offence: Offence): void => {
        findings.push({ offence, target: target.name, id, claim, detail: `${fate}, ${debt}` });
      };
      if (fate === 'good' && isWhole && there !== whole) find(debt === 'owed' ? 'missing' : 'torn');
      if (fate === 'good' && !isWhole && there !== 0) find(debt === 'absent' ? 'unexpected' : 'torn');
      if (fate === 'swing' && there !== 0 && (there !== whole || !isWhole)) find('torn');
      if (fate !== 'good' && fate !== 'swing' && there !== 0) find('unexpected');
    }
  }
};

/** Checks every row of one target, as a plain query sees them, and every item that is owed there. */
export const judgeRows = (rows: readonly SeenRow[], target: Target, owed: Owed): Presence => {
  const presence = lookAtRows(rows, target, owed);
  holdAgainstDebts(presence, owed, target);
  return presence;
};

/** Requests that were never answered 2xx though sent to the end, and statuses that no fault explains. */
export const judgeAnswers = (claims: readonly Claim[]): Finding[] => {
  const findings: Finding[] = [];
  for (const claim of claims) {
    const target = claim.target.name;
    if (claim.debt === 'open') findings.push({ offence: 'stuck', target, claim, detail: 'still open' });
    for (const { status } of claim.tries) {
      // Receivers accept a new token a moment later, and the one before the last no more.
      const isStale = status === 401 && claim.target.tokens.length > 1;
      if (![0, 200, 503].includes(status) && !isStale)
        findings.push({ offence: 'answer', target, claim, detail: `${status}` });
    }
  }
  return findings;
};
