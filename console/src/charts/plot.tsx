import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { axisText, exactText, numberText, useUtc } from '../parts/format.tsx';
import { type ChartKind, linePath, type Series, totalsOf } from './model.ts';
import { indexAt, linear, type Segment, stackOf, valueTicks } from './scale.ts';
import { momentText, timeTicks } from './time-ticks.ts';

export type PlotProps = {
  readonly label: string;
  readonly kind: ChartKind;
  /** Starts of the buckets, Unix seconds, in even steps of `step` seconds. */
  readonly times: readonly number[];
  readonly step: number;
  readonly series: readonly Series[];
  readonly text: (value: number) => string;
  /** The top of the axis where it is known, as 1 of shares. */
  readonly max?: number | undefined;
  readonly heightPx?: number;
  /** The bucket under the crosshair, which the legend reads. */
  readonly at: number | undefined;
  readonly onAt: (index: number | undefined) => void;
  /** From the first second to the end of the last bucket, not included. */
  readonly onZoom?: ((since: number, until: number) => void) | undefined;
  /** A bucket was chosen, and the series under the pointer. */
  readonly onPick?: ((index: number, key: string | undefined) => void) | undefined;
  readonly picked?: number | undefined;
};

const left = 72;
const bottom = 22;
const top = 8;

const useWidth = () => {
  const frame = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(720);
  useEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => setWidth(Math.max(240, element.clientWidth)));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return { frame, width };
};

/** Fills of the series: a pattern for each mark, so that colour alone never names one. */
const strokes: readonly string[] = [
  '',
  'M0 6L6 0M-1 1L1 -1M5 7L7 5',
  'M3 2v2',
  'M0 0L6 6M-1 5L1 7M5 -1L7 1',
  'M0 3h6',
  'M0 0L6 6M6 0L0 6',
  'M3 0v6',
  'M0 0h3v3h-3z',
];

export const Patterns = ({ id, marks }: { id: string; marks: readonly number[] }) => (
  <defs>
    {[...new Set(marks)].map((mark) => (
      <pattern
        key={mark}
        id={`${id}-${mark}`}
        class={`mark-${mark}`}
        width="6"
        height="6"
        patternUnits="userSpaceOnUse"
      >
        <rect class={mark === 0 ? 'solid' : 'ground'} width="6" height="6" />
        <path class="stripe" d={strokes[mark] ?? ''} />
      </pattern>
    ))}
  </defs>
);

type BarsProps = {
  id: string;
  columns: readonly (readonly Segment[])[];
  series: readonly Series[];
  slot: number;
  base: number;
};

const Bars = ({ id, columns, series, slot, base }: BarsProps) =>
  series.map(({ key, mark }) => {
    const gap = slot > 4 ? 1 : 0;
    let path = '';
    for (const [index, column] of columns.entries())
      for (const part of column)
        if (part.key === key)
          path += `M${(index * slot).toFixed(1)} ${(base - part.from).toFixed(1)}h${(slot - gap).toFixed(1)}V${(base - part.to).toFixed(1)}h-${(slot - gap).toFixed(1)}z`;
    return <path key={key} d={path} class={`bar mark-${mark}`} fill={`url(#${id}-${mark})`} />;
  });

type LinesProps = { series: readonly Series[]; slot: number; y: (value: number) => number };

const Lines = ({ series, slot, y }: LinesProps) =>
  series.map(({ key, mark, values }) => (
    <path key={key} class={`curve mark-${mark}`} d={linePath(values, (index) => (index + 0.5) * slot, y)} />
  ));

type ValueAxisProps = {
  ticks: readonly number[];
  y: (value: number) => number;
  width: number;
  text: (value: number) => string;
};

const ValueAxis = ({ ticks, y, width, text }: ValueAxisProps) =>
  ticks.map((tick) => (
    <g key={tick}>
      <line class="grid" x1="0" x2={width} y1={y(tick)} y2={y(tick)} />
      <text class="axis" x="-8" y={y(tick)} dy="0.35em" text-anchor="end">
        {text(tick)}
      </text>
    </g>
  ));

type TimeAxisProps = { times: readonly number[]; step: number; width: number; height: number };

const TimeAxis = ({ times, step, width, height }: TimeAxisProps) => {
  const [utc] = useUtc();
  const since = times[0] ?? 0;
  const until = (times.at(-1) ?? since) + step;
  const x = linear([since, until], [0, width]);
  const ticks = timeTicks(since, until, {
    zone: utc ? 'UTC' : undefined,
    countMax: Math.max(2, Math.floor(width / 90)),
  });
  return ticks.map(({ at, label }) => (
    <g key={at} transform={`translate(${x(at).toFixed(1)} ${height})`}>
      <line class="tick" y2="5" />
      <text class="axis" y="18" text-anchor={x(at) < 24 ? 'start' : x(at) > width - 24 ? 'end' : 'middle'}>
        {label}
      </text>
    </g>
  ));
};

/** The keys of the crosshair: where it goes from `at`. */
const stepOf = (key: string, at: number | undefined, count: number): number | undefined => {
  const from = at ?? count - 1;
  const page = Math.max(1, Math.round(count / 10));
  const to = {
    ArrowLeft: from - 1,
    ArrowRight: from + 1,
    PageDown: from - page,
    PageUp: from + page,
    Home: 0,
    End: count - 1,
  }[key];
  return to === undefined ? undefined : Math.min(count - 1, Math.max(0, to));
};

