import type { ComponentChildren } from 'preact';
import { durationText } from './figures.ts';
import { Figure, Time } from './format.tsx';
import { Hostile } from './hostile.tsx';
import { Badge, type Tone } from './states.tsx';
import type { Column } from './table.tsx';

// Columns of the usual kinds, a line each. A column is named in the address by its title.

type Of<T, V> = (row: T) => V;

const unknown = <span class="quiet">–</span>;

export const column = <T,>(
  title: string,
  cell: Of<T, ComponentChildren>,
  sortBy?: Of<T, string | number>,
): Column<T> => ({
  key: title.toLowerCase().replaceAll(/\W+/g, '-'),
  title,
  cell,
  ...(sortBy === undefined ? {} : { sortBy }),
});

/** A word of the product's own. */
export const word = <T,>(title: string, of: Of<T, string>): Column<T> => column(title, of, of);

export const code = <T,>(title: string, of: Of<T, string>): Column<T> =>
  column(title, (row) => <code>{of(row)}</code>, of);

/** A state in a word. */
export const badge = <T,>(title: string, of: Of<T, readonly [tone: Tone, word: string]>): Column<T> =>
  column(
    title,
    (row) => <Badge tone={of(row)[0]}>{of(row)[1]}</Badge>,
    (row) => of(row)[1],
  );

/** What names the row, as a field of a record does. */
export const head = <T,>(title: string, of: Of<T, string>): Column<T> => ({
  ...column(title, (row) => <Hostile text={of(row)} max={80} />),
  isHead: true,
});

/** A text that a sender or another user wrote. */
export const text = <T,>(title: string, of: Of<T, string | null>, max = 120): Column<T> =>
  column(
    title,
    (row) => {
      const value = of(row);
      return value === null ? unknown : <Hostile text={value} max={max} />;
    },
    (row) => of(row) ?? '',
  );

/** Figures in a form of their own; null where they are not known. */
export const figures =
  (show: (value: number) => ComponentChildren) =>
  <T,>(title: string, of: Of<T, number | null>): Column<T> => ({
    ...column<T>(
      title,
      (row) => {
        const value = of(row);
        return value === null ? unknown : show(value);
      },
      (row) => of(row) ?? Number.NEGATIVE_INFINITY,
    ),
    isNumber: true,
  });

export const number = figures((value) => <Figure value={value} />);
export const bytes = figures((value) => <Figure value={value} as="bytes" />);
export const share = figures((value) => <Figure value={value} as="percent" />);
export const duration = figures(durationText);
/** An id: without separators. */
export const id = figures((value) => value);

/** Unix seconds. */
export const time = <T,>(title: string, of: Of<T, number | null>, otherwise = '–'): Column<T> =>
  column(
    title,
    (row) => {
      const at = of(row);
      return at === null ? otherwise : <Time at={at} seconds />;
    },
    (row) => of(row) ?? Number.MAX_SAFE_INTEGER,
  );
