import { TableButton } from '../../charts/table-button.tsx';
import { badge, bytes, figures, number, text } from '../../parts/columns.tsx';
import { durationText } from '../../parts/figures.ts';
import { type Column, Table } from '../../parts/table.tsx';
import { useQueryState } from '../../shell/router.ts';
import { type Box, type Curve, columns, drawingOf, type Line, type Stream, streamTone } from './layout.ts';
import { Dots } from './processes.tsx';
import { byteRateText, fullText, lineSentence, rateText, streamLines } from './words.ts';

const Edge = ({ curve: { edge, path, at, widthPx } }: { curve: Curve }) => {
  const { items_per_second: items, bytes_per_second: bytes } = edge;
  const isBusy = items !== null && items > 0;
  const kind = !isBusy ? 'still' : edge.to === 'dead_letters' ? 'letters' : 'busy';
  return (
    <g>
      <path class={`edge ${kind}`} d={path} stroke-width={widthPx} />
      {items !== null && (isBusy || edge.to !== 'dead_letters') && (
        <text class="rate" x={at[0]} y={at[1] - widthPx / 2 - 6} text-anchor="middle">
          {rateText(items)}
        </text>
      )}
      {isBusy && bytes !== null && (
        <text class="rate small" x={at[0]} y={at[1] + widthPx / 2 + 14} text-anchor="middle">
          {byteRateText(bytes)}
        </text>
      )}
    </g>
  );
};

/** The stages, and the processes that run them. */
const Heads = ({ line }: { line: Line }) =>
  columns.map(({ title, role, x }) => (
    <g key={title} transform={`translate(${x} 12)`}>
      <text class="head">{title}</text>
      {role !== undefined && (
        <Dots processes={line.processes} role={role} x={title.length * 7.5 + 10} y={-4} />
      )}
    </g>
  ));

const StreamBox = ({ box, stream }: { box: Box; stream: Stream }) => {
  const [first, second] = streamLines(stream);
  return (
    <>
      <text class="small" x={box.width - 10} y="21" text-anchor="end">
        {fullText(stream)}
      </text>
      <rect class="track" x="10" y="32" width={box.width - 20} height="8" rx="2" />
      <rect
        class={`fill ${streamTone(stream)}`}
        x="10"
        y="32"
        width={Math.max(stream.bytes > 0 ? 2 : 0, (box.width - 20) * Math.min(1, stream.fill))}
        height="8"
        rx="2"
      />
      <text class="small" x="10" y="58">
        {first}
      </text>
      <text class="small" x="10" y="76">
        {second}
      </text>
    </>
  );
};

/** What a box says below its name. */
const lineOf = (line: Line, { node }: Box): { text: string; tone: string } => {
  if (node.kind === 'store') {
    const [, store, instance] = node.id.split(':');
    const found = line.stores.find(
      (each) => each.store === store && (each.instance === instance || instance === undefined),
    );
    return found?.ready === true
      ? { text: '✓ ready', tone: 'good' }
      : found?.ready === false
        ? { text: '✕ away', tone: 'bad' }
        : { text: 'not known', tone: 'neutral' };
  }
  if (node.kind !== 'transfer') return { text: '', tone: 'neutral' };
  const legs = line.processes.flatMap(({ pipelines }) =>
    pipelines.filter(({ pipeline }) => pipeline === node.name),
  );
  const p99 = Math.max(-1, ...legs.map(({ write_p99_ms: ms }) => ms ?? -1));
  if (legs.some(({ breaker_open: isOpen }) => isOpen)) return { text: '✕ breaker open', tone: 'bad' };
  if (legs.length === 0) return { text: '✕ no process', tone: 'bad' };
  return { text: p99 < 0 ? 'no writes' : `write ${durationText(p99)}`, tone: 'neutral' };
};

