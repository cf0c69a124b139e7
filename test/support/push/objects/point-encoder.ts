import { Fault } from '../../../../src/model/fault.ts';
import type { DropReason, TimeReason } from '../../../../src/model/reasons.ts';
import type { Layout } from '../../../../src/model/records.ts';
import { validatePointTime } from '../../../../src/model/time.ts';
import { timeDistance } from '../../../../src/model/time-distance.ts';
import { uidText } from '../../../../src/model/uid.ts';
import { pointCost, runBudget, runsMax } from '../../../../src/rules/points/cutting.ts';
import {
  type EncodedPoints,
  type Example,
  newRun,
  nothingEncoded,
  type Run,
} from '../../../../src/rules/points/encoded-points.ts';
import type { PointContext as ListContext } from '../../../../src/rules/points/point-encoder.ts';
import { escapeTag } from '../../../../src/wire/line-protocol.ts';
import { atTheLimit, isObject, type JsonObject, PointReader, shown } from './point-reader.ts';

type PointContext = Omit<ListContext, 'pointsMax' | 'elementsMax'>;

const examplesMax = 20;

/** Turns a run's rows into bytes, in a buffer that holds nothing else. */
const sealRun = (run: Run): void => {
  run.bytes = new TextEncoder().encode(run.text);
  run.text = '';
};

/** The expectation and the value of `expected a number, got "x"`. */
const valueApart = (text: string): { detail: string; got: string } => {
  const [, detail = text, got = ''] = /^(.*?)(?:, |^)got (.*)$/s.exec(text) ?? [];
  return { detail, got };
};

const count = <K>(map: Map<K, number>, key: K, by = 1): void => {
  map.set(key, (map.get(key) ?? 0) + by);
};

/** Ordinals a point takes: one; in a narrow table one a metric. It depends on the point as sent alone (architecture 5.1). */
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

/** A time that failed, for the validation in transfer: a text that is not a number always fails, so a short piece is enough. */
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

/** Applies the rules of architecture 4.3 to points as objects: another opinion than the reader of their bytes. */
class PointEncoder {
  private readonly context: PointContext;
  private readonly isNarrow: boolean;
  private readonly tablePrefix: string;
  private readonly result: EncodedPoints;
  private readonly reader: PointReader;
  private run: Run;
  private spent = 0;
  /** The rows of the run. */
  private times: { readonly time: number; readonly ordinal: number }[] = [];
  private index = 0;
  private ordinal = 0;

  constructor(context: PointContext) {
    this.context = context;
    this.isNarrow = context.source.layout === 'narrow';
    this.tablePrefix = escapeTag(context.source.tableId);
    this.run = newRun(0);
    this.result = nothingEncoded(this.run);
    this.reader = new PointReader(context.source, context.caps, this.result);
  }

  /** Takes the next points. False: the request takes more messages than one may, and what was encoded is void (`isTooMuch`). */
  add(points: readonly unknown[]): boolean {
    for (const point of points) {
      const taken = ordinalsOf(point, this.isNarrow);
      const cost = pointCost(point, this.isNarrow);
      if (this.spent + cost > runBudget && this.spent > 0 && !this.beginRun()) return false;
      this.spent += cost;
      this.run.last = this.ordinal + taken - 1;
      this.encodePoint(point, this.index++, this.ordinal, cost > runBudget);
      this.ordinal += taken;
    }
    return true;
  }

  /** What came of all of them. */
  finish(): EncodedPoints {
    this.endRun();
    this.result.ordinals = this.ordinal;
    return this.result;
  }

  private endRun(): void {
    const { run, times } = this;
    const days = Map.groupBy(times, ({ time }) => Math.floor(time / 86_400_000));
    if (days.size <= 512)
      run.days = [...days]
        .map(([day, rows]) => ({
          ...{ day, rows: rows.length },
          ordinals: rows.reduce((sum, { ordinal }) => sum + ordinal, 0),
        }))
        .toSorted((a, b) => a.day - b.day);
    this.times = [];
    if (this.context.asBytes === true) sealRun(this.run);
  }

  private beginRun(): boolean {
    if (this.result.runs.length === runsMax) {
      this.result.isTooMuch = true;
      return false;
    }
    this.endRun();
    this.run = newRun(this.ordinal);
    this.result.runs.push(this.run);
    this.spent = 0;
    return true;
  }

