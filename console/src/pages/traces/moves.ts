import { type Row, turnedFold } from './tree.ts';

/** What a key does: another active row, another fold. */
export type Move = { readonly active?: number; readonly fold?: string };

type Place = {
  readonly rows: readonly Row[];
  /** Rows that no fold hides, and the turn of the active one among them. */
  readonly shown: readonly number[];
  readonly active: number;
  readonly isFolded: (row: Row) => boolean;
  readonly fold: string;
  readonly pageRows: number;
};

/** Where the keys of a tree lead: arrows move and fold, Page and Home and End leap, `e` is the next error. Undefined for others. */
export const moveOf = (key: string, place: Place): Move | undefined => {
  const { rows, shown, active, isFolded, fold, pageRows } = place;
  const row = rows[active];
  const turn = shown.indexOf(active);
  if (row === undefined) return undefined;
  const to = (next: number): Move => ({ active: shown[Math.min(shown.length - 1, Math.max(0, next))] ?? 0 });
  switch (key) {
    case 'ArrowDown':
      return to(turn + 1);
    case 'ArrowUp':
      return to(turn - 1);
    case 'PageDown':
      return to(turn + pageRows);
    case 'PageUp':
      return to(turn - pageRows);
    case 'Home':
      return to(0);
    case 'End':
      return to(shown.length - 1);
    case 'ArrowRight':
      if (row.size === 1) return {};
      return isFolded(row) ? { fold: turnedFold(fold, row.key) } : to(turn + 1);
    case 'ArrowLeft':
      if (row.size > 1 && !isFolded(row)) return { fold: turnedFold(fold, row.key) };
      return row.parent < 0 ? {} : { active: row.parent };
    case 'e':
      return nextOf(rows, active, ({ isFailed }) => isFailed);
    default:
      return undefined;
  }
};

export const nextOf = (rows: readonly Row[], active: number, has: (row: Row) => boolean): Move => {
  const after = rows.findIndex((row, at) => at > active && has(row));
  const found = after >= 0 ? after : rows.findIndex(has);
  return found < 0 ? {} : { active: found };
};

/** The folds without those that hide a row. */
export const unfoldedTo = (
  rows: readonly Row[],
  at: number,
  fold: string,
  isFolded: (row: Row) => boolean,
): string => {
  let text = fold;
  for (let above = rows[at]?.parent ?? -1; above >= 0; above = rows[above]?.parent ?? -1) {
    const row = rows[above];
    if (row !== undefined && isFolded(row)) text = turnedFold(text, row.key);
  }
  return text;
};

/** Whether a span has the text anywhere in what its sender wrote; without one, no. */
export const matches = ({ span }: Row, text: string): boolean => {
  if (text === '') return false;
  const wanted = text.toLowerCase();
  const has = (value: string): boolean => value.toLowerCase().includes(wanted);
  return (
    [span.name, span.service, span.span_id, span.status_message, span.kind].some(has) ||
    span.attributes.some(({ key, value }) => has(key) || has(value)) ||
    span.events.some(({ name }) => has(name))
  );
};
