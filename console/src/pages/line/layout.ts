import { hasLists } from '../../api/event.ts';
import type { components } from '../../api/schema.d.ts';

export type Line = components['schemas']['Line'];
export type Stream = Line['streams'][number];
type LineNode = Line['nodes'][number];
type LineEdge = Line['edges'][number];

export const isLine = (data: unknown): data is Line =>
  hasLists(data, 'nodes', 'edges', 'streams', 'stores', 'processes', 'troubles');

/** A box of the drawing, in pixels. */
export type Box = {
  readonly node: LineNode;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
};

/** An edge of the drawing: its path, where its figures stand, and how wide it is drawn. */
export type Curve = {
  readonly edge: LineEdge;
  readonly path: string;
  readonly at: readonly [x: number, y: number];
  readonly widthPx: number;
};

/** The stages from left to right; some are run by processes of a role. */
export const columns: readonly {
  title: string;
  role?: 'ingress' | 'transfer';
  kinds: readonly LineNode['kind'][];
  x: number;
  width: number;
}[] = [
  { title: 'Producers', kinds: ['producers'], x: 0, width: 92 },
  { title: 'Ingress', role: 'ingress', kinds: ['receiver'], x: 186, width: 92 },
  { title: 'Streams of NATS', kinds: ['stream'], x: 372, width: 196 },
  { title: 'Transfer', role: 'transfer', kinds: ['transfer'], x: 668, width: 112 },
  { title: 'Stores', kinds: ['store', 'dead_letters'], x: 880, width: 184 },
];

const rowPx = 116;
const headPx = 24;
const heights: Readonly<Record<LineNode['kind'], number>> = {
  producers: 40,
  receiver: 40,
  stream: 92,
  transfer: 56,
  store: 48,
  dead_letters: 64,
};
const strokeMaxPx = 12;

const middleOf = ({ y, height }: Box): number => y + height / 2;

/** The column of a node, and its place from the top among `count`. */
const boxesOf = (nodes: readonly LineNode[]): Box[] => {
  const rows = Math.max(
    1,
    ...columns.map(({ kinds }) => nodes.filter(({ kind }) => kinds.includes(kind)).length),
  );
  return columns.flatMap(({ kinds, x, width }) => {
    const own = nodes.filter(({ kind }) => kinds.includes(kind));
    const slot = (rows * rowPx) / own.length;
    // Producers and receivers stand before the streams of items, which are above LEDGER.
    const room = kinds[0] === 'producers' || kinds[0] === 'receiver' ? ((rows - 1) / rows) * slot : slot;
    return own.map((node, index) => {
      const height = heights[node.kind];
      return { node, x, y: headPx + (index + 0.5) * room - height / 2, width, height };
    });
  });
};

/** How wide an edge is drawn: its share of the busiest one; a quiet one is a hairline. */
export const strokeOf = (items: number | null, busiest: number): number =>
  items === null || items <= 0 || busiest <= 0 ? 1 : 1.5 + (strokeMaxPx - 1.5) * Math.min(1, items / busiest);

const curveOf = (edge: LineEdge, from: Box, to: Box, busiest: number): Curve => {
  const isBack = to.x < from.x;
  const x1 = isBack ? from.x : from.x + from.width;
  const x2 = isBack ? to.x + to.width : to.x;
  const y1 = middleOf(from);
  const y2 = middleOf(to) + (isBack ? 24 : 0);
  const half = (x1 + x2) / 2;
  return {
    edge,
    path: `M${x1} ${y1}C${half} ${y1} ${half} ${y2} ${x2} ${y2}`,
    at: [half, (y1 + y2) / 2],
    widthPx: strokeOf(edge.items_per_second, busiest),
  };
};

/** Places the nodes of the line in columns, from producers to stores, and joins them. */
export const drawingOf = ({ nodes, edges }: Pick<Line, 'nodes' | 'edges'>) => {
  const boxes = boxesOf(nodes);
  const byId = new Map(boxes.map((box) => [box.node.id, box]));
  const busiest = Math.max(0, ...edges.map(({ items_per_second: items }) => items ?? 0));
  const curves = edges.flatMap((edge) => {
    const from = byId.get(edge.from);
    const to = byId.get(edge.to);
    return from === undefined || to === undefined ? [] : [curveOf(edge, from, to, busiest)];
  });
  return {
    width: Math.max(...columns.map(({ x, width }) => x + width)),
    height: Math.max(...boxes.map(({ y, height }) => y + height)) + 8,
    boxes,
    curves,
  };
};

/** The tone of a stream: by its fill, its age and whether it was read. */
export const streamTone = ({
  state,
  fill,
  oldest_age_seconds: age,
  consumer,
  messages,
}: Stream): 'good' | 'warn' | 'bad' | 'neutral' => {
  if (state === 'unread') return 'neutral';
  const isLate = consumer !== null && messages > 0 && age > 300;
  if (state === 'missing' || fill > 0.85) return 'bad';
  return fill > 0.5 || isLate ? 'warn' : 'good';
};
