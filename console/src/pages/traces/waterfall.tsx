// biome-ignore-all lint/a11y/useSemanticElements: a table cannot have its rows where they are placed.
// biome-ignore-all lint/a11y/useFocusableInteractive: the grid has the focus, and names its active row.

import '../../charts/charts.css';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Swatch } from '../../charts/chart.tsx';
import { marks } from '../../charts/model.ts';
import { Button } from '../../parts/button.tsx';
import { Input } from '../../parts/filters.tsx';
import { durationText, numberText } from '../../parts/format.tsx';
import { plainText } from '../../parts/plain-text.ts';
import { announce } from '../../shell/announce.tsx';
import { useQueryState } from '../../shell/router.ts';
import { criticalPath } from './critical-path.ts';
import { Minimap } from './minimap.tsx';
import { type Move, matches, moveOf, nextOf, unfoldedTo } from './moves.ts';
import { SpanPanel } from './span-panel.tsx';
import { rowId, SpanRow } from './span-row.tsx';
import type { TraceAnswer } from './tree.ts';
import { buildTree, foldsOf, type Row, shownRows, turnedFold } from './tree.ts';
import { rowPx, scrollTo, windowOf, type Zoom, zoomOf, zoomText } from './window.ts';

const none: readonly (readonly [number, number])[] = [];

/** Services by their first span; those beyond the eighth share colours. */
const servicesOf = (rows: readonly Row[]): ReadonlyMap<string, number> => {
  const services = new Map<string, number>();
  for (const { span } of rows) if (!services.has(span.service)) services.set(span.service, services.size);
  return services;
};

const Header = ({ zoom }: { zoom: Zoom }) => (
  <div role="row" class="span-row head" aria-rowindex={1}>
    <div role="columnheader" class="span-name">
      Span
    </div>
    <div role="columnheader" class="span-took">
      Duration
    </div>
    <div role="columnheader" class="span-line">
      {[0, 0.25, 0.5, 0.75].map((share) => (
        <span key={share} class="span-tick" style={{ insetInlineStart: `${share * 100}%` }}>
          {durationText((zoom.from + share * (zoom.to - zoom.from)) / 1e6)}
        </span>
      ))}
    </div>
  </div>
);

/** Where the frame of the rows has scrolled to, at most once a frame of the screen. */
const useScroll = () => {
  const frame = useRef<HTMLDivElement>(null);
  const [scroll, setScroll] = useState({ top: 0, height: 600 });
  useLayoutEffect(() => {
    const element = frame.current;
    if (element === null) return;
    let asked = 0;
    const read = (): void => {
      asked = 0;
      setScroll({ top: element.scrollTop, height: element.clientHeight });
    };
    const ask = (): void => {
      if (asked === 0) asked = requestAnimationFrame(read);
    };
    const observer = new ResizeObserver(ask);
    observer.observe(element);
    element.addEventListener('scroll', ask, { passive: true });
    return () => {
      cancelAnimationFrame(asked);
      observer.disconnect();
      element.removeEventListener('scroll', ask);
    };
  }, []);
  return { frame, ...scroll };
};

type FindProps = { rows: readonly Row[]; active: number; onMove: (move: Move) => void };

const Find = ({ rows, active, onMove }: FindProps) => {
  const [find, setFind] = useQueryState('find');
  const found = useMemo(() => rows.filter((row) => matches(row, find)).length, [rows, find]);
  const failed = useMemo(() => rows.filter(({ isFailed }) => isFailed).length, [rows]);
  return (
    <form
      class="row inline"
      onSubmit={(event) => {
        event.preventDefault();
        onMove(nextOf(rows, active, (row) => matches(row, find)));
      }}
    >
      <Input
        label="Search spans"
        type="search"
        data-search
        value={find}
        placeholder="name, service, attribute"
        aria-keyshortcuts="/"
        onValue={setFind}
      />
      <button type="submit" disabled={found === 0}>
        Next
      </button>
      <span role="status">
        {find !== '' && `${numberText(found)} of ${numberText(rows.length)} spans match`}
      </span>
      <Button
        aria-keyshortcuts="e"
        disabled={failed === 0}
        onClick={() => onMove(nextOf(rows, active, ({ isFailed }) => isFailed))}
      >
        Next error
      </Button>
    </form>
  );
};

