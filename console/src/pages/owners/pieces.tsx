import type { ComponentChildren } from 'preact';
import { Sparkline } from '../../charts/small.tsx';
import { numberText } from '../../parts/format.tsx';
import type { Kind, OneOwner } from './owner.ts';

export type TabProps = {
  readonly kind: Kind;
  readonly owner: OneOwner;
  /** Reads the owner again, after a change. */
  readonly reload: () => void;
};

type TileProps = { title: string; value: string; children: ComponentChildren };

const Tile = ({ title, value, children }: TileProps) => (
  <li>
    <span>{title}</span>
    <strong class="figure">{value}</strong>
    {children}
  </li>
);

type SumProps = { title: string; by: string; values: readonly number[]; text?: (value: number) => string };

export const Sum = ({ title, by, values, text = numberText }: SumProps) => (
  <Tile title={title} value={text(values.reduce((sum, value) => sum + value, 0))}>
    {values.length > 1 && <Sparkline values={values} label={`${title} by ${by}`} />}
  </Tile>
);

type GaugeProps = { title: string; used: number | null; limit: number | null };

/** How much of a limit is used, as a meter with its figures. */
export const Gauge = ({ title, used, limit }: GaugeProps) => (
  <Tile
    title={title}
    value={`${used === null ? '–' : numberText(used)}${limit === null ? ', no limit' : ` of ${numberText(limit)}`}`}
  >
    {limit !== null && limit > 0 && (
      <meter
        max={limit}
        low={0.8 * limit}
        high={0.95 * limit}
        optimum={0}
        value={used ?? 0}
        aria-label={title}
      />
    )}
  </Tile>
);
