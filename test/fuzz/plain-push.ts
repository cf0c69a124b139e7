import { validatePointTime } from '../../src/model/time.ts';
import { ageMsMax } from '../support/push/point-cases.ts';
import { depthOf, depthSafe } from './json-text.ts';

// A second opinion on push bodies: specification 2.5 and architecture 4.3 as plainly as they can be written.

type PlainJson =
  | { readonly kind: 'json'; readonly value: unknown }
  | { readonly kind: 'not json' | 'too deep' };

/** A string, which is left alone, or a bare word that Python's json writes. */
const stringOrWord = /"(?:[^"\\]|\\.)*"|-?Infinity|NaN/gs;

const marks = new Map([
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
]);

const unmarked = (value: unknown): unknown => {
  if (Array.isArray(value)) {
    const [mark, word] = value;
    if (value.length === 3 && mark === 'a word of Python' && typeof word === 'string') return marks.get(word);
    return value.map(unmarked);
  }
  if (typeof value !== 'object' || value === null) return value;
  const result = {};
  for (const [name, member] of Object.entries(value)) {
    // Assigning to __proto__ would set the prototype.
    const settings = { value: unmarked(member), enumerable: true, configurable: true, writable: true };
    Object.defineProperty(result, name, settings);
  }
  return result;
};

/** JSON with bare NaN and infinities. */
export const plainJson = (text: string): PlainJson => {
  if (depthOf(text) > depthSafe) return { kind: 'too deep' };
  try {
    return { kind: 'json', value: JSON.parse(text) };
  } catch {
    const marked = text
      .replace(/^\uFEFF/, '')
      .replace(stringOrWord, (found) =>
        found.startsWith('"') ? found : ` ["a word of Python","${found}",0] `,
      );
    try {
      const value: unknown = JSON.parse(marked);
      return { kind: 'json', value: unmarked(value) };
    } catch {
      return { kind: 'not json' };
    }
  }
};

type PlainVerdict =
  | { readonly kind: 'drop'; readonly reason: string }
  | {
      readonly kind: 'keep';
      readonly values: readonly number[];
      readonly target: string;
      readonly dimensions: readonly string[];
      readonly time: number;
    };

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isName = (name: string): boolean => /^[a-zA-Z_][a-zA-Z0-9_]{0,99}$/.test(name) && !name.endsWith('\n');

const metricsFault = (metrics: unknown): string | undefined => {
  if (!isObject(metrics)) return 'metrics_missing';
  for (const [name, value] of Object.entries(metrics)) {
    if (!isName(name)) return 'metric_name_invalid';
    if (typeof value !== 'number') return 'metric_value_invalid';
    if (!Number.isFinite(value)) return 'metric_not_finite';
  }
  return Object.keys(metrics).length === 0 ? 'metrics_empty' : undefined;
};

const isScalar = (value: unknown): value is string | number | boolean =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';

const dimensionsFault = (dimensions: unknown): string | undefined => {
  if (dimensions === undefined || dimensions === null) return undefined;
  if (!isObject(dimensions)) return 'dimension_invalid';
  for (const [name, value] of Object.entries(dimensions)) {
    if (!isName(name)) return 'dimension_name_invalid';
    if (value === null) continue;
    if (!isScalar(value) || String(value).includes('\0')) return 'dimension_invalid';
  }
  return undefined;
};

const targetFault = (target: unknown): string | undefined => {
  if (target === undefined || target === null || typeof target === 'number') return undefined;
  return typeof target !== 'string' || target.includes('\0') ? 'target_invalid' : undefined;
};

/** Texts travel as UTF-8, which has no half characters. An object does not know how its numbers were written. */
export const asSent = (value: unknown): string => {
  const text = String(value).toWellFormed();
  return /^-?\d{16,20}$/.test(text) ? String(Number(text)) : text;
};

/** What is to become of a point. */
export const plainVerdict = (point: unknown, arrivedAt: number, isKeyed: boolean): PlainVerdict => {
  const drop = (reason: string): PlainVerdict => ({ kind: 'drop', reason });
  if (!isObject(point)) return drop('point_not_object');
  const dimensions = point['dimension'] ?? point['dimensions'];
  const { metrics, target, timestamp } = point;
  const fault = metricsFault(metrics) ?? dimensionsFault(dimensions) ?? targetFault(target);
  if (fault !== undefined) return drop(fault);
  if ((timestamp ?? undefined) === undefined && isKeyed) return drop('timestamp_required_with_key');
  const time = timestamp ?? arrivedAt;
  const timeFault = validatePointTime(time, arrivedAt, { aheadMsMax: 3_600_000, ageMsMax });
  if (timeFault !== undefined) return drop(timeFault);
  return {
    kind: 'keep',
    values: Object.values(Object(metrics)),
    target: asSent(target ?? ''),
    dimensions: Object.values(isObject(dimensions) ? dimensions : {})
      .filter(isScalar)
      .map(asSent),
    time: Number(time),
  };
};