const Services = ({ services }: { services: ReadonlyMap<string, number> }) => (
  <ul class="span-services" aria-label="Services">
    {[...services].slice(0, 20).map(([name, index]) => (
      <li key={index}>
        <Swatch mark={index % marks} /> <bdi>{plainText(name, 40)}</bdi>
      </li>
    ))}
    {services.size > 20 && <li>and {services.size - 20} more</li>}
    <li>
      <span class="critical-sign" aria-hidden="true" /> critical path
    </li>
  </ul>
);

/** What the waterfall shows, all of it from the address but the active row and the place of the scroll. */
const useTree = (trace: TraceAnswer) => {
  const rows = useMemo(() => buildTree(trace.spans), [trace]);
  const path = useMemo(() => criticalPath(rows), [rows]);
  const services = useMemo(() => servicesOf(rows), [rows]);
  const [fold, setFold] = useQueryState('fold');
  const [opened, setOpened] = useQueryState('span');
  const [find] = useQueryState('find');
  const [zoomed, setZoomed] = useQueryState('zoom');
  const isFolded = useMemo(() => foldsOf(fold), [fold]);
  const shown = useMemo(() => shownRows(rows, isFolded), [rows, isFolded]);
  const open = rows.findIndex(({ key }) => key === opened && opened !== '');
  const zoom = zoomOf(zoomed, trace.duration_ns);
  return {
    ...{ rows, path, services, fold, setFold, isFolded, shown, find, open, zoom },
    setOpen: (at: number) => setOpened(rows[at]?.key ?? ''),
    setZoom: (next: Zoom) => setZoomed(zoomText(next, trace.duration_ns)),
  };
};

/** `+` and `-` zoom around the active span, `0` shows the whole trace. */
const zoomBy = (key: string, { span }: Row, { from, to }: Zoom, durationNs: number): Zoom | undefined => {
  const middle = span.offset_ns + span.duration_ns / 2;
  const half = ((to - from) / 2) * (key === '-' ? 2 : 0.5);
  if (key === '0') return { from: 0, to: durationNs };
  return key === '+' || key === '=' || key === '-' ? { from: middle - half, to: middle + half } : undefined;
};

type Tree = ReturnType<typeof useTree>;

/** The active row, how it moves, and what keys and clicks do. */
const useActive = (tree: Tree, trace: TraceAnswer, { frame, height }: ReturnType<typeof useScroll>) => {
  const { rows, shown, isFolded, open, zoom, fold } = tree;
  const [active, setActive] = useState(Math.max(0, open));
  /** The row to bring in sight once it is drawn. */
  const wanted = useRef(open);
  /** A move to the row that is active already brings it in sight, too. */
  const [moves, setMoves] = useState(0);
  // The header row stands above the rows.
  const heightPx = height - rowPx;
  const move = ({ active: next, fold: folds }: Move): void => {
    if (folds !== undefined) tree.setFold(folds);
    if (next === undefined) return;
    const free = unfoldedTo(rows, next, fold, isFolded);
    if (free !== fold) tree.setFold(free);
    wanted.current = next;
    setActive(next);
    setMoves(moves + 1);
  };
  useLayoutEffect(() => {
    const place = shown.indexOf(active);
    // Where a fold was closed over it, the row that hides it is active now.
    if (place < 0) setActive(shown.findLast((at) => at < active) ?? 0);
    else if (wanted.current === active && frame.current !== null) {
      const { scrollTop, clientHeight } = frame.current;
      frame.current.scrollTop = scrollTo(place, scrollTop, clientHeight - rowPx);
      wanted.current = -1;
    }
  }, [active, shown, moves]);
  const show = (at: number): void => {
    tree.setOpen(at);
    announce(`Details of ${plainText(rows[at]?.span.name ?? '')} are shown after the spans.`);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const row = rows[active];
    const zoomed = row && zoomBy(event.key, row, zoom, trace.duration_ns);
    const pageRows = Math.max(1, Math.floor(heightPx / rowPx) - 1);
    const next = moveOf(event.key, { rows, shown, active, isFolded, fold, pageRows });
    if (event.key === 'Enter') show(active);
    else if (event.key === 'Escape' && open >= 0) tree.setOpen(-1);
    else if (zoomed !== undefined) tree.setZoom(zoomed);
    else if (next !== undefined) move(next);
    else return;
    event.preventDefault();
  };
  const onClick = (event: MouseEvent): void => {
    const target = event.target instanceof HTMLElement ? event.target : undefined;
    const folded = rows[Number(target?.closest<HTMLElement>('[data-fold]')?.dataset['fold'] ?? -1)];
    const at = Number(target?.closest<HTMLElement>('[data-row]')?.dataset['row'] ?? -1);
    if (at < 0) return;
    setActive(at);
    if (folded === undefined) show(at);
    else tree.setFold(turnedFold(fold, folded.key));
  };
  return { active, move, onKeyDown, onClick };
};

