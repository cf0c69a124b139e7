import { bytesIdentity } from '../../dead-letters/dead-letters.ts';
import { findRow, uidOfRow } from '../../wire/line-protocol.ts';
import type { Part } from '../../wire/metrics-envelope.ts';
import type { PassedItem } from '../deferred-items.ts';
import type { DeadLettered } from '../sink.ts';
import type { RefusedRow } from './write-batch.ts';

const timePattern = / (\d+)\n?$/;
/** Longer than a time and the line feed. */
const timeLengthMax = 32;

/** The part for the row alone: its uid is its base, because a part of several requests names only the base of the first one. */
const partOfRow = (part: Part, row: Uint8Array, text: string, uid: string, points: number): Part => {
  const time = Number(timePattern.exec(text.slice(-timeLengthMax))?.[1] ?? part.timeMin);
  return {
    ...part,
    rows: 1,
    points,
    base: uid,
    first: 0,
    last: 0,
    timeMin: time,
    timeMax: time,
    days: [],
    bytes: row.length,
  };
};

type NarrowRow = { readonly metric: string; readonly rest: string };

/**
 * A row in a narrow table: its metric, and its text without the fields that differ between the rows of one point, which are the
 * metric's name, its value and the uid. Tags are escaped, so the beginnings of these three occur nowhere before them; the uid is the
 * last field.
 */
const narrowRow = (text: string): NarrowRow => {
  const metric = text.indexOf(',metric=');
  const tags = text.indexOf(',', metric + 1);
  const value = text.indexOf(' value=', tags);
  const fields = text.indexOf(',', value);
  const uid = text.lastIndexOf(',uid=');
  const time = text.indexOf(' ', uid);
  if (metric === -1 || tags === -1 || value === -1 || uid < fields || time === -1)
    return { metric: '', rest: text };
  return {
    metric: text.slice(metric, tags),
    rest: `${text.slice(0, metric)}${text.slice(tags, value)}${text.slice(fields, uid)}${text.slice(time)}`,
  };
};

/**
 * Runs of rows that may be one point, as the number of the run of each uid: they follow one another, and are equal but for their
 * metrics, of which none repeats.
 */
const runsOf = (bytes: Uint8Array): Map<string, number> => {
  const runs = new Map<string, number>();
  let run = 0;
  let rest: string | undefined;
  const metrics = new Set<string>();
  for (let from = 0; from < bytes.length; ) {
    const end = from + (findRow(bytes.subarray(from), 1)?.end ?? bytes.length);
    const text = Buffer.from(bytes.subarray(from, end)).toString('utf8');
    from = end;
    const row = narrowRow(text);
    if (row.rest !== rest || metrics.has(row.metric)) {
      run++;
      metrics.clear();
    }
    rest = row.rest;
    metrics.add(row.metric);
    const uid = uidOfRow(text);
    if (uid !== undefined) runs.set(uid, run);
  }
  return runs;
};

const runCount = (runs: ReadonlyMap<string, number>): number => [...runs.values()].at(-1) ?? 0;

/**
 * Counts the items of refused rows of one part of a message: the first row of a point stands for the point. Points with the same
 * target, dimensions and time follow one another in a run, too. The part knows how many points it has: those that runs do not show
 * are counted, so that no refused point passes for stored, and never more than all.
 */
const itemsCounter = (part: Part, bytes: Uint8Array): ((uid: string | undefined) => number) => {
  const isSplit = part.layout === 'narrow' && part.points < part.rows;
  const runs = isSplit ? runsOf(bytes) : new Map<string, number>();
  const seen = new Set<number>();
  let left = part.points;
  let hidden = Math.max(0, part.points - runCount(runs));
  return (uid) => {
    const run = uid === undefined ? undefined : runs.get(uid);
    const isKnown = run !== undefined && seen.has(run);
    if (run !== undefined) seen.add(run);
    if (left === 0 || (isKnown && hidden === 0)) return 0;
    if (isKnown) hidden--;
    left--;
    return 1;
  };
};

/** Refused rows of one message for the dead letters. */
export const refusedRows = (rows: readonly RefusedRow[]): DeadLettered[] => {
  const counters = new Map<Part, (uid: string | undefined) => number>();
  return rows.map(({ message, part, row, why }) => {
    const text = Buffer.from(row).toString('utf8');
    const uid = uidOfRow(text);
    const { envelope } = message;
    const bytes = envelope.partBytes[envelope.header.parts.indexOf(part)] ?? row;
    const itemsOf = counters.get(part) ?? itemsCounter(part, bytes);
    counters.set(part, itemsOf);
    const items = itemsOf(uid);
    return {
      reason: 'row_refused',
      why,
      bytes: row,
      identity: uid ?? bytesIdentity(row),
      items,
      place: { dataId: part.dataId, table: part.table, ...(uid === undefined ? {} : { uid }) },
      ...(uid === undefined ? {} : { uid: BigInt(uid), part: partOfRow(part, row, text, uid, items) }),
    };
  });
};

/**
 * Rows of a part whose table is unavailable, for the dead letters. Their name is their first row: the part's first place may be
 * that of a deferred item in the same message, which has a dead letter of its own.
 */
export const unavailablePart = (part: Part, bytes: Uint8Array, why: string): DeadLettered => {
  const row = Buffer.from(bytes.subarray(0, findRow(bytes, 1)?.end)).toString('utf8');
  const uid = uidOfRow(row) ?? String(BigInt(part.base) + BigInt(part.first));
  return {
    reason: 'table_unavailable',
    why,
    bytes,
    identity: `${uid}:${part.dataId}`,
    items: part.points,
    place: { dataId: part.dataId, table: part.table, uid },
    uid: BigInt(uid),
    part: { ...part, bytes: bytes.length },
  };
};

/** A point whose time is valid after all. */
export const passedPoint = ({ owner, base, ordinal, arrivedAt, text }: PassedItem): DeadLettered => ({
  reason: 'deferred_item_valid',
  why: 'the receiver deferred a point whose time this program finds valid',
  bytes: Buffer.from(text),
  identity: `${base}:${ordinal}`,
  items: 1,
  place: { dataId: owner, uid: `${base}+${ordinal}` },
  uid: BigInt(base) + BigInt(ordinal),
  arrivedAt,
});