/** The crosshair by pointer and keys: a click or Enter picks, a drag or Shift with arrows and then Enter zooms. */
const useCrosshair = (
  { times, step, at, onAt, onZoom, onPick }: PlotProps,
  inner: number,
  keyAt: (index: number, y: number) => string | undefined,
) => {
  const [anchor, setAnchor] = useState<number>();
  const count = times.length;
  const placeOf = (event: MouseEvent): { index: number; y: number } => {
    const box =
      event.currentTarget instanceof Element ? event.currentTarget.getBoundingClientRect() : new DOMRect();
    return {
      index: indexAt(event.clientX - box.left - left, inner, count),
      y: event.clientY - box.top - top,
    };
  };
  const finish = (index: number, key: string | undefined): void => {
    const [first, last] = [Math.min(anchor ?? index, index), Math.max(anchor ?? index, index)];
    setAnchor(undefined);
    if (first !== last) onZoom?.(times[first] ?? 0, (times[last] ?? 0) + step);
    else onPick?.(index, key);
  };
  const handlers = {
    onPointerMove: (event: PointerEvent) => onAt(placeOf(event).index),
    onPointerDown: (event: PointerEvent) => {
      if (event.button === 0) setAnchor(placeOf(event).index);
    },
    onPointerUp: (event: PointerEvent) => {
      const { index, y } = placeOf(event);
      if (anchor !== undefined) finish(index, keyAt(index, y));
    },
    onPointerLeave: () => {
      onAt(undefined);
      setAnchor(undefined);
    },
    onKeyDown: (event: KeyboardEvent) => {
      const to = stepOf(event.key, at, count);
      if (to !== undefined) {
        setAnchor(event.shiftKey ? (anchor ?? at ?? to) : undefined);
        onAt(to);
      } else if (event.key === 'Enter' && at !== undefined) finish(at, undefined);
      else if (event.key === 'Escape') {
        setAnchor(undefined);
        onAt(undefined);
      } else return;
      event.preventDefault();
    },
  };
  return { anchor, handlers };
};

/** What a screen reader says of the crosshair's place. */
const valueText = ({ times, series, text, at }: PlotProps, zone: string | undefined): string =>
  at === undefined || times[at] === undefined
    ? 'no time chosen'
    : `${momentText(times[at], zone)}: ${series.map(({ label, values }) => `${label} ${values[at] == null ? 'not known' : text(values[at])}`).join(', ')}`;

/** The drawing of a chart, with its axes and its crosshair. */
export const Plot = (props: PlotProps) => {
  const { label, kind, times, step, series, text, at, picked, heightPx = 220 } = props;
  const { frame, width } = useWidth();
  const [utc] = useUtc();
  const id = useId();
  const inner = width - left - 8;
  const height = heightPx - top - bottom;
  const slot = inner / times.length;
  const values = series.flatMap((each) => each.values.map((value) => value ?? 0));
  const highest = Math.max(0, ...(kind === 'bars' ? totalsOf(series, times.length) : values));
  const isWhole = props.max === undefined && values.every(Number.isInteger);
  const lowest = kind === 'bars' ? 0 : Math.min(0, ...values);
  const ticks = valueTicks(props.max ?? highest, { whole: isWhole, min: lowest });
  const max = ticks.at(-1) ?? 1;
  const y = linear([ticks[0] ?? 0, max], [height, 0]);
  const partsAt = (index: number) =>
    series.map((each) => ({ key: each.key, value: each.values[index] ?? 0 }));
  const columns = kind === 'bars' ? times.map((_, index) => stackOf(partsAt(index), max, height)) : [];
  const keyAt = (index: number, py: number): string | undefined =>
    columns[index]?.find(({ from, to }) => height - py >= from - 1 && height - py < to + 1)?.key;
  const { anchor, handlers } = useCrosshair(props, inner, keyAt);
  const span =
    anchor === undefined || at === undefined || anchor === at
      ? undefined
      : [Math.min(anchor, at), Math.abs(anchor - at) + 1];
  return (
    <div
      ref={frame}
      class="plot"
      role="slider"
      tabIndex={0}
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={times.length - 1}
      aria-valuenow={at ?? times.length - 1}
      aria-valuetext={valueText(props, utc ? 'UTC' : undefined)}
      {...handlers}
    >
      <svg width={width} height={heightPx} aria-hidden="true">
        <Patterns id={id} marks={series.map(({ mark }) => mark)} />
        <g transform={`translate(${left} ${top})`}>
          <ValueAxis
            ticks={ticks}
            y={y}
            width={inner}
            text={text === numberText || text === exactText ? axisText : text}
          />
          {picked !== undefined && <rect class="picked" x={picked * slot} width={slot} height={height} />}
          {kind === 'bars' ? (
            <Bars id={id} columns={columns} series={series} slot={slot} base={height} />
          ) : (
            <Lines series={series} slot={slot} y={y} />
          )}
          {span !== undefined && (
            <rect class="span" x={(span[0] ?? 0) * slot} width={(span[1] ?? 1) * slot} height={height} />
          )}
          {at !== undefined && at < times.length && (
            <line class="crosshair" x1={(at + 0.5) * slot} x2={(at + 0.5) * slot} y2={height} />
          )}
          <TimeAxis times={times} step={step} width={inner} height={height} />
        </g>
      </svg>
    </div>
  );
};
