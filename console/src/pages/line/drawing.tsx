import { Badge } from '../../parts/states.tsx';
import { Table } from '../../parts/table.tsx';
import { useQueryState } from '../../shell/router.ts';
import { type Box, type Curve, drawingOf, type Line, type Stream, streamTone } from './layout.ts';
import { byteRateText, lineSentence, rateText, streamLines } from './words.ts';

const Edge = ({ curve: { edge, path, at, widthPx } }: { curve: Curve }) => {
  const items = rateText(edge.items_per_second);
  const bytes = byteRateText(edge.bytes_per_second);
  const isBusy = (edge.items_per_second ?? 0) > 0;
  const kind =
    edge.to === 'dead_letters'
      ? 'letters'
      : edge.items_per_second === null
        ? 'uncounted'
        : isBusy
          ? 'busy'
          : 'quiet-edge';
  return (
    <g>
      <path class={`edge ${kind}`} d={path} stroke-width={widthPx} />
      {(isBusy || (items !== '' && edge.to !== 'dead_letters')) && (
        <text class="rate" x={at[0]} y={at[1] - widthPx / 2 - 6} text-anchor="middle">
          {items}
        </text>
      )}
      {isBusy && bytes !== '' && (
        <text class="rate small" x={at[0]} y={at[1] + widthPx / 2 + 14} text-anchor="middle">
          {bytes}
        </text>
      )}
    </g>
  );
};

const StreamBox = ({ box, stream }: { box: Box; stream: Stream }) => {
  const [first, second] = streamLines(stream);
  return (
    <>
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
  return { text: p99 < 0 ? 'no writes' : `write ${Math.round(p99)} ms`, tone: 'neutral' };
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

/** The drawing as rows: for screen readers, narrow screens and everyone who wants figures. */
const StreamTable = ({ streams }: { streams: readonly Stream[] }) => (
  <Table
    caption="Streams"
    sortName="streams"
    rows={streams}
    keyOf={({ stream }) => stream}
    empty="No stream is known yet."
    columns={[
      { key: 'stream', title: 'Stream', cell: ({ stream }) => stream, sortBy: ({ stream }) => stream },
      {
        key: 'state',
        title: 'State',
        cell: (each) => (
          <Badge tone={streamTone(each)}>{each.state === 'read' ? streamLines(each)[0] : each.state}</Badge>
        ),
      },
      {
        key: 'in',
        title: 'Messages/s',
        isNumber: true,
        cell: (each) => rateText(each.messages_in_per_second) || '–',
        sortBy: (each) => each.messages_in_per_second ?? -1,
      },
      {
        key: 'messages',
        title: 'Messages',
        isNumber: true,
        cell: (each) => each.messages.toLocaleString('en'),
        sortBy: (each) => each.messages,
      },
      {
        key: 'pending',
        title: 'Pending',
        isNumber: true,
        cell: (each) => each.pending.toLocaleString('en'),
        sortBy: (each) => each.pending,
      },
      {
        key: 'ack',
        title: 'Under way',
        isNumber: true,
        cell: (each) => each.ack_pending.toLocaleString('en'),
        sortBy: (each) => each.ack_pending,
      },
      {
        key: 'redelivered',
        title: 'Redelivered',
        isNumber: true,
        cell: (each) => each.redelivered.toLocaleString('en'),
        sortBy: (each) => each.redelivered,
      },
    ]}
  />
);

const EdgeTable = ({ line }: { line: Line }) => {
  const nameOf = (id: string): string => line.nodes.find((node) => node.id === id)?.name ?? id;
  return (
    <Table
      caption="Rates between the stages"
      sortName="edges"
      rows={line.edges.filter(({ items_per_second: items }) => items !== null)}
      keyOf={({ from, to }) => `${from} ${to}`}
      empty="No rate is known yet."
      columns={[
        { key: 'from', title: 'From', cell: ({ from }) => nameOf(from), sortBy: ({ from }) => from },
        { key: 'to', title: 'To', cell: ({ to }) => nameOf(to), sortBy: ({ to }) => to },
        {
          key: 'items',
          title: 'Items/s',
          isNumber: true,
          cell: (each) => rateText(each.items_per_second),
          sortBy: (each) => each.items_per_second ?? 0,
        },
        {
          key: 'bytes',
          title: 'Bytes/s',
          isNumber: true,
          cell: (each) => byteRateText(each.bytes_per_second) || '–',
          sortBy: (each) => each.bytes_per_second ?? 0,
        },
      ]}
    />
  );
};

/** The line from producers to stores with its rates; on a narrow screen, and by its button, as tables. */
export const LineDrawing = ({ line }: { line: Line }) => {
  const [view, setView] = useQueryState('view');
  const { width, height, boxes, curves } = drawingOf(line);
  return (
    <figure class={`line-drawing ${view === 'table' ? 'as-table' : ''}`}>
      <figcaption class="row">
        <p class="quiet">{lineSentence(line)}</p>
        <button
          type="button"
          aria-pressed={view === 'table'}
          onClick={() => setView(view === 'table' ? '' : 'table')}
        >
          Table
        </button>
      </figcaption>
      <svg
        class="drawing"
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={`The line: ${lineSentence(line)} The button Table has all figures.`}
      >
        {curves.map((curve) => (
          <Edge key={`${curve.edge.from} ${curve.edge.to}`} curve={curve} />
        ))}
        {boxes.map((box) => (
          <BoxOf key={box.node.id} box={box} line={line} />
        ))}
      </svg>
      <div class="as-rows">
        <StreamTable streams={line.streams} />
        <EdgeTable line={line} />
      </div>
    </figure>
  );
};
