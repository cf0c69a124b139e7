import type { Source } from '../../directory/directory.ts';
import { Fault } from '../../model/fault.ts';
import type { DropReason, TimeReason, ValueReason } from '../../model/reasons.ts';
import type { Layout } from '../../model/records.ts';
import { type TimePolicy, validatePointTime } from '../../model/time.ts';
import { type UidBase, uidText } from '../../model/uid.ts';
import { type ColumnCaps, isValidName } from '../../wire/column-naming.ts';
import { doubleText, escapeTag, quoteText } from '../../wire/line-protocol.ts';
import { pointCost, runBudget, sizesCannotReachBudget } from './cutting.ts';

/** One point that did not go the normal way, as the reply shows it. */
export type Example = { index: number; reason: DropReason; field: string; detail: string };

/** What one message takes of a request: the rows of a run of points, and the points of that run whose time failed. */
export type Run = {
  first: number;
  last: number;
  rows: number;
  points: number;
  text: string;
  timeMin: number;
  timeMax: number;
  deferred: string[];
  deferredOrdinals: number[];
  dropped: Map<DropReason, number>;
};

/** A request's points after the rules. accepted + all dropped (deferred among them) = points in the request. */
export type EncodedPoints = {
  runs: Run[];
  accepted: number;
  ordinals: number;
  dropped: Map<DropReason, number>;
  deferred: Map<TimeReason, number>;
  valuesDropped: Map<ValueReason, number>;
  examples: Example[];
  /** Names that no registry entry is known for; when there are any, the runs are void until they were registered. */
  unknownMetrics: Set<string>;
  unknownDimensions: Set<string>;
};

export type PointContext = {
  readonly source: Source;
  readonly base: UidBase;
  readonly arrivedAt: number;
  readonly policy: TimePolicy;
  /** The request carries an Idempotency-Key. */
  readonly isKeyed: boolean;
  readonly caps: ColumnCaps;
  /** False on the first pass: unknown names are gathered. True after those of the kept points were registered. */
  readonly namesAreFinal: boolean;
  /** Characters of the body, for skipping the cutting rule where it cannot cut. */
  readonly bodyLength: number;
};

const examplesMax = 20;
const nul = '\u0000';