const Rows = ({ tree, active, top, height }: { tree: Tree; active: number; top: number; height: number }) => {
  const { rows, shown, services, path, zoom, isFolded, open, find } = tree;
  const { first, last } = windowOf(top, height, shown.length);
  return (
    <div role="rowgroup" class="span-rows" style={{ height: `${shown.length * rowPx}px` }}>
      {shown.slice(first, last).map((at, index) => {
        const row = rows[at];
        return (
          row && (
            <SpanRow
              key={at}
              row={row}
              at={at}
              place={first + index}
              mark={(services.get(row.span.service) ?? 0) % marks}
              zoom={zoom}
              critical={path.get(at) ?? none}
              isFolded={isFolded(row)}
              isActive={at === active}
              isOpen={at === open}
              isFound={matches(row, find)}
            />
          )
        );
      })}
    </div>
  );
};

type ToolsProps = { tree: Tree; active: number; onMove: (move: Move) => void; durationNs: number };

const Tools = ({ tree, active, onMove, durationNs }: ToolsProps) => {
  const { rows, zoom, fold } = tree;
  return (
    <div class="row list-filters">
      <Find rows={rows} active={active} onMove={onMove} />
      <Button onClick={() => tree.setFold(fold === '*' ? '' : '*')}>
        {fold === '*' ? 'Unfold all' : 'Fold all'}
      </Button>
      {(zoom.from > 0 || zoom.to < durationNs) && (
        <Button aria-keyshortcuts="0" onClick={() => tree.setZoom({ from: 0, to: durationNs })}>
          Whole time
        </Button>
      )}
    </div>
  );
};

/** The spans of a trace as a tree over time. Only the rows in sight are in the page. */
export const Waterfall = ({ trace }: { trace: TraceAnswer }) => {
  const tree = useTree(trace);
  const { rows, shown, open, zoom } = tree;
  const scroll = useScroll();
  const { frame, top, height } = scroll;
  const { active, move, onKeyDown, onClick } = useActive(tree, trace, scroll);
  const inSight = (px: number): number => shown[Math.min(shown.length - 1, Math.floor(px / rowPx))] ?? 0;
  const { first, last } = windowOf(top, height, shown.length);
  const isDrawn = (place: number): boolean => place >= first && place < last;
  const openRow = rows[open];
  const durationNs = trace.duration_ns;
  return (
    <div class={openRow === undefined ? 'trace' : 'trace with-panel'}>
      <div class="waterfall">
        <Tools tree={tree} active={active} onMove={move} durationNs={durationNs} />
        <Services services={tree.services} />
        <Minimap
          {...{ rows, durationNs, zoom }}
          sight={[inSight(top), inSight(top + height - rowPx) + 1]}
          onZoom={tree.setZoom}
          onRow={(at) => move({ active: at })}
        />
        <div
          ref={frame}
          role="treegrid"
          class="spans"
          tabIndex={0}
          aria-label="Spans"
          aria-describedby="span-keys"
          aria-rowcount={shown.length + 1}
          aria-activedescendant={isDrawn(shown.indexOf(active)) ? rowId(active) : undefined}
          onKeyDown={onKeyDown}
          onClick={onClick}
        >
          <div role="rowgroup" class="span-heads">
            <Header zoom={zoom} />
          </div>
          <Rows tree={tree} active={active} top={top} height={height} />
        </div>
        <p id="span-keys" class="quiet">
          Arrows move and fold, Enter opens a span, Escape closes it, / searches, e goes to the next error, +
          and − zoom, 0 shows the whole time. A drag over the small picture zooms, too.
        </p>
      </div>
      {openRow !== undefined && (
        <SpanPanel key={openRow.key} row={openRow} trace={trace} onClose={() => tree.setOpen(-1)} />
      )}
    </div>
  );
};
