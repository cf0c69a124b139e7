import type { z } from 'zod';
import type { DifferenceSum } from '../../account/accounts.ts';
import {
  type Difference,
  differenceKey,
  type FoundDifference,
  isOfStore,
  isOpen,
  isWrong,
  type Owner,
  streamOfStore,
} from '../../account/difference.ts';
import { ownerText } from '../../account/explain-losses.ts';
import type { StoreComparison, StoreDifference } from '../../account/store-compare.ts';
import { dayMs, daySeconds } from '../../model/time.ts';
import type { storeItem } from '../answers/account.ts';
import { shownDifference } from './shown-account.ts';

/** What operators have closed, by `differenceKey`. */
export type Closings = ReadonlyMap<string, FoundDifference>;

/** What an operator has closed of rows that the books call unrecorded, and that the store has therefore without a record. */
type Credit = { items: number; readonly reason: string };

const creditOf = (closings: Closings, owner: Owner): Credit => {
  const closed = [...closings.values()].filter(
    (each) =>
      each.kind === 'unrecorded' && !isOfStore(each) && ownerText(each) === ownerText(owner) && !isOpen(each),
  );
  const items = closed.reduce((sum, { closedItems }) => sum + closedItems, 0);
  return { items, reason: closed[0]?.reason ?? '' };
};

/** A difference with a store, and what an operator has closed of it, also under its minute in the books. */
const foundOf = (
  { pipeline, dataId, appId, day = Math.floor(Date.now() / dayMs), kind, items }: StoreDifference,
  closings: Closings,
  credit: Credit,
): FoundDifference => {
  const place = { pipeline, dataId, appId, stream: streamOfStore(pipeline), minute: day * daySeconds };
  const difference: Difference = { ...place, kind, items, messages: 0 };
  const closed = closings.get(differenceKey(difference)) ?? { closedItems: 0, closedMessages: 0, reason: '' };
  const { closedMessages } = closed;
  const credited =
    kind === 'unrecorded' ? Math.min(credit.items, Math.max(0, items - closed.closedItems)) : 0;
  credit.items -= credited;
  const closedItems = closed.closedItems + credited;
  const reason = closed.reason === '' && credited > 0 ? credit.reason : closed.reason;
  return { ...difference, closedItems, closedMessages, reason };
};

const sumOf = (found: FoundDifference): DifferenceSum => ({
  ...found,
  from: found.minute,
  until: found.minute + daySeconds,
  isOpen: isOpen(found),
});

/** The owners that were compared, each with what its store and its records differ in. */
export const shownStores = (
  { differences: found, inFlight }: StoreComparison,
  compared: readonly Owner[],
  closings: Closings,
  whyLeftOut: (owner: Owner) => string | undefined,
): z.output<typeof storeItem>[] => {
  const owners = new Map<string, Owner>();
  for (const each of [...compared, ...found, ...inFlight]) owners.set(ownerText(each), each);
  return [...owners.values()].map((owner) => {
    const own = found.filter((each) => ownerText(each) === ownerText(owner));
    const isInFlight = inFlight.some((each) => ownerText(each) === ownerText(owner));
    const unknown = own.find(({ kind }) => kind === 'not_known');
    const credit = creditOf(closings, owner);
    const differences = own.map((each) => foundOf(each, closings, credit));
    const whyNotKnown = unknown?.why ?? (isInFlight ? 'rows were on their way in every reading' : '');
    const why = whyLeftOut(owner) ?? whyNotKnown;
    return {
      pipeline: owner.pipeline,
      data_id: owner.dataId,
      app_id: owner.appId,
      adds_up: differences.some(isWrong) ? false : why === '' ? true : null,
      why,
      differences: differences.map((each) => shownDifference(sumOf(each))),
    };
  });
};
