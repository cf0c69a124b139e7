import { recordKeys } from '../../directory/keys.ts';
import type { Pipeline } from '../../model/signals.ts';
import type { Records } from '../records/store.ts';

type Read = {
  readonly purges: Pick<Records['purges'], 'known'>;
  readonly unreadable: Pick<Records['unreadable'], 'has'>;
};

/** The records that say which rows of an owner are gone on purpose, and where the others are. */
const keysOf = (pipeline: Pipeline, owner: number): string[] =>
  pipeline === 'metrics'
    ? [recordKeys.sourcePolicy(owner), recordKeys.purge(owner), recordKeys.placement(owner)]
    : [recordKeys.applicationPolicy(owner)];

/** Why the stores are not compared with the records of an owner; undefined where they are. */
export const whyLeftOut = (
  { purges, unreadable }: Read,
  pipeline: Pipeline,
  owner: number,
): string | undefined => {
  const unread = keysOf(pipeline, owner).find((key) => unreadable.has(key));
  if (unread !== undefined) return `its record ${unread} cannot be read, and it is not compared`;
  if (pipeline !== 'metrics' || purges.known(owner) === undefined) return undefined;
  return 'it was purged, and is not compared';
};
