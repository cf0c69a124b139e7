import type { Source } from '../../../src/directory/directory.ts';
import type { ColumnRegistry, Layout } from '../../../src/model/records.ts';
import { uidBase } from '../../../src/model/uid.ts';
import type { EncodedPoints } from '../../../src/rules/points/encoded-points.ts';
import { registerNames } from '../../../src/wire/column-naming.ts';
import { type EncodeContext, encodePoints } from './encode-points.ts';
import { ageMsMax } from './point-cases.ts';

export const arrivedAt = Date.UTC(2026, 5, 1, 12);

/** A data id as in the directory, with these names registered. */
export const sourceWith = (
  layout: Layout,
  metrics: readonly string[] = [],
  dimensions: readonly string[] = [],
): Source => {
  const dataId = 1500001;
  const tableId = `2_mon_time_series_${dataId}.__default__`;
  const caps = { metricsMax: 10_000, dimensionsMax: 10_000 };
  const empty: ColumnRegistry = { mon_data_id: dataId, metrics: [], dimensions: [] };
  const registry = registerNames(empty, layout, tableId, caps, metrics, dimensions, 1);
  const columns = (entries: ColumnRegistry['metrics']): Map<string, string> =>
    new Map(entries.map(({ name, column }) => [name, column]));
  return {
    dataId,
    token: '0123456789abcdef0123456789abcdef',
    isEnabled: true,
    typeLabel: 'time_series',
    tableId,
    questdb: 'default',
    layout,
    maxRate: 0,
    previousToken: undefined,
    identityCredential: undefined,
    rules: {
      time: { aheadMsMax: 3_600_000, ageMsMax },
      pointsMax: 50_000,
      metricsMax: 512,
      dimensionsMax: 64,
    },
    metrics: columns(registry.metrics),
    dimensions: columns(registry.dimensions),
  };
};

/** What is encoded around the points: an hour ahead, a week old, the caps of the shipped pipeline, base 1000. */
export const contextWith = (source: Source, change: Partial<EncodeContext> = {}): EncodeContext => ({
  source,
  base: uidBase(1000n),
  arrivedAt,
  policy: { aheadMsMax: 3_600_000, ageMsMax },
  isKeyed: false,
  caps: { metricsMax: 512, dimensionsMax: 64 },
  namesAreFinal: false,
  ...change,
});

/** As the receiver does it: what is new is registered between two passes, within the caps. */
export const encodeWithNames = (data: readonly unknown[], context: EncodeContext): EncodedPoints => {
  const first = encodePoints(data, context);
  if (first.isTooMuch) return first;
  if (first.unknownMetrics.size === 0 && first.unknownDimensions.size === 0) return first;
  const { source, caps } = context;
  const room = (known: Source['metrics'], unknown: ReadonlySet<string>, most: number): string[] => [
    ...known.keys(),
    ...[...unknown].slice(0, Math.max(0, most - known.size)),
  ];
  const named = sourceWith(
    source.layout,
    room(source.metrics, first.unknownMetrics, caps.metricsMax),
    room(source.dimensions, first.unknownDimensions, caps.dimensionsMax),
  );
  return encodePoints(data, { ...context, source: named, namesAreFinal: true });
};
