import { fateOf, type World } from './items.ts';
import type { Claim, Target } from './oracle.ts';

/** Items of one target by what became of them, as the outcomes of the program and as the oracle count them. */
export type Balance = {
  received: number;
  stored: number;
  deadLettered: number;
  readonly dropped: Map<string, number>;
};

export const emptyBalance = (): Balance => ({ received: 0, stored: 0, deadLettered: 0, dropped: new Map() });

const add = (dropped: Map<string, number>, reason: string): void => {
  dropped.set(reason, (dropped.get(reason) ?? 0) + 1);
};

/** The reason for which items are dropped that the policy decides on. */
export const swingReason = 'timestamp_too_old';

/**
 * The expected outcomes of one target, from the numbers that are stored by `isPresent`: every item of every request
 * that is owed, and of the uncertain ones that turned out to be stored (their first item is a good one, and they are
 * stored whole or not at all).
 */
export const expectedBalance = (
  claims: readonly Claim[],
  target: Target,
  world: World,
  isPresent: (id: number) => boolean,
): Balance => {
  const balance = emptyBalance();
  for (const { target: other, first, count, debt } of claims) {
    if (other !== target || (debt !== 'owed' && !isPresent(first))) continue;
    balance.received += count;
    for (let id = first; id < first + count; id++) {
      const fate = fateOf(id, target.layout, id === first, target.hasSwing, world.seed);
      if (isPresent(id)) balance.stored++;
      else if (fate === 'swing') add(balance.dropped, swingReason);
      else if (fate !== 'good') add(balance.dropped, fate);
    }
  }
  return balance;
};

/**
 * How many items the outcomes have dropped by the policy although they are stored. That is right only of requests that two messages
 * settled, each under another policy: NATS has forgotten the earlier one, and the later record replaces that of the earlier
 * (docs/exactly-once.md).
 */
export const laterVerdicts = (expected: Balance, told: Balance): number => {
  const dropped = (told.dropped.get(swingReason) ?? 0) - (expected.dropped.get(swingReason) ?? 0);
  return dropped > 0 && dropped === expected.stored - told.stored ? dropped : 0;
};

/** Differences between two balances in words; none when they are equal. */
export const compareBalances = (expected: Balance, told: Balance): string[] => {
  const lines: string[] = [];
  const compare = (name: string, owed: number, said: number): void => {
    if (owed !== said) lines.push(`${name}: the books say ${owed}, the outcomes ${said}`);
  };
  compare('received', expected.received, told.received);
  compare('stored', expected.stored, told.stored);
  compare('dead_lettered', expected.deadLettered, told.deadLettered);
  for (const reason of new Set([...expected.dropped.keys(), ...told.dropped.keys()])) {
    compare(`dropped/${reason}`, expected.dropped.get(reason) ?? 0, told.dropped.get(reason) ?? 0);
  }
  return lines;
};
