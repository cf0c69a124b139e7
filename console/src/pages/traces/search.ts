import { nowSeconds, type Period } from '../../api/clock.ts';
import type { OrUndefined } from '../../api/or-undefined.ts';
import type { components } from '../../api/schema.d.ts';

export type TracesQuery = OrUndefined<components['schemas']['TracesQuery']>;

/** An attribute in the address: a JSON list, since a sender may have written anything into both texts. */
export type Attribute = { readonly scope: 'span' | 'resource'; readonly key: string; readonly value: string };

export const attributeText = ({ scope, key, value }: Attribute): string =>
  JSON.stringify([scope, key, value]);

const lengthMax = 1024;

/** Whether the API takes it as a condition, and its value is whole: a trace with long values answers how long they are. */
export const isFindable = ({ key, value }: Omit<Attribute, 'scope'>): boolean =>
  key !== '' && Math.max(key.length, value.length) <= lengthMax && !/… \(\d+ bytes\)$/.test(value);

/** Undefined for anything that `attributeText` does not write. */
export const parseAttribute = (text: string): Attribute | undefined => {
  try {
    const parts: unknown = JSON.parse(text);
    if (!Array.isArray(parts) || parts.length !== 3) return undefined;
    const [scope, key, value]: unknown[] = parts;
    if (scope !== 'span' && scope !== 'resource') return undefined;
    return typeof key === 'string' && typeof value === 'string' ? { scope, key, value } : undefined;
  } catch {
    return undefined;
  }
};

const units = new Map(Object.entries({ ns: 1e-6, us: 1e-3, µs: 1e-3, ms: 1, s: 1000, min: 60_000 }));

/** Milliseconds of `250`, `250ms` or `1.5 s`; undefined for anything else. */
export const parseDuration = (text: string): number | undefined => {
  const [, figure, unit = 'ms'] = /^\s*(\d{1,12}(?:\.\d{1,6})?)\s*([a-zµ]+)?\s*$/.exec(text) ?? [];
  const size = units.get(unit);
  return figure === undefined || size === undefined ? undefined : Number(figure) * size;
};

export const statuses = ['error', 'ok', 'unset'] as const;

const weekSeconds = 604_800;

/** `wide` of a range that the reader chose: beyond a week the API wants it said. */
export const isWide = ({ since, until }: Period): boolean => (until ?? nowSeconds()) - since > weekSeconds;

/** The search of an address; a text says what is wrong with it. */
export const searchOf = (query: URLSearchParams, range: Period): TracesQuery | string => {
  const text = (name: string): string | undefined => query.get(name) || undefined;
  const [least, most] = [text('min'), text('max')];
  const [leastMs, mostMs] = [parseDuration(least ?? ''), parseDuration(most ?? '')];
  if ((least !== undefined && leastMs === undefined) || (most !== undefined && mostMs === undefined))
    return 'A duration is a number with a unit, such as 250 ms or 1.5 s.';
  const app = text('app');
  if (app !== undefined && !/^[1-9]\d{0,14}$/.test(app)) return 'An application is its number, such as 7.';
  const attributes = query.getAll('attr').map(parseAttribute);
  if (attributes.includes(undefined)) return 'An attribute of the address cannot be read: remove it below.';
  return {
    ...(app === undefined ? {} : { app_id: Number(app) }),
    // Spans without service.name have the empty one, and a span may have an empty name.
    service: query.get('service') ?? undefined,
    span_name: query.get('name') ?? undefined,
    status: statuses.find((each) => each === text('status')),
    min_duration_ms: leastMs,
    max_duration_ms: mostMs,
    attributes: attributes.filter((each) => each !== undefined),
    since: range.since,
    until: range.until,
    wide: isWide(range),
    limit: 50,
    cursor: text('cursor'),
  };
};

/** The id of a text that may have spaces, hyphens or capitals in it; undefined where it is none. */
export const traceIdOf = (text: string): string | undefined => {
  const id = text.replaceAll(/[\s-]/g, '').toLowerCase();
  return /^[0-9a-f]{32}$/.test(id) ? id : undefined;
};
