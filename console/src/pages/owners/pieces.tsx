import type { ComponentChildren } from 'preact';
import { Sparkline } from '../../charts/small.tsx';
import { numberText } from '../../parts/format.tsx';
import type { Kind, OneOwner } from './owner.ts';

/** What each part of an owner's page gets. */
export type TabProps = {
  readonly kind: Kind;
  readonly owner: OneOwner;
  /** Reads the owner again, after a change. */
  readonly reload: () => void;
};

type TileProps = {
  title: string;
  value: string;
  label?: string;
  values?: readonly number[];
  children?: ComponentChildren;
};

/** One figure with its course, or with what stands in `children`. */
export const Tile = ({ title, value, label, values = [], children }: TileProps) => (
  <li>
    <span>{title}</span>
    <strong class="figure">{value}</strong>
    {values.length > 1 && <Sparkline values={values} label={label ?? title} />}
    {children}
  </li>
);

/** Names and values below each other. */
export const Facts = ({ of }: { of: readonly (readonly [string, ComponentChildren])[] }) => (
  <dl class="facts">
    {of.map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
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
