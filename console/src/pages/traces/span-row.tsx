// biome-ignore-all lint/a11y/useSemanticElements: a table cannot have its rows where they are placed.
// biome-ignore-all lint/a11y/useFocusableInteractive: the grid has the focus, and names its active row.
import { durationText } from '../../parts/format.tsx';
import { plainText } from '../../parts/plain-text.ts';
import { oddWords } from './span-panel.tsx';
import type { Row } from './tree.ts';
import { rowPx, type Zoom } from './window.ts';

const indentsMax = 20;
const piecesMax = 20;

/** The id of a row's element; it is made of a number alone. */
export const rowId = (at: number): string => `row-${at}`;

type SpanRowProps = {
  readonly row: Row;
  /** Its number in the tree, and among the rows that are shown. */
  readonly at: number;
  readonly place: number;
  readonly mark: number;
  readonly zoom: Zoom;
  readonly critical: readonly (readonly [number, number])[];
  readonly isFolded: boolean;
  readonly isActive: boolean;
  readonly isOpen: boolean;
  readonly isFound: boolean;
};

const Bar = ({ row, zoom, critical }: Pick<SpanRowProps, 'row' | 'zoom' | 'critical'>) => {
  const { span } = row;
  const share = (ns: number): number =>
    Math.min(100, Math.max(0, (100 * (ns - zoom.from)) / (zoom.to - zoom.from)));
  const piece = (from: number, to: number) => ({
    insetInlineStart: `${share(from)}%`,
    inlineSize: `${share(to) - share(from)}%`,
  });
  const end = span.offset_ns + span.duration_ns;
  if (end < zoom.from || span.offset_ns > zoom.to) return null;
  return (
    <>
      <span class={row.isFailed ? 'span-bar failed' : 'span-bar'} style={piece(span.offset_ns, end)} />
      {critical.slice(0, piecesMax).map(([from, to]) => (
        <span key={from} class="span-critical" style={piece(from, to)} />
      ))}
      {span.events.slice(0, piecesMax).map((event, index) => (
        <span
          key={index}
          class="span-event"
          style={{ insetInlineStart: `${share(span.offset_ns + event.offset_ns)}%` }}
        />
      ))}
    </>
  );
};

/** One span of the waterfall: its name in the tree, how long it took, and when. */
export const SpanRow = (props: SpanRowProps) => {
  const { row, at, place, mark, isFolded, isActive, isOpen, isFound } = props;
  const { span, size, depth, oddities, isFailed, hasFailedBelow } = row;
  const states = [isActive && 'active', isOpen && 'open', isFound && 'found'].filter(Boolean).join(' ');
  return (
    <div
      role="row"
      id={rowId(at)}
      data-row={at}
      class={`span-row mark-${mark} ${states}`}
      aria-rowindex={place + 2}
      aria-level={depth + 1}
      aria-expanded={size > 1 ? !isFolded : undefined}
      aria-selected={isOpen}
      style={{ transform: `translateY(${place * rowPx}px)` }}
    >
      <div
        role="gridcell"
        class="span-name"
        style={{ paddingInlineStart: `${Math.min(depth, indentsMax) * 12}px` }}
      >
        <span class="fold" data-fold={size > 1 ? at : undefined} aria-hidden="true">
          {size === 1 ? '' : isFolded ? '▸' : '▾'}
        </span>
        {(isFailed || (isFolded && hasFailedBelow)) && (
          <span class="failed-sign">
            <span aria-hidden="true">✕</span>
            <span class="unseen">{isFailed ? 'error' : 'error below'}</span>
          </span>
        )}
        {oddities.map((each) => (
          <span key={each} class="odd" title={oddWords[each][1]}>
            ▲ {oddWords[each][0]}
          </span>
        ))}
        <bdi>{plainText(span.name)}</bdi>
        <bdi class="quiet">{plainText(span.service, 40)}</bdi>
        {isFolded && <span class="quiet">+{size - 1}</span>}
      </div>
      <div role="gridcell" class="span-took">
        {durationText(span.duration_ns / 1e6)}
      </div>
      <div role="gridcell" class="span-line">
        <Bar {...props} />
      </div>
    </div>
  );
};
