import { type DayRows, type DescribedRows, type OwnerDays, partDays, sumText } from '../wire/part-days.ts';
import type { DeadLettered } from './sink.ts';

type Counted = { rows: number; sum: bigint };

const add = (counted: Map<number, Counted>, days: readonly DayRows[], sign: 1 | -1): void => {
  for (const [day, rows, sum] of days) {
    const known = counted.get(day) ?? { rows: 0, sum: 0n };
    counted.set(day, known);
    known.rows += sign * rows;
    known.sum += BigInt(sign) * BigInt(sum);
  }
};

const toOwnerDays = (counted: ReadonlyMap<number, Counted>): OwnerDays => {
  const days = [...counted].filter(([, { rows }]) => rows > 0).toSorted(([a], [b]) => a - b);
  return {
    days: days.map(([day]) => day),
    rows: days.map(([, { rows }]) => rows),
    sums: days.map(([, { sum }]) => sumText(sum)),
  };
};

const ofOneDay = ([day, rows, sum]: DayRows): OwnerDays => ({ days: [day], rows: [rows], sums: [sum] });

const countDays = (parts: readonly (readonly DayRows[])[]): OwnerDays => {
  const counted = new Map<number, Counted>();
  for (const days of parts) add(counted, days, 1);
  return toOwnerDays(counted);
};

/** The rows of a message by owner, before any refusal. An owner with a part that does not tell its days is left out. */
export const daysByOwner = <P extends DescribedRows>(
  parts: readonly P[],
  ownerOf: (part: P) => number,
): Map<number, OwnerDays> => {
  const byOwner = new Map<number, OwnerDays>();
  const [only] = parts;
  if (parts.length === 1 && only !== undefined) {
    const days = partDays(only);
    if (days !== undefined)
      byOwner.set(ownerOf(only), days.length === 1 && days[0] ? ofOneDay(days[0]) : countDays([days]));
    return byOwner;
  }
  for (const [owner, own] of Map.groupBy(parts, ownerOf)) {
    const days = own.map(partDays);
    if (days.every((each) => each !== undefined)) byOwner.set(owner, countDays(days));
  }
  return byOwner;
};

/**
 * The rows that the store has taken: those of the message without the refused ones. An owner with a refusal that does not tell its
 * rows is left out.
 */
export const takenDays = (
  all: ReadonlyMap<number, OwnerDays>,
  refused: readonly DeadLettered[],
): ReadonlyMap<number, OwnerDays> => {
  if (refused.length === 0) return all;
  const taken = new Map(all);
  for (const [owner, letters] of Map.groupBy(refused, ({ place }) => place.dataId ?? place.appId)) {
    const own = owner === undefined ? undefined : all.get(owner);
    if (owner === undefined || own === undefined) continue;
    const counted = new Map<number, Counted>();
    add(
      counted,
      own.days.map((day, index) => [day, own.rows[index] ?? 0, own.sums[index] ?? '0']),
      1,
    );
    const days = letters.map(({ part }) => (part === undefined ? undefined : partDays(part)));
    if (days.every((each) => each !== undefined)) {
      for (const each of days) add(counted, each, -1);
      taken.set(owner, toOwnerDays(counted));
    } else taken.delete(owner);
  }
  return taken;
};
