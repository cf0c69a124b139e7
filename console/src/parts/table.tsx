import type { ComponentChildren } from 'preact';
import { useQueryState } from '../shell/router.ts';
import { Button } from './button.tsx';
import { Empty, TooLarge } from './states.tsx';

export type Column<T> = {
  readonly key: string;
  readonly title: string;
  readonly cell: (row: T) => ComponentChildren;
  readonly sortBy?: (row: T) => string | number;
  readonly isNumber?: boolean;
  /** Its cells name the rows. */
  readonly isHead?: boolean;
};

export type TableProps<T> = {
  /** Names the table for a screen reader; the address keeps the order under `sort` (or `sortName`). */
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string | number;
  readonly empty: ComponentChildren;
  readonly sortName?: string;
  readonly rowsMax?: number;
};

const compare = (left: string | number, right: string | number): number =>
  typeof left === 'number' && typeof right === 'number'
    ? left - right
    : String(left).localeCompare(String(right), 'en', { numeric: true });

const sorted = <T,>(rows: readonly T[], columns: readonly Column<T>[], order: string): readonly T[] => {
  const by = columns.find(({ key }) => key === order.replace(/^-/, ''))?.sortBy;
  if (by === undefined) return rows;
  const sign = order.startsWith('-') ? -1 : 1;
  return rows.toSorted((left, right) => sign * compare(by(left), by(right)));
};

/** The next order of a column: ascending, descending, as it came; numbers begin with the largest. */
const nextOrder = (order: string, { key, isNumber }: Column<never>): string => {
  const turns = isNumber === true ? [`-${key}`, key, ''] : [key, `-${key}`, ''];
  return turns[(turns.indexOf(order) + 1) % turns.length] ?? '';
};

const ariaSort = (order: string, key: string): 'ascending' | 'descending' | 'none' =>
  order === key ? 'ascending' : order === `-${key}` ? 'descending' : 'none';

/** A table whose headers sort; it scrolls inside its own frame on a narrow screen. */
export const Table = <T,>({
  caption,
  columns,
  rows,
  keyOf,
  empty,
  sortName = 'sort',
  rowsMax = 500,
}: TableProps<T>) => {
  const [order, setOrder] = useQueryState(sortName);
  if (rows.length === 0) return <Empty>{empty}</Empty>;
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a frame that scrolls has to be reached by keys. */}
      <section class="frame" aria-label={caption} tabIndex={0}>
        <table>
          <caption class="unseen">{caption}</caption>
          <thead>
            <tr>
              {columns.map((column) => (
                <th
                  key={column.key}
                  scope="col"
                  class={column.isNumber ? 'number' : undefined}
                  aria-sort={column.sortBy && ariaSort(order, column.key)}
                >
                  {column.sortBy === undefined ? (
                    column.title
                  ) : (
                    <Button class="sort" onClick={() => setOrder(nextOrder(order, column))}>
                      {column.title}
                    </Button>
                  )}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {sorted(rows, columns, order)
              .slice(0, rowsMax)
              .map((row) => (
                <tr key={keyOf(row)}>
                  {columns.map(({ key, cell, isNumber, isHead }) =>
                    isHead ? (
                      <th key={key} scope="row">
                        {cell(row)}
                      </th>
                    ) : (
                      <td key={key} class={isNumber ? 'number' : undefined}>
                        {cell(row)}
                      </td>
                    ),
                  )}
                </tr>
              ))}
          </tbody>
        </table>
      </section>
      {rows.length > rowsMax && (
        <TooLarge shown={rowsMax} total={rows.length} how="Filter, or sort by another column." />
      )}
    </>
  );
};
