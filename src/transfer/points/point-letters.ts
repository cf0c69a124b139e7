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

/**
 * The text of a row in a narrow table without the fields that differ between the rows of one point: the metric's name, its value
 * and the uid. Tags are escaped, so the beginnings of these three occur nowhere before them; the uid is the last field.
 */
const pointOf = (text: string): string => {
  const metric = text.indexOf(',metric=');
  const tags = text.indexOf(',', metric + 1);
  const value = text.indexOf(' value=', tags);
  const fields = text.indexOf(',', value);
  const uid = text.lastIndexOf(',uid=');
  const time = text.indexOf(' ', uid);
  if (metric === -1 || tags === -1 || value === -1 || uid < fields || time === -1) return text;
  return `${text.slice(0, metric)}${text.slice(tags, value)}${text.slice(fields, uid)}${text.slice(time)}`;
};

/** Refused rows of one message for the dead letters; in a narrow table the first row of a point stands for the point. */
export const refusedRows = (rows: readonly RefusedRow[]): DeadLettered[] => {
  const points = new Set<string>();
  return rows.map(({ part, row, why }) => {
    const text = Buffer.from(row).toString('utf8');
    const uid = uidOfRow(text);
    const point = part.layout === 'narrow' ? pointOf(text) : undefined;
    const items = point !== undefined && points.has(point) ? 0 : 1;
    if (point !== undefined) points.add(point);
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
