import { counted } from '../../../../src/model/counted.ts';
import type { DropReason } from '../../../../src/model/reasons.ts';
import type { PointTable } from '../../../../src/rules/points/point-table.ts';
import { type ColumnCaps, isValidName } from '../../../../src/wire/column-naming.ts';
import { doubleText, escapeTag, quoteText } from '../../../../src/wire/line-protocol.ts';
import { digitsIn } from './tolerant-json.ts';

const nul = '\u0000';

export type JsonObject = Record<string, unknown>;

/** A JSON object, arrays apart. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A value as answers show it. Objects are not shown: they may be as deep and as large as a body. */
export const shown = (value: unknown): string => {
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object' && value !== null) return 'an object';
  const text = typeof value === 'string' ? JSON.stringify(value.slice(0, 100)) : String(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
};

/** Not names: no valid name holds a blank. */
const invalidName = ' invalid';
const overTheCap = ' over';

const namePatternText = 'expected ^[a-zA-Z_][a-zA-Z0-9_]*$, at most 100 characters';

/** The name of a dimension that is null and so removed: it has to be valid, but takes no column. */
const unusedName = (name: string): string => (isValidName(name) ? name : invalidName);

const shownName = (name: string): string => (name.length > 80 ? `${name.slice(0, 80)}…` : name);

/** Names that have no column yet. */
export type GatheredNames = {
  readonly unknownMetrics: ReadonlySet<string>;
  readonly unknownDimensions: ReadonlySet<string>;
};

/** The detail of a metric beyond the limit. */
export const atTheLimit = (metricsMax: number): string =>
  `the table is at the limit of ${counted(metricsMax, 'metric')}; use fewer metric names; send the variable parts of a name as dimensions`;

/**
 * Judges all of a point but its time (architecture 4.3) and turns it into line protocol. What it read of the point at hand lies in
 * fields, so that a kept point costs no objects.
 */
export class PointReader {
  private readonly source: PointTable;
  private readonly caps: ColumnCaps;
  private readonly isNarrow: boolean;
  private readonly gathered: GatheredNames;

  tags = '';
  /** Metrics of a wide table. */
  fields = '';
  moreDimensions = '';
  /** Metrics of a narrow table: name, value and place among those of the point. */
  metricNames: string[] = [];
  metricValues: string[] = [];
  metricOffsets: number[] = [];
  /** Metrics that found no column. */
  overCap = 0;
  /** Their names. */
  lost: string[] = [];
  /** Names that the registry does not have. */
  newMetrics: string[] = [];
  newDimensions: string[] = [];
  /** Of the last point that failed. */
  failedField = '';
  failedDetail = '';

  /** `gathered`: names of points before that are to be registered. */
  constructor(source: PointTable, caps: ColumnCaps, gathered: GatheredNames) {
    this.source = source;
    this.caps = caps;
    this.gathered = gathered;
    this.isNarrow = source.layout === 'narrow';
  }

  /** Why the point is dropped; undefined when all but its time is well. */
  read(point: JsonObject): DropReason | undefined {
    this.tags = '';
    this.fields = '';
    this.moreDimensions = '';
    this.overCap = 0;
    if (this.lost.length > 0) this.lost = [];
    if (this.newMetrics.length > 0) this.newMetrics = [];
    if (this.newDimensions.length > 0) this.newDimensions = [];
    return this.readTarget(point, this.readMetrics(point.metrics) ?? this.readDimensions(point));
  }

  private fail(reason: DropReason, field: string, detail: string): DropReason {
    this.failedField = field;
    this.failedDetail = detail;
    return reason;
  }

  private readTarget(point: JsonObject, earlier: DropReason | undefined): DropReason | undefined {
    const { target } = point;
    if (earlier !== undefined) return earlier;
    let text = '';
    if (typeof target === 'string') text = target;
    else if (typeof target === 'number') text = digitsIn(point, 'target') ?? String(target);
    else if (target !== undefined && target !== null) {
      return this.fail('target_invalid', 'target', `expected a string, got ${shown(target)}`);
    }
    if (text.includes(nul))
      return this.fail('target_invalid', 'target', 'it contains U+0000, which QuestDB refuses');
    this.tags = `,target=${escapeTag(text)}${this.tags}`;
    return undefined;
  }

  private readMetrics(metrics: unknown): DropReason | undefined {
    if (!isObject(metrics)) {
      return this.fail(
        'metrics_missing',
        'metrics',
        metrics === undefined ? 'it is missing' : `got ${shown(metrics)}`,
      );
    }
    const { isNarrow } = this;
    const known = this.source.metrics;
    if (isNarrow) {
      this.metricNames.length = 0;
      this.metricValues.length = 0;
      this.metricOffsets.length = 0;
    }
    let seen = 0;
    let written = 0;
    let fields = '';
    for (const name in metrics) {
      const value = metrics[name];
      const column = known.get(name) ?? this.unknownMetric(name);
      if (column === invalidName) {
        return this.fail('metric_name_invalid', `metrics.${shownName(name)}`, namePatternText);
      }
      if (typeof value !== 'number') {
        return this.fail('metric_value_invalid', `metrics.${name}`, `expected a number, got ${shown(value)}`);
      }
      if (!Number.isFinite(value)) return this.fail('metric_not_finite', `metrics.${name}`, `got ${value}`);
      const offset = seen++;
      if (column === overTheCap) {
        this.overCap++;
        this.lost.push(name);
        continue;
      }
      if (isNarrow) {
        this.metricNames.push(name);
        this.metricValues.push(doubleText(value));
        this.metricOffsets.push(offset);
      } else {
        fields += written === 0 ? `${column}=${doubleText(value)}` : `,${column}=${doubleText(value)}`;
      }
      written++;
    }
    if (seen === 0) return this.fail('metrics_empty', 'metrics', 'it is empty');
    if (written === 0) {
      return this.fail('metric_columns_exceeded', 'metrics', atTheLimit(this.caps.metricsMax));
    }
    this.fields = fields;
    return undefined;
  }

  /** What to do with a metric name that the registry does not have. */
  private unknownMetric(name: string): string {
    if (!isValidName(name)) return invalidName;
    const { unknownMetrics } = this.gathered;
    if (!unknownMetrics.has(name)) {
      // No more are gathered than there is room for: a point may name a hundred thousand.
      const taken = this.source.metrics.size + unknownMetrics.size + this.newMetrics.length;
      if (taken >= this.caps.metricsMax) return overTheCap;
      this.newMetrics.push(name);
    }
    return name;
  }

  private readDimensions(point: JsonObject): DropReason | undefined {
    const dimensions = point.dimension ?? point.dimensions;
    const field = (point.dimension ?? null) === null ? 'dimensions' : 'dimension';
    if (dimensions === undefined || dimensions === null) return undefined;
    if (!isObject(dimensions)) {
      return this.fail('dimension_invalid', field, `expected an object, got ${shown(dimensions)}`);
    }
    const known = this.source.dimensions;
    let tags = '';
    let more: [name: string, text: string][] | undefined;
    for (const name in dimensions) {
      const value = dimensions[name];
      const column = known.get(name) ?? (value === null ? unusedName(name) : this.unknownDimension(name));
      if (column === invalidName) {
        return this.fail('dimension_name_invalid', `${field}.${shownName(name)}`, namePatternText);
      }
      let text: string;
      if (typeof value === 'string') text = value;
      else if (value === null) continue;
      else if (typeof value === 'number' || typeof value === 'boolean')
        text = digitsIn(dimensions, name) ?? String(value);
      else
        return this.fail('dimension_invalid', `${field}.${name}`, `expected a string, got ${shown(value)}`);
      if (text.includes(nul)) {
        return this.fail(
          'dimension_invalid',
          `${field}.${name}`,
          'it contains U+0000, which QuestDB refuses',
        );
      }
      if (column === overTheCap) {
        more ??= [];
        more.push([name, text.toWellFormed()]);
      } else tags += `,${column}=${escapeTag(text)}`;
    }
    this.tags = tags;
    if (more !== undefined) this.moreDimensions = quoteText(JSON.stringify(Object.fromEntries(more)));
    return undefined;
  }

  private unknownDimension(name: string): string {
    if (!isValidName(name)) return invalidName;
    const { unknownDimensions } = this.gathered;
    if (!unknownDimensions.has(name)) {
      const taken = this.source.dimensions.size + unknownDimensions.size + this.newDimensions.length;
      if (taken >= this.caps.dimensionsMax) return overTheCap;
      this.newDimensions.push(name);
    }
    return name;
  }
}
