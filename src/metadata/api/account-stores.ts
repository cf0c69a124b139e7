import { z } from 'zod';
import type { DifferenceSum } from '../../account/accounts.ts';
import {
  type Difference,
  differenceKey,
  type FoundDifference,
  isOpen,
  type Owner,
  streamOfStore,
} from '../../account/difference.ts';
import type { StoreComparison, StoreDifference } from '../../account/store-compare.ts';
import { pipelines } from '../../model/signals.ts';
import { differenceSchema, shownDifference } from './account-shapes.ts';

const count = z.int();
const dayMs = 86_400_000;
const daySeconds = 86_400;

/** What the store of an owner and its records differ in, in the answers of the admin API. */
export const storeItem = z
  .strictObject({
    pipeline: z.enum(pipelines),
    data_id: count.meta({ description: '0 for an application' }),
    app_id: count.meta({ description: '0 for points' }),
    adds_up: z.boolean().nullable().meta({
      description: 'Whether the store holds exactly the recorded rows; null where that is not known',
    }),
    why: z.string().meta({ description: 'Why it is not known; else empty' }),
    differences: z.array(differenceSchema),
  })
  .meta({ id: 'StoreAccount' });

const wrong = new Set(['missing_in_the_store', 'unrecorded']);

/** What operators have closed, by `differenceKey`. */
export type Closings = ReadonlyMap<string, FoundDifference>;

const sumOf = (
  { pipeline, dataId, appId, day = Math.floor(Date.now() / dayMs), kind, items }: StoreDifference,
  closings: Closings,
): DifferenceSum => {
  const from = day * daySeconds;
  const stream = streamOfStore(pipeline);
  const difference: Difference = {
    ...{ pipeline, dataId, appId, kind, items, stream },
    minute: from,
    messages: 0,
  };
  const closed = closings.get(differenceKey(difference));
  return {
    ...{ pipeline, dataId, appId, kind, items, messages: 0, from, stream },
    until: from + daySeconds,
    isOpen: closed === undefined || isOpen({ ...closed, items }),
    reason: closed?.reason ?? '',
  };
};

const textOf = ({ pipeline, dataId, appId }: Owner): string => `${pipeline} ${dataId} ${appId}`;

/** The owners that were compared, each with what its store and its records differ in. */
export const shownStores = (
  { differences: found, inFlight }: StoreComparison,
  compared: readonly Owner[],
  closings: Closings,
  isPurged: (owner: Owner) => boolean,
): z.output<typeof storeItem>[] => {
  const owners = new Map<string, Owner>();
  for (const each of [...compared, ...found, ...inFlight]) owners.set(textOf(each), each);
  return [...owners.values()].map((owner) => {
    const own = found.filter((each) => textOf(each) === textOf(owner));
    const isInFlight = inFlight.some((each) => textOf(each) === textOf(owner));
    const unknown = own.find(({ kind }) => kind === 'not_known');
    const sums = own.map((each) => sumOf(each, closings));
    const hasOpen = sums.some((each) => each.isOpen && wrong.has(each.kind));
    const why = isPurged(owner)
      ? 'it was purged, and is not compared'
      : (unknown?.why ?? (isInFlight ? 'rows were on their way in every reading' : ''));
    return {
      pipeline: owner.pipeline,
      data_id: owner.dataId,
      app_id: owner.appId,
      adds_up: hasOpen ? false : why === '' ? true : null,
      why,
      differences: sums.map(shownDifference),
    };
  });
};
