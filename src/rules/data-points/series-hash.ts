import { randomInt } from 'node:crypto';
import type { ByteSource } from '../../wire/native/bytes.ts';
import type { ReadState } from '../../wire/otlp/read-state.ts';
import type { ResourceRow } from '../../wire/otlp/resource-row.ts';
import type { AttributeSlots } from '../../wire/otlp/slots.ts';
import type { SeriesSeed } from '../../wire/otlp/types.ts';
import type { SeriesHash } from '../items/item-rules.ts';

const anyWord = (): number => randomInt(2 ** 32) | 0;

/**
 * The seed of this process, or of a thread that is given none. The factors are odd, so that no word is lost, and secret as the rest:
 * with known ones a sender could find texts whose hashes are equal under every seed, and a series that is not counted for each.
 */
export const ownSeriesSeed: SeriesSeed = {
  ...{ low: anyWord(), high: anyWord() },
  ...{ lowFactor: anyWord() | 1, highFactor: anyWord() | 1 },
};

const rotated = (value: number, bits: number): number => (value << bits) | (value >>> (32 - bits));

const mixed = (value: number): number => {
  const one = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  const two = Math.imul(one ^ (one >>> 13), 0xc2b2ae35);
  return two ^ (two >>> 16);
};

/**
 * The hash of the series of data points: of the attributes of the resource as rows have them, name, version and attributes of the scope,
 * name of the metric and attributes of the point. Attributes count in any order. What points share is computed once.
 */
export class DataPointSeries implements SeriesHash {
  low = 0;
  high = 0;
  private readonly row: ResourceRow;
  private readonly seedLow: number;
  private readonly seedHigh: number;
  private readonly lowFactor: number;
  private readonly highFactor: number;
  private resourceNumber = 0;
  private scopeNumber = 0;
  private metricNumber = 0;
  private resourceLow = 0;
  private resourceHigh = 0;
  private scopeLow = 0;
  private scopeHigh = 0;
  private metricLow = 0;
  private metricHigh = 0;

  constructor(row: ResourceRow, seed: SeriesSeed = ownSeriesSeed) {
    this.row = row;
    this.seedLow = seed.low;
    this.seedHigh = seed.high;
    this.lowFactor = seed.lowFactor;
    this.highFactor = seed.highFactor;
  }

  set(state: ReadState): void {
    const { owner, point } = state;
    if (owner.resourceNumber !== this.resourceNumber) this.takeResource(state);
    if (owner.scopeNumber !== this.scopeNumber) this.takeScope(state);
    if (point.metric.number !== this.metricNumber) this.takeMetric(state);
    this.low = this.metricLow;
    this.high = this.metricHigh;
    this.addAttributes(state, point.attributes);
    this.low = mixed(this.low) >>> 0;
    this.high = mixed(this.high ^ this.low) >>> 0;
  }

  private takeResource(state: ReadState): void {
    this.resourceNumber = state.owner.resourceNumber;
    this.low = this.seedLow;
    this.high = this.seedHigh;
    this.addAttributes(state, this.row.attributes);
    this.resourceLow = mixed(this.low);
    this.resourceHigh = mixed(this.high);
    this.scopeNumber = 0;
  }

  private takeScope(state: ReadState): void {
    const { owner } = state;
    this.scopeNumber = owner.scopeNumber;
    this.low = this.resourceLow;
    this.high = this.resourceHigh;
    this.addText(state, owner.scopeNameStart, owner.scopeNameEnd);
    this.addText(state, owner.scopeVersionStart, owner.scopeVersionEnd);
    this.addAttributes(state, owner.scopeAttributes);
    this.scopeLow = this.low;
    this.scopeHigh = this.high;
    this.metricNumber = 0;
  }

  private takeMetric(state: ReadState): void {
    const { metric } = state.point;
    this.metricNumber = metric.number;
    this.low = this.scopeLow;
    this.high = this.scopeHigh;
    this.addText(state, metric.nameStart, metric.nameEnd);
    this.metricLow = this.low;
    this.metricHigh = this.high;
  }

  /** Adds the hash of each, so that their order does not count. */
  private addAttributes(state: ReadState, list: AttributeSlots): void {
    const { low, high } = this;
    let sumLow = 0;
    let sumHigh = 0;
    for (let index = 0; index < list.count; index++) {
      this.low = this.seedHigh;
      this.high = this.seedLow;
      this.addText(state, list.keyStarts[index] ?? 0, list.keyEnds[index] ?? 0);
      this.addText(state, list.valueStarts[index] ?? 0, list.valueEnds[index] ?? 0);
      sumLow = (sumLow + mixed(this.low)) | 0;
      sumHigh = (sumHigh + mixed(this.high)) | 0;
    }
    this.low = low ^ sumLow;
    this.high = high ^ sumHigh;
  }

  /** Continues the hash with the text at a place (see Scratch) and its length. */
  private addText(state: ReadState, start: number, end: number): void {
    if (start < 0) this.addBytes(state.scratch.source, ~start, ~end);
    else this.addBytes(state.body, start, end);
  }

  private addBytes({ bytes, view }: ByteSource, start: number, end: number): void {
    const { lowFactor, highFactor } = this;
    let { low, high } = this;
    let at = start;
    for (; at + 4 <= end; at += 4) {
      const word = view.getInt32(at, true);
      low = Math.imul(rotated(low ^ Math.imul(word, lowFactor), 15), 0x1b873593);
      high = Math.imul(rotated(high ^ Math.imul(word, highFactor), 13), 0x85ebca77);
    }
    let rest = end - start;
    for (let shift = 24; at < end; at++, shift -= 8) rest ^= (bytes[at] ?? 0) << shift;
    low = Math.imul(rotated(low ^ Math.imul(rest, lowFactor), 15), 0x1b873593) + 0x52dce729;
    high = Math.imul(rotated(high ^ Math.imul(rest, highFactor), 13), 0x85ebca77) + 0x38495ab5;
    this.low = low | 0;
    this.high = high | 0;
  }
}
