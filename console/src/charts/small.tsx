import './charts.css';
import type { ComponentChildren } from 'preact';
import { numberText } from '../parts/format.tsx';
import { linePath } from './model.ts';

type SparklineProps = {
  /** What it shows, for instance `received, last hour`. */
  readonly label: string;
  /** The newest last; null where nothing is known. */
  readonly values: readonly (number | null)[];
  readonly width?: number;
};

/** A line without axes for a cell or a tile; its name has the last value and the highest. */
export const Sparkline = ({ label, values, width = 120 }: SparklineProps) => {
  const height = 28;
  const known = values.filter((value) => value !== null);
  const max = Math.max(0, ...known);
  const x = (index: number): number =>
    values.length <= 1 ? 0 : (index / (values.length - 1)) * (width - 2) + 1;
  const y = (value: number): number => height - 2 - (max === 0 ? 0 : (value / max) * (height - 4));
  const words =
    known.length === 0 ? 'no figures' : `last ${numberText(known.at(-1) ?? 0)}, highest ${numberText(max)}`;
  return (
    <svg
      class="sparkline mark-0"
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={`${label}: ${words}`}
    >
      <line class="grid" x1="0" x2={width} y1={height - 1.5} y2={height - 1.5} />
      <path class="curve" d={linePath(values, x, y)} />
    </svg>
  );
};

export type BarListRow = { readonly key: string; readonly label: ComponentChildren; readonly value: number };

type BarListProps = { label: string; rows: readonly BarListRow[] };

/** Values as bars below each other, the largest first as the rows come; the figure stands beside its bar. */
export const BarList = ({ label, rows }: BarListProps) => {
  const max = Math.max(0, ...rows.map(({ value }) => value));
  return (
    <ul class="bar-list" aria-label={label}>
      {rows.map((row) => (
        <li key={row.key}>
          <span>{row.label}</span>
          <span class="length" aria-hidden="true">
            <span style={{ inlineSize: `${max === 0 ? 0 : (100 * row.value) / max}%` }} />
          </span>
          <span class="figure">{numberText(row.value)}</span>
        </li>
      ))}
    </ul>
  );
};
