import './charts.css';
import type { ComponentChildren } from 'preact';
import { useId, useMemo, useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { figures, time } from '../parts/columns.tsx';
import { numberText, percentText, useUtc } from '../parts/format.tsx';
import { Table } from '../parts/table.tsx';
import { useQueryState } from '../shell/router.ts';
import { type Series, sharesOf } from './model.ts';
import { Patterns, Plot, type PlotProps } from './plot.tsx';
import { TableButton } from './table-button.tsx';
import { momentText } from './time-ticks.ts';

type ChartProps = Pick<
  PlotProps,
  'kind' | 'times' | 'step' | 'series' | 'heightPx' | 'onZoom' | 'onPick' | 'picked'
> & {
  /** Names the chart's part of the address: `<name>_view` and `<name>_hide`. */
  readonly name: string;
  readonly title: string;
  /** What the chart says, in a sentence or two, for those who do not see it. */
  readonly summary: ComponentChildren;
  readonly text?: (value: number) => string;
  /** Shows each value as a share of the shown ones. */
  readonly isShare?: boolean;
};

/** A small piece of a series' fill. */
export const Swatch = ({ mark }: { mark: number }) => {
  const id = useId();
  return (
    <svg class={`swatch mark-${mark}`} width="14" height="14" aria-hidden="true">
      <Patterns id={id} marks={[mark]} />
      <rect class="bar" width="14" height="14" fill={`url(#${id}-${mark})`} />
    </svg>
  );
};

type LegendProps = {
  readonly series: readonly Series[];
  readonly hidden: ReadonlySet<string>;
  readonly onToggle: (key: string) => void;
  readonly figure: (series: Series) => string;
};

/** The series with their figures; each is a switch. */
const Legend = ({ series, hidden, onToggle, figure }: LegendProps) => (
  <ul class="legend">
    {series.map((each) => (
      <li key={each.key}>
        <Button aria-pressed={!hidden.has(each.key)} onClick={() => onToggle(each.key)}>
          <Swatch mark={each.mark} /> <bdi>{each.label}</bdi> <span class="figure">{figure(each)}</span>
        </Button>
      </li>
    ))}
  </ul>
);

export const sumOf = ({ values }: Series): number =>
  values.reduce<number>((sum, value) => sum + (value ?? 0), 0);

type TimesProps = Pick<ChartProps, 'title' | 'times'> & {
  name: string;
  series: readonly Series[];
  text: (value: number) => string;
};

type Bucket = { readonly at: number; readonly index: number };

export const ChartTable = ({ name, title, times, series, text }: TimesProps) => (
  <Table
    caption={title}
    sortName={`${name}_sort`}
    rows={times.map((at, index) => ({ at, index }))}
    keyOf={({ at }) => at}
    empty="No time is chosen."
    rowsMax={600}
    columns={[
      time<Bucket>('Time', ({ at }) => at),
      ...series.map(({ key, label, values }) => ({
        ...figures(text)<Bucket>(label, ({ index }) => values[index] ?? null),
        key,
      })),
    ]}
  />
);

/**
 * A chart of series over time: a figure with a summary in words, a legend that switches series and reads the crosshair, and the same
 * figures as a table. What is hidden, and whether the table is shown, is in the address.
 */
export const Chart = ({ name, title, summary, text = numberText, isShare = false, ...plot }: ChartProps) => {
  const { times, series } = plot;
  const [view, setView] = useQueryState(`${name}_view`);
  const [hide, setHide] = useQueryState(`${name}_hide`);
  const [at, setAt] = useState<number>();
  const [utc] = useUtc();
  const hidden = useMemo(() => new Set(hide.split(',').filter((key) => key !== '')), [hide]);
  const toggle = (key: string): void => setHide([...hidden.symmetricDifference(new Set([key]))].join(','));
  const shown = series.filter(({ key }) => !hidden.has(key));
  const drawn = isShare ? sharesOf(shown, times.length) : shown;
  const valueText = isShare ? percentText : text;
  const place = at === undefined ? undefined : times[at];
  const figureOf = (each: Series): string => {
    if (at !== undefined) {
      const value = (drawn.find(({ key }) => key === each.key) ?? each).values[at];
      return value == null || hidden.has(each.key) ? '–' : valueText(value);
    }
    if (plot.kind === 'bars') return text(sumOf(each));
    const newest = each.values.findLast((value) => value !== null);
    return newest == null ? '–' : text(newest);
  };
  return (
    <figure class="chart">
      <figcaption class="row">
        <h2>{title}</h2>
        <p class="quiet">{summary}</p>
        <TableButton isTable={view === 'table'} onTable={(isTable) => setView(isTable ? 'table' : '')} />
      </figcaption>
      {view === 'table' ? (
        <ChartTable name={name} title={title} times={times} series={drawn} text={valueText} />
      ) : (
        <Plot
          {...plot}
          label={title}
          series={drawn}
          text={valueText}
          max={isShare ? 1 : undefined}
          at={at}
          onAt={setAt}
        />
      )}
      <p class="quiet place">
        {place === undefined
          ? plot.kind === 'bars'
            ? 'Sum of the time shown'
            : 'Newest value'
          : momentText(place, utc ? 'UTC' : undefined)}
      </p>
      <Legend series={series} hidden={hidden} onToggle={toggle} figure={figureOf} />
    </figure>
  );
};
