import type { ComponentChildren } from 'preact';
import type { Resource } from '../api/use.ts';
import { emptyText, Pager } from './filters.tsx';
import { Await } from './states.tsx';
import { Table, type TableProps } from './table.tsx';

type ListingProps<T> = Omit<TableProps<T>, 'rows' | 'empty'> & {
  /** The answer of the API; `next_cursor` of one that comes page by page. */
  readonly of: Resource<{ readonly items: readonly T[]; readonly next_cursor?: string | null }>;
  readonly empty: string;
  /** What stands between the filters and the table. */
  readonly above?: (items: readonly T[]) => ComponentChildren;
  /** Whether the page shows an item. */
  readonly has?: (row: T) => boolean;
};

/** A list of the API: its states, its table, and the ways to its other pages. */
export const Listing = <T,>({ of, empty, above, has = () => true, ...table }: ListingProps<T>) => (
  <Await of={of}>
    {({ items, next_cursor: next }) => (
      <>
        {above?.(items)}
        <Table
          {...table}
          rows={items.filter(has)}
          empty={next === undefined ? empty : emptyText(next, empty)}
        />
        {next !== undefined && <Pager next={next} />}
      </>
    )}
  </Await>
);
