import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { type Resource, useLoad } from '../api/use.ts';
import { Button } from './button.tsx';
import { counted } from './figures.ts';
import { emptyText, Pager } from './filters.tsx';
import { Await } from './states.tsx';
import { Table, type TableProps } from './table.tsx';

type Search = { readonly parts: number; readonly stop: () => unknown };

/** A page of a list of which one answer looks at a part: where nothing matches there, the next ones are read too, until `stop`. */
export const useFirstMatches = <P extends { items: readonly unknown[]; next_cursor: string | null }>(
  key: string,
  cursor: string | undefined,
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<P>,
): Resource<P> & Search => {
  const search = `${key} ${cursor}`;
  const [looked, setLooked] = useState({ search, parts: 0 });
  const isStopped = useRef(false);
  const loaded = useLoad(search, async (signal) => {
    isStopped.current = false;
    setLooked({ search, parts: 0 });
    let page = await read(cursor, signal);
    for (let parts = 1; page.items.length === 0 && page.next_cursor && !isStopped.current; parts++) {
      setLooked({ search, parts });
      page = await read(page.next_cursor, signal);
    }
    return page;
  });
  const parts = loaded.isLoading && looked.search === search ? looked.parts : 0;
  return { ...loaded, parts, stop: () => Object.assign(isStopped, { current: true }) };
};

type ListingProps<T> = Omit<TableProps<T>, 'rows' | 'empty'> & {
  /** The answer of the API; `next_cursor` of one that comes page by page. */
  readonly of: Resource<{ items: readonly T[]; next_cursor?: string | null }> & Partial<Search>;
  readonly empty: string;
  /** What stands between the filters and the table, given whether more pages follow. */
  readonly above?: (items: readonly T[], hasMore: boolean) => ComponentChildren;
  /** Whether the page shows an item. */
  readonly has?: (row: T) => boolean;
};

/** A list of the API: its states, its table, and the ways to its other pages. */
export const Listing = <T,>({ of, empty, above, has = () => true, ...table }: ListingProps<T>) => (
  <>
    {of.parts ? (
      <p class="state row" role="status">
        Looked at {counted(of.parts, 'part')} of the list without a match; looking at the next …
        <Button onClick={of.stop}>Cancel</Button>
      </p>
    ) : null}
    {(!of.parts || of.data !== undefined || of.error !== undefined) && (
      <Await of={of}>
        {({ items, next_cursor: next }) => (
          <>
            {above?.(items, next != null)}
            <Table
              {...table}
              rows={items.filter(has)}
              empty={next === undefined ? empty : emptyText(next, empty)}
            />
            {next !== undefined && <Pager next={next} />}
          </>
        )}
      </Await>
    )}
  </>
);
