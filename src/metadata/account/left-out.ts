import { recordKeys } from '../../directory/keys.ts';
import { unreadableOf } from '../../directory/unreadable.ts';
import type { Pipeline } from '../../model/signals.ts';
import type { Records } from '../records/store.ts';

type Read = {
  readonly purges: Pick<Records['purges'], 'known'>;
  readonly unreadable: Pick<Records['unreadable'], 'size' | 'has'>;
};

/** The records that say which rows of an owner are gone on purpose, and where the others are. */
const keysOf = (pipeline: Pipeline) =>
  pipeline === 'metrics'
    ? [recordKeys.sourcePolicy, recordKeys.purge, recordKeys.placement]
    : [recordKeys.applicationPolicy];

/** Why the stores are not compared with the records of an owner; undefined where they are. */
export const whyLeftOut = (
  { purges, unreadable }: Read,
  pipeline: Pipeline,
  owner: number,
): string | undefined => {
  const unread = unreadableOf(unreadable, owner, keysOf(pipeline));
  if (unread !== undefined) return `its record ${unread} cannot be read, and it is not compared`;
  if (pipeline !== 'metrics' || purges.known(owner) === undefined) return undefined;
  return 'it was purged, and is not compared';
};
