import type { Answer } from '../../api/client.ts';
import type { components } from '../../api/schema.d.ts';

export type TraceAnswer = Answer<'/api/v1/traces/{id}'>;
export type Span = components['schemas']['Span'];

/** What is odd about a span's place in its trace. */
export type Oddity = 'orphan' | 'cycle' | 'repeated' | 'before' | 'after';

/** A span in the order of the tree, children below their parent by their start. */
export type Row = {
  readonly span: Span;
  /** Its id; a later span of the same id has its turn behind it. */
  readonly key: string;
  readonly depth: number;
  /** The row of its parent; -1 at the top. */
  readonly parent: number;
  /** Rows of its subtree, with its own. */
  readonly size: number;
  readonly oddities: readonly Oddity[];
  readonly isFailed: boolean;
  readonly hasFailedBelow: boolean;
};

export const endOf = ({ offset_ns, duration_ns }: Span): number => offset_ns + duration_ns;

/** Who is below whom. A parent whose id several spans have is the first of them. */
const linksOf = (spans: readonly Span[]) => {
  const firsts = new Map<string, number>();
  const turns = new Map<string, number>();
  const keys = spans.map(({ span_id: id }, index) => {
    if (!firsts.has(id)) firsts.set(id, index);
    const turn = (turns.get(id) ?? 0) + 1;
    turns.set(id, turn);
    return turn === 1 ? id : `${id}.${turn}`;
  });
  const children = spans.map((): number[] => []);
  const parents = spans.map(({ parent_span_id: id }) => (id === '' ? -1 : (firsts.get(id) ?? -1)));
  const roots: number[] = [];
  for (const [index, parent] of parents.entries()) (children[parent] ?? roots).push(index);
  return { roots, parents, children, keys };
};

/** The first span of the ring that the parents of this one lead to. */
const ringOf = (start: number, parents: readonly number[]): number => {
  const seen = new Set<number>();
  let at = start;
  while (!seen.has(at)) {
    seen.add(at);
    at = parents[at] ?? at;
  }
  let least = at;
  for (let next = parents[at] ?? at; next !== at; next = parents[next] ?? at) least = Math.min(least, next);
  return least;
};

const oddPlace = (span: Span, parent: Span | undefined): Oddity[] => {
  if (parent === undefined) return span.parent_span_id === '' ? [] : ['orphan'];
  if (span.offset_ns < parent.offset_ns) return ['before'];
  return span.offset_ns > endOf(parent) ? ['after'] : [];
};

type Draft = { -readonly [K in keyof Row]: Row[K] };

/**
 * The rows of a trace whose spans are in the order of their start. Spans without their parent stand at the top; of spans that are each
 * other's ancestors, the first one does. Every span has one row.
 */
export const buildTree = (spans: readonly Span[]): readonly Row[] => {
  const { roots, parents, children, keys } = linksOf(spans);
  const rows: Draft[] = [];
  const isPlaced = spans.map(() => false);
  const place = (root: number, inRing: boolean): void => {
    const waiting: [index: number, parent: number][] = [[root, -1]];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const [index, parent] = next;
      const span = spans[index];
      if (span === undefined || isPlaced[index] === true) continue;
      isPlaced[index] = true;
      const above = rows[parent];
      const key = keys[index] ?? '';
      rows.push({
        ...{ span, key, parent, depth: above === undefined ? 0 : above.depth + 1, size: 1 },
        oddities: [
          ...(inRing && above === undefined ? (['cycle'] as const) : oddPlace(span, above?.span)),
          ...(key === span.span_id ? [] : (['repeated'] as const)),
        ],
        isFailed: span.status === 'Error',
        hasFailedBelow: false,
      });
      const own = rows.length - 1;
      for (const child of (children[index] ?? []).toReversed()) waiting.push([child, own]);
    }
  };
  for (const root of roots) place(root, false);
  for (const index of spans.keys()) if (isPlaced[index] === false) place(ringOf(index, parents), true);
  for (const row of rows.toReversed()) {
    const above = rows[row.parent];
    if (above === undefined) continue;
    above.size += row.size;
    above.hasFailedBelow ||= row.isFailed || row.hasFailedBelow;
  }
  return rows;
};

/** Which rows are folded, as the address has it: their keys; `*` first folds all but these. */
export const foldsOf = (text: string): ((row: Row) => boolean) => {
  const [head, ...rest] = text.split(',');
  const isAll = head === '*';
  const keys = new Set(isAll ? rest : text.split(','));
  return ({ key, size }) => size > 1 && keys.has(key) !== isAll;
};

/** The address of the folds after one of them is turned. */
export const turnedFold = (text: string, key: string): string => {
  const keys = new Set(text.split(',').filter((each) => each !== ''));
  return [...keys.symmetricDifference(new Set([key]))].join(',');
};

export const shownRows = (rows: readonly Row[], isFolded: (row: Row) => boolean): readonly number[] => {
  const shown: number[] = [];
  for (let at = 0; at < rows.length; ) {
    const row = rows[at];
    if (row === undefined) break;
    shown.push(at);
    at += isFolded(row) ? row.size : 1;
  }
  return shown;
};