const BoxOf = ({ box, line }: { box: Box; line: Line }) => {
  const { node, x, y, width, height } = box;
  const stream =
    node.kind === 'stream' || node.kind === 'dead_letters'
      ? line.streams.find((each) => each.stream === node.name)
      : undefined;
  const { text, tone } = lineOf(line, box);
  const isTall = stream !== undefined || text !== '';
  return (
    <g transform={`translate(${x} ${y})`}>
      <rect
        class={`box ${stream === undefined ? tone : streamTone(stream)}`}
        width={width}
        height={height}
        rx="5"
      />
      <text
        class="title"
        x={node.kind === 'stream' || node.kind === 'dead_letters' ? 10 : width / 2}
        y={isTall ? 21 : height / 2 + 5}
        text-anchor={stream === undefined ? 'middle' : 'start'}
      >
        {node.name}
      </text>
      {node.kind === 'stream' && stream !== undefined && <StreamBox box={box} stream={stream} />}
      {node.kind === 'dead_letters' &&
        stream !== undefined &&
        streamLines(stream).map((words, index) => (
          <text key={words} class="small" x="10" y={38 + index * 16}>
            {words}
          </text>
        ))}
      {text !== '' && (
        <text class={`small ${tone}`} x={width / 2} y="40" text-anchor="middle">
          {text}
        </text>
      )}
    </g>
  );
};

const streamColumns: readonly Column<Stream>[] = [
  text('Stream', ({ stream }) => stream),
  badge('State', (each) => [streamTone(each), streamLines(each)[0]]),
  number('Messages in/s', (each) => each.messages_in_per_second),
  number('Messages', ({ messages }) => messages),
  bytes('Size', ({ bytes }) => bytes),
  number('Pending', ({ pending }) => pending),
  number('Under way', (each) => each.ack_pending),
  number('Redelivered', ({ redelivered }) => redelivered),
  text('At this growth', (each) => fullText(each) || 'does not fill'),
];

const edgeColumns = ({ nodes }: Line): readonly Column<Line['edges'][number]>[] => {
  const nameOf = (id: string): string => nodes.find((node) => node.id === id)?.name ?? id;
  return [
    text('From', ({ from }) => nameOf(from)),
    text('To', ({ to }) => nameOf(to)),
    number('Items/s', (each) => each.items_per_second),
    figures(byteRateText)('Bytes/s', (each) => each.bytes_per_second),
  ];
};

/** The drawing as rows: for screen readers, narrow screens and everyone who wants figures. */
const Rows = ({ line }: { line: Line }) => (
  <div class="as-rows">
    <Table
      caption="Streams"
      sortName="streams"
      rows={line.streams}
      keyOf={({ stream }) => stream}
      empty="No stream is known yet."
      columns={streamColumns}
    />
    <Table
      caption="Rates between the stages"
      sortName="edges"
      rows={line.edges.filter(({ items_per_second: items }) => items !== null)}
      keyOf={({ from, to }) => `${from} ${to}`}
      empty="No rate is known yet."
      columns={edgeColumns(line)}
    />
  </div>
);

/** The line from producers to stores with its rates; on a narrow screen, and by its button, as tables. */
export const LineDrawing = ({ line }: { line: Line }) => {
  const [view, setView] = useQueryState('view');
  const { width, height, boxes, curves } = drawingOf(line);
  return (
    <figure class={`line-drawing ${view === 'table' ? 'as-table' : ''}`}>
      <figcaption class="row">
        <p class="quiet">{lineSentence(line)}</p>
        <TableButton isTable={view === 'table'} onTable={(isTable) => setView(isTable ? 'table' : '')} />
      </figcaption>
      <svg
        class="drawing"
        viewBox={`-1 0 ${width + 2} ${height}`}
        role="img"
        aria-label={`The line: ${lineSentence(line)} The button Table has all figures.`}
      >
        <Heads line={line} />
        {curves.map((curve) => (
          <Edge key={`${curve.edge.from} ${curve.edge.to}`} curve={curve} />
        ))}
        {boxes.map((box) => (
          <BoxOf key={box.node.id} box={box} line={line} />
        ))}
      </svg>
      <Rows line={line} />
    </figure>
  );
};