type JsonObject = Record<string, unknown>;

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Objects are not shown: they may be as deep and as large as a body. */
const shown = (value: unknown): string => {
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object' && value !== null) return 'an object';
  const text = typeof value === 'string' ? JSON.stringify(value.slice(0, 100)) : String(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
};

const count = <K>(map: Map<K, number>, key: K, by = 1): void => {
  map.set(key, (map.get(key) ?? 0) + by);
};

const newRun = (first: number): Run => ({
  first,
  last: first,
  rows: 0,
  points: 0,
  text: '',
  timeMin: Number.MAX_SAFE_INTEGER,
  timeMax: 0,
  deferred: [],
  deferredOrdinals: [],
  dropped: new Map(),
});

/** Ordinals a point takes: one; in a narrow table one a metric. It depends on the point as sent alone (design section 7.1). */
const ordinalsOf = (point: unknown, isNarrow: boolean): number => {
  if (!isNarrow || !isObject(point) || !isObject(point.metrics)) return 1;
  return Math.max(1, Object.keys(point.metrics).length);
};

/** Ordinals that a whole request takes. */
export const countOrdinals = (data: readonly unknown[], layout: Layout): number => {
  if (layout === 'wide') return data.length;
  let ordinals = 0;
  for (const point of data) ordinals += ordinalsOf(point, true);
  return ordinals;
};

const rawTimeLengthMax = 64;

/** A time that failed, for the verdict in transfer: what is no number fails whatever it is, so none of it needs to be long. */
const rawTime = (raw: unknown): number | string | null => {
  if (typeof raw === 'number') return raw;
  return typeof raw === 'string' ? raw.slice(0, rawTimeLengthMax) : null;
};

/** What a deferred point carries: the fields the specification names, and nothing a sender added. */
const deferredText = (point: JsonObject): string =>
  JSON.stringify({
    metrics: point.metrics,
    target: point.target,
    dimension: point.dimension ?? point.dimensions,
    timestamp: rawTime(point.timestamp),
  });

/**
 * Applies the rules of design section 4 to each point and encodes the kept ones, in one pass. State of the point at hand lives
 * in fields, so that a kept point costs no objects.
 */
class PointEncoder {
  private readonly context: PointContext;
  private readonly isNarrow: boolean;
  private readonly tablePrefix: string;
  private readonly result: EncodedPoints;
  private run: Run;

  // The point at hand.
  private tags = '';
  private fields = '';
  private moreDimensions = '';
  private metricNames: string[] = [];
  private metricValues: string[] = [];
  private metricOffsets: number[] = [];
  private overCap = 0;
  private newMetrics: string[] = [];
  private newDimensions: string[] = [];
  private failedField = '';
  private failedDetail = '';

  constructor(context: PointContext) {
    this.context = context;
    this.isNarrow = context.source.layout === 'narrow';
    this.tablePrefix = escapeTag(context.source.tableId);
    this.run = newRun(0);
    this.result = {
      runs: [this.run],
      accepted: 0,
      ordinals: 0,
      dropped: new Map(),
      deferred: new Map(),
      valuesDropped: new Map(),
      examples: [],
      unknownMetrics: new Set(),
      unknownDimensions: new Set(),
    };
  }

  encode(data: readonly unknown[]): EncodedPoints {
    const { isNarrow, context } = this;
    const mayCut = isNarrow || !sizesCannotReachBudget(data.length, context.bodyLength);
    let ordinal = 0;
    let spent = 0;
    for (let index = 0; index < data.length; index++) {
      const point = data[index];
      const taken = ordinalsOf(point, isNarrow);
      let isTooLarge = false;
      if (mayCut) {
        const cost = pointCost(point, isNarrow);
        isTooLarge = cost > runBudget;
        if (spent + cost > runBudget && spent > 0) {
          this.run = newRun(ordinal);
          this.result.runs.push(this.run);
          spent = 0;
        }
        spent += cost;
      }
      this.run.last = ordinal + taken - 1;
      this.encodePoint(point, index, ordinal, isTooLarge);
      ordinal += taken;
    }
    this.result.ordinals = ordinal;
    return this.result;
  }

  private encodePoint(point: unknown, index: number, ordinal: number, isTooLarge: boolean): void {
    if (!isObject(point)) return this.drop('point_not_object', index, '', `got ${shown(point)}`);
    const reason = this.readPoint(point);
    if (reason !== undefined) return this.drop(reason, index, this.failedField, this.failedDetail);
    if (isTooLarge)
      return this.drop('item_too_large', index, '', `more than ${runBudget} bytes by the cutting rule`);
    const raw = point.timestamp;
    let time: number;
    if (raw === undefined || raw === null) {
      if (this.context.isKeyed) {
        return this.drop(
          'timestamp_required_with_key',
          index,
          'timestamp',
          'a retry must carry the same time',
        );
      }
      time = this.context.arrivedAt;
    } else {
      const timeReason = validatePointTime(raw, this.context.arrivedAt, this.context.policy);
      if (timeReason !== undefined) return this.defer(timeReason, point, index, ordinal, raw);
      time = Number(raw);
    }
    this.keep(ordinal, time);
  }

  private keep(ordinal: number, time: number): void {
    const { run, result } = this;
    if (this.context.namesAreFinal && this.newMetrics.length + this.newDimensions.length > 0) {
      throw new Fault('internal', 'name_unregistered', 'a kept point has a name that was not registered');
    }
    if (this.isNarrow) this.writeNarrowRows(ordinal, time);
    else {
      const fields =
        this.moreDimensions === '' ? this.fields : `${this.fields},more_dimensions=${this.moreDimensions}`;
      run.text += `${this.tablePrefix}${this.tags} ${fields},uid=${uidText(this.context.base, ordinal)}i ${time}\n`;
      run.rows++;
    }
    run.points++;
    if (time < run.timeMin) run.timeMin = time;
    if (time > run.timeMax) run.timeMax = time;
    result.accepted++;
    if (this.overCap > 0) count(result.valuesDropped, 'metric_columns_exceeded', this.overCap);
    for (const name of this.newMetrics) result.unknownMetrics.add(name);
    for (const name of this.newDimensions) result.unknownDimensions.add(name);
  }

  private writeNarrowRows(ordinal: number, time: number): void {
    const { run, metricNames, metricValues, metricOffsets } = this;
    const more = this.moreDimensions === '' ? '' : `,more_dimensions=${this.moreDimensions}`;
    for (let i = 0; i < metricNames.length; i++) {
      const uid = uidText(this.context.base, ordinal + (metricOffsets[i] ?? 0));
      run.text += `${this.tablePrefix},metric=${metricNames[i]}${this.tags} value=${metricValues[i]}${more},uid=${uid}i ${time}\n`;
    }
    run.rows += metricNames.length;
  }

  private drop(reason: DropReason, index: number, field: string, detail: string): void {
    count(this.result.dropped, reason);
    count(this.run.dropped, reason);
    if (this.result.examples.length < examplesMax)
      this.result.examples.push({ index, reason, field, detail });
  }

  private defer(reason: TimeReason, point: JsonObject, index: number, ordinal: number, raw: unknown): void {
    count(this.result.dropped, reason);
    count(this.result.deferred, reason);
    this.run.deferred.push(deferredText(point));
    this.run.deferredOrdinals.push(ordinal);
    if (this.result.examples.length < examplesMax) {
      this.result.examples.push({ index, reason, field: 'timestamp', detail: `got ${shown(raw)}` });
    }
  }

  private fail(reason: DropReason, field: string, detail: string): DropReason {
    this.failedField = field;
    this.failedDetail = detail;
    return reason;
  }

  private readPoint(point: JsonObject): DropReason | undefined {
    this.tags = '';
    this.fields = '';
    this.moreDimensions = '';
    this.overCap = 0;
    if (this.newMetrics.length > 0) this.newMetrics = [];
    if (this.newDimensions.length > 0) this.newDimensions = [];
    return this.readTarget(point.target, this.readMetrics(point.metrics) ?? this.readDimensions(point));
  }

  private readTarget(target: unknown, earlier: DropReason | undefined): DropReason | undefined {
    if (earlier !== undefined) return earlier;
    let text = '';
    if (typeof target === 'string') text = target;
    else if (typeof target === 'number') text = String(target);
    else if (target !== undefined && target !== null) {
      return this.fail('target_invalid', 'target', `expected a string, got ${shown(target)}`);
    }
    if (text.includes(nul))
      return this.fail('target_invalid', 'target', 'it holds U+0000, which QuestDB refuses');
    this.tags = `,target=${escapeTag(text)}${this.tags}`;
    return undefined;
  }

  private readMetrics(metrics: unknown): DropReason | undefined {
    if (!isObject(metrics)) {
      return this.fail(
        'metrics_missing',
        'metrics',
        metrics === undefined ? 'it is absent' : `got ${shown(metrics)}`,
      );
    }
    const { isNarrow } = this;
    const known = this.context.source.metrics;
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
    if (seen === 0) return this.fail('metrics_empty', 'metrics', 'it holds no metric');
    if (written === 0) {
      return this.fail(
        'metric_columns_exceeded',
        'metrics',
        `the table holds ${this.context.caps.metricsMax} metrics already`,
      );
    }
    this.fields = fields;
    return undefined;
  }

  /** What to do with a metric name that the registry does not have. */
  private unknownMetric(name: string): string {
    if (!isValidName(name)) return invalidName;
    const { context } = this;
    if (context.source.metrics.size >= context.caps.metricsMax) return overTheCap;
    this.newMetrics.push(name);
    return name;
  }

  private readDimensions(point: JsonObject): DropReason | undefined {
    const dimensions = point.dimension ?? point.dimensions;
    if (dimensions === undefined || dimensions === null) return undefined;
    if (!isObject(dimensions)) {
      return this.fail('dimension_invalid', 'dimension', `expected an object, got ${shown(dimensions)}`);
    }
    const known = this.context.source.dimensions;
    let tags = '';
    let more: [name: string, text: string][] | undefined;
    for (const name in dimensions) {
      const value = dimensions[name];
      const column = known.get(name) ?? (value === null ? unusedName(name) : this.unknownDimension(name));
      if (column === invalidName) {
        return this.fail('dimension_name_invalid', `dimension.${shownName(name)}`, namePatternText);
      }
      let text: string;
      if (typeof value === 'string') text = value;
      else if (value === null) continue;
      else if (typeof value === 'number' || typeof value === 'boolean') text = String(value);
      else
        return this.fail('dimension_invalid', `dimension.${name}`, `expected a string, got ${shown(value)}`);
      if (text.includes(nul)) {
        return this.fail('dimension_invalid', `dimension.${name}`, 'it holds U+0000, which QuestDB refuses');
      }
      if (column === overTheCap) {
        more ??= [];
        more.push([name, text]);
      } else tags += `,${column}=${escapeTag(text)}`;
    }
    this.tags = tags;
    if (more !== undefined) this.moreDimensions = quoteText(JSON.stringify(Object.fromEntries(more)));
    return undefined;
  }

  private unknownDimension(name: string): string {
    if (!isValidName(name)) return invalidName;
    const { context } = this;
    if (context.source.dimensions.size >= context.caps.dimensionsMax) return overTheCap;
    this.newDimensions.push(name);
    return name;
  }
}

/** Not names: no valid name holds a blank. */
const invalidName = ' invalid';
const overTheCap = ' over';

const namePatternText = 'expected ^[a-zA-Z_][a-zA-Z0-9_]*$, at most 100 characters';

/** The name of a dimension that is null and so removed: it has to be valid, but takes no column. */
const unusedName = (name: string): string => (isValidName(name) ? name : invalidName);

const shownName = (name: string): string => (name.length > 80 ? `${name.slice(0, 80)}…` : name);

/** Judges and encodes the points of one request; never throws for anything a sender can send. */
export const encodePoints = (data: readonly unknown[], context: PointContext): EncodedPoints =>
  new PointEncoder(context).encode(data);
