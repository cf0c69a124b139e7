import type { components } from '../../api/schema.d.ts';
import { ownerName, ownerText } from '../../parts/owners.tsx';
import { isStreamOfApplications } from '../../parts/signals.ts';

export type Difference = components['schemas']['Difference'];

/** The CLI's words for the kinds. */
const textOfKind: Readonly<Record<Difference['kind'], string>> = {
  lost_in_the_stream: 'lost in the stream',
  lost_by_the_engine: 'lost by the engine',
  not_counted: 'not counted by its receiver',
  stuck: 'stuck in the stream',
  orphan: 'orphaned dead letter',
  missing_in_the_store: 'missing in the store',
  unrecorded: 'without a line or record',
  unmerged: 'not merged yet',
  not_known: 'not known',
};

export const kindText = (kind: Difference['kind']): string => textOfKind[kind];

/** The owner of a difference as a closing names it; data id 0 where the owner is not known. */
export const ownerOf = ({
  stream,
  owners: [owner],
}: Difference): { data_id: number } | { app_id: number } => {
  if (owner === undefined) return { data_id: 0 };
  return isStreamOfApplications(stream) ? { app_id: owner } : { data_id: owner };
};

export const ownerWords = (difference: Difference): string =>
  difference.owners.length === 0 ? 'without a known owner' : ownerName(ownerText(ownerOf(difference)));

/** The open differences that one closing closes: all of an owner and a kind. */
export const closedWith = (all: readonly Difference[], one: Difference): Difference[] =>
  all.filter((each) => each.is_open && each.kind === one.kind && ownerWords(each) === ownerWords(one));