  private encodePoint(point: unknown, index: number, ordinal: number, isTooLarge: boolean): void {
    if (!isObject(point)) return this.drop('point_not_object', index, '', `got ${shown(point)}`);
    // Before anything is made of it: what it holds may be as large as the body.
    if (isTooLarge)
      return this.drop(
        'item_too_large',
        index,
        '',
        `the rows of the point need more than ${runBudget} bytes`,
      );
    const { reader } = this;
    const reason = reader.read(point);
    if (reason !== undefined) return this.drop(reason, index, reader.failedField, reader.failedDetail);
    const raw = point.timestamp;
    let time: number;
    if (raw === undefined || raw === null) {
      if (this.context.isKeyed) {
        return this.drop(
          'timestamp_required_with_key',
          index,
          'timestamp',
          'a request with an Idempotency-Key needs the timestamp, the same one in each retry',
        );
      }
      time = this.context.arrivedAt;
    } else {
      const timeReason = validatePointTime(raw, this.context.arrivedAt, this.context.policy);
      if (timeReason !== undefined) return this.defer(timeReason, point, index, ordinal, raw);
      time = Number(raw);
    }
    this.keep(ordinal, time, index);
  }

  private keep(ordinal: number, time: number, index: number): void {
    const { run, result, reader } = this;
    if (this.context.namesAreFinal && reader.newMetrics.length + reader.newDimensions.length > 0) {
      throw new Fault('internal', 'name_unregistered', 'an accepted point has a name without a column');
    }
    if (this.isNarrow) this.writeNarrowRows(ordinal, time);
    else {
      const fields =
        reader.moreDimensions === ''
          ? reader.fields
          : `${reader.fields},more_dimensions=${reader.moreDimensions}`;
      run.text += `${this.tablePrefix}${reader.tags} ${fields},uid=${uidText(this.context.base, ordinal)}i ${time}\n`;
      this.times.push({ time, ordinal });
      run.rows++;
    }
    run.points++;
    if (time < run.timeMin) run.timeMin = time;
    if (time > run.timeMax) run.timeMax = time;
    result.accepted++;
    if (time < (this.context.expiringBefore ?? 0)) result.pointsExpiring++;
    if (reader.overCap > 0) this.lose(ordinal, index);
    for (const name of reader.newMetrics) result.unknownMetrics.add(name);
    for (const name of reader.newDimensions) result.unknownDimensions.add(name);
  }

  private lose(ordinal: number, index: number): void {
    const { lostExamples, exampleOrdinals, valuesDropped } = this.result;
    const reason = 'metric_columns_exceeded';
    count(valuesDropped, reason, this.reader.overCap);
    for (const name of this.reader.lost) {
      const field = `metrics.${name}`;
      if (lostExamples.length === examplesMax || lostExamples.some((shown) => shown.field === field))
        continue;
      lostExamples.push({ index, reason, field, detail: atTheLimit(this.context.caps.metricsMax), got: '' });
      exampleOrdinals.set(index, ordinal);
    }
  }

  private writeNarrowRows(ordinal: number, time: number): void {
    const { run, reader } = this;
    const { metricNames, metricValues, metricOffsets } = reader;
    const more = reader.moreDimensions === '' ? '' : `,more_dimensions=${reader.moreDimensions}`;
    for (let i = 0; i < metricNames.length; i++) {
      const own = ordinal + (metricOffsets[i] ?? 0);
      this.times.push({ time, ordinal: own });
      const uid = uidText(this.context.base, own);
      run.text += `${this.tablePrefix},metric=${metricNames[i]}${reader.tags} value=${metricValues[i]}${more},uid=${uid}i ${time}\n`;
    }
    run.rows += metricNames.length;
  }

  private drop(reason: DropReason, index: number, field: string, detail: string): void {
    this.addExample({ index, reason, field, ...valueApart(detail) });
    count(this.result.dropped, reason);
    count(this.run.dropped, reason);
  }

  /** To be called before the item is counted. */
  private addExample(example: Example): void {
    const { examples, lateExamples, dropped } = this.result;
    if (examples.length < examplesMax) examples.push(example);
    else if (!dropped.has(example.reason)) lateExamples.push(example);
    else return;
    this.result.exampleOrdinals.set(example.index, this.ordinal);
  }

  private defer(reason: TimeReason, point: JsonObject, index: number, ordinal: number, raw: unknown): void {
    const { arrivedAt, policy } = this.context;
    const detail = timeDistance(reason, raw, arrivedAt, policy);
    this.addExample({ index, reason, field: 'timestamp', detail, got: shown(raw) });
    count(this.result.dropped, reason);
    count(this.result.deferred, reason);
    this.run.deferred.push(deferredText(point));
    this.run.deferredOrdinals.push(ordinal);
  }
}

/** Applies the rules to the points of one request. */
export const encodeObjects = (data: readonly unknown[], context: PointContext): EncodedPoints => {
  const encoder = new PointEncoder(context);
  encoder.add(data);
  return encoder.finish();
};
