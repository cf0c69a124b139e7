import { type Difference, isOfStore, type Owner } from './difference.ts';
import { createEarlierRows } from './earlier-rows.ts';
import { isLoss, type LossEvidence, type OwnRows, ownerText } from './explain-losses.ts';
import { type ExplainedByStore, notNamedByBooks } from './named-rows.ts';
import { noSources, sourcedRows } from './row-sources.ts';
import type { StoreDifference } from './store-compare.ts';
import type { StoreLook } from './store-look.ts';

/** What the looks know of rows that the stores have without a record: what they explain, and when a loss is to be explained again. */
export type UnrecordedRows = Pick<LossEvidence, 'unrecordedRows' | 'rowsBefore'> & {
  /** Takes over what is found now. To be called at each look. */
  note(found: Iterable<Difference>): void;
  /** Which rows can be of messages of these lives. */
  rowsOf(livesOf: (loss: Difference) => ReadonlySet<number>): LossEvidence['rowsOf'];
  /** Takes over what the stores differ in, before the books name some of it. */
  compared(differences: readonly StoreDifference[]): void;
  /** Whether a difference is to be found again: the rows of its owner have changed since the last call of `explained`. */
  isToExplain(difference: Difference): boolean;
  /** All of these were found again. */
  explained(): void;
};

export type UnrecordedRowsOptions = {
  readonly stores: Pick<StoreLook, 'unrecorded' | 'sources'>;
  readonly found: () => Iterable<Difference>;
  readonly byStore: ExplainedByStore;
  /** Is called with the time that a reading only waited, ms. */
  readonly waited: (ms: number) => void;
  /** Unix seconds. */
  readonly now: () => number;
  /** Minutes of longer ago are not compared again: their lines may have expired. */
  readonly explainedSeconds: number;
};

const minuteOf = ({ minute }: Difference): number => Math.floor(minute / 60) * 60;

const textsOf = (differences: readonly StoreDifference[]): Map<string, string> => {
  const texts = new Map<string, string>();
  for (const each of differences)
    if (each.kind === 'unrecorded')
      texts.set(ownerText(each), `${texts.get(ownerText(each)) ?? ''} ${each.day} ${each.items}`);
  return texts;
};

export const createUnrecordedRows = (options: UnrecordedRowsOptions): UnrecordedRows => {
  const { stores, found, byStore, waited, now, explainedSeconds } = options;
  const earlier = createEarlierRows(now);
  const daysOf = new Map<string, readonly number[]>();
  let texts: ReadonlyMap<string, string> = new Map();
  const changed = new Set<string>();

  /** Items of each loss that were found lost before, by the key of its owner and minute: rows that came later are not theirs. */
  const standingIn = (losses: readonly Difference[]): ReadonlyMap<string, number> => {
    const wanted = new Set(losses.map((each) => `${each.stream} ${ownerText(each)} ${each.minute}`));
    const standing = new Map<string, number>();
    for (const each of found()) {
      const key = `${each.stream} ${ownerText(each)} ${each.minute}`;
      if (isLoss(each) && wanted.has(key)) standing.set(key, each.items + (standing.get(key) ?? 0));
    }
    return standing;
  };

  return {
    note: (all) => earlier.note(all),
    rowsBefore: (owner, minute) => earlier.before(owner, minute),
    /** Less those that explain other minutes. */
    unrecordedRows: async (owners: readonly Owner[]) => {
      const { rows, waitedMs } = await stores.unrecorded(owners);
      waited(waitedMs);
      for (const [owner, days] of rows) daysOf.set(owner, [...days.keys()]);
      return notNamedByBooks(earlier.read(rows), rows, found(), byStore);
    },
    rowsOf: (livesOf) => async (losses) => {
      const asked = [...Map.groupBy(losses, ownerText)].flatMap(([text, each]) => {
        const [owner] = each;
        const days = daysOf.get(text) ?? [];
        return owner === undefined ? [] : [{ owner, days, minutes: [...new Set(each.map(minuteOf))] }];
      });
      const sources = asked.length === 0 ? new Map() : await stores.sources(asked);
      const rows = new Map(
        asked.map(({ owner }) => [ownerText(owner), sourcedRows(sources.get(ownerText(owner)) ?? noSources)]),
      );
      const standing = standingIn(losses);
      const take: OwnRows = (loss, most) => {
        const owner = ownerText(loss);
        const lost = standing.get(`${loss.stream} ${owner} ${loss.minute}`) ?? 0;
        const from = {
          ...{ lives: livesOf(loss), minute: minuteOf(loss) },
          hashedMost: Math.max(0, loss.items - lost),
        };
        return rows.get(owner)?.take(from, most) ?? 0;
      };
      return take;
    },
    compared: (differences) => {
      const next = textsOf(differences);
      for (const owner of new Set([...texts.keys(), ...next.keys()]))
        if (texts.get(owner) !== next.get(owner)) changed.add(owner);
      texts = next;
    },
    isToExplain: (each) =>
      changed.has(ownerText(each)) &&
      each.minute % 60 === 0 &&
      each.minute >= now() - explainedSeconds &&
      each.items > (each.placedItems ?? 0) &&
      (isLoss(each) || (each.kind === 'unrecorded' && !isOfStore(each))),
    explained: () => changed.clear(),
  };
};
