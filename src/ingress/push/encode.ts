import type { RequestReason } from '../../model/reasons.ts';
import { sumOf } from '../../model/sums.ts';
import type { TimePolicy } from '../../model/time.ts';
import type { UidBase } from '../../model/uid.ts';
import { runsMax } from '../../rules/points/cutting.ts';
import type { EncodedPoints } from '../../rules/points/encoded-points.ts';
import { encodeList, type ListedPoints, type PointContext } from '../../rules/points/point-encoder.ts';
import type { PointTable } from '../../rules/points/point-table.ts';
import { parseAt } from '../../rules/points/push-body.ts';
import { braceClose, braceOpen, bracketOpen, colon, PushCursor } from '../../rules/points/push-cursor.ts';
import { elementsAroundMax, type PushScan } from '../../rules/points/push-scan.ts';
import { NotJson, skipValue } from '../../rules/points/push-value.ts';
import type { ColumnCaps } from '../../wire/column-naming.ts';
import { type BodyRefusal, checkBody, type PushPair, placeIn, scanBody } from './decode.ts';

/** The inputs of encoding beside the body. */
export type PushTask = {
  readonly pair: PushPair;
  readonly table: PointTable;
  readonly caps: ColumnCaps;
  readonly policy: TimePolicy;
  /** As of `PointContext`. */
  readonly expiringBefore?: number | undefined;
  readonly arrivedAt: number;
  readonly base: UidBase;
  readonly isKeyed: boolean;
  /** Unknown names were registered. */
  readonly namesAreFinal: boolean;
  readonly pointsMax: number;
  readonly elementsMax: number;
  /** Return rows as bytes, which pass between threads without a copy. */
  readonly asBytes?: boolean | undefined;
};

/** A request that is refused whole; `points` as far as they were counted. */
export type RefusedPush = BodyRefusal & { readonly points: number };

/** The result for a body, with its points by number, for a few samples of them. */
export type EncodedPush = {
  readonly kind: 'encoded';
  readonly encoded: EncodedPoints;
  readonly points: number;
  readonly pointAt: (index: number) => unknown;
};

const [dataId, accessToken, data] = [
  Buffer.from('data_id'),
  Buffer.from('access_token'),
  Buffer.from('data'),
];
const byteOrderMark = Buffer.from('\uFEFF');

const tooMany = `the points need more than ${runsMax} messages (a split table repeats target and dimensions per metric)`;

/** Why a body is refused for its list, as far as the number of its points decides. */
export const listProblem = (
  { data }: PushScan,
  points: number,
  pointsMax: number,
): RefusedPush | undefined => {
  const refused = (reason: RequestReason, detail = ''): RefusedPush => ({
    kind: 'refused',
    reason,
    detail,
    points,
  });
  if (data === 'absent') return refused('data_missing');
  if (data === 'other') return refused('data_not_array');
  if (points === 0) return refused('data_empty');
  if (points > pointsMax)
    return refused('too_many_points', `data has ${points} points, the limit is ${pointsMax}`);
  return undefined;
};

const cursor = new PushCursor();

/** Reads the members of the body at the cursor; undefined for a refused body, and for a body with a repeated name. */
const readMembers = (pair: PushPair, context: PointContext): ListedPoints | undefined => {
  let hasId = false;
  let hasToken = false;
  let listed: ListedPoints | undefined;
  let around = 0;
  // After blanks the mark would not be a byte order mark.
  if (cursor.bytes[0] === byteOrderMark[0]) cursor.word(byteOrderMark);
  if (!cursor.enter(braceOpen)) return undefined;
  do {
    if (cursor.text() < 0) return undefined;
    if (cursor.isLast(dataId)) {
      if (hasId || !cursor.take(colon)) return undefined;
      const written = cursor.count();
      if (written < 0 && cursor.number() === 'none') return undefined;
      hasId = (written < 0 ? Number(cursor.shown()) : written) === pair.dataId;
      if (!hasId) return undefined;
    } else if (cursor.isLast(accessToken)) {
      if (hasToken || !cursor.take(colon) || cursor.text() < 0) return undefined;
      hasToken = cursor.exactText() === pair.token;
      if (!hasToken) return undefined;
    } else if (cursor.isLast(data)) {
      if (listed !== undefined || !cursor.take(colon) || !cursor.enter(bracketOpen)) return undefined;
      around += cursor.elements;
      cursor.elements = 0;
      listed = encodeList(cursor, context);
      if (listed === undefined || listed.encoded.isTooMuch) return listed;
      if (cursor.elements + around > context.elementsMax) return undefined;
      cursor.elements = 0;
    } else if (!cursor.take(colon) || !skipValue(cursor)) return undefined;
    if (around + cursor.elements > elementsAroundMax) return undefined;
  } while (cursor.more());
  const isWhole = cursor.take(braceClose) && cursor.peek() === 0 && cursor.at === cursor.bytes.length;
  return isWhole && hasId && hasToken ? listed : undefined;
};

/** Runs a reader over the bytes from `at` on. */
const readAt = <T>(bytes: Buffer, at: number, read: () => T): T => {
  cursor.open(bytes, at);
  try {
    return read();
  } finally {
    cursor.close();
  }
};

/** The first point of a body that has one. Throws NotJson for an invalid list. */
export const firstPoint = (bytes: Buffer, { dataStart }: PushScan): unknown => {
  if (!readAt(bytes, dataStart - 1, () => skipValue(cursor))) throw new NotJson();
  return parseAt(bytes, dataStart);
};

/**
 * Validates and encodes the points of a body with a valid credential, in one pass through its bytes. A body that this pass does not
 * accept is scanned again for its refusal. Never throws for any bytes of a sender.
 */
export const encodePush = (bytes: Buffer, task: PushTask): EncodedPush | RefusedPush => {
  const { pair, table: source, pointsMax, elementsMax } = task;
  const context: PointContext = { ...task, source };
  const encodedOf = ({ encoded, places }: ListedPoints): EncodedPush => ({
    kind: 'encoded',
    encoded,
    points: encoded.accepted + sumOf(encoded.dropped.values()),
    pointAt: (index) => {
      const start = places.get(index);
      return start === undefined ? undefined : parseAt(bytes, start);
    },
  });
  let listed = readAt(bytes, 0, () => readMembers(pair, context));
  if (listed !== undefined && !listed.encoded.isTooMuch) return encodedOf(listed);
  const scan = scanBody(bytes, elementsMax);
  const points = scan.pointsIn(bytes);
  const broken = checkBody(bytes, scan, pair);
  if (broken !== undefined) return { ...broken, points };
  const problem = listProblem(scan, points, pointsMax);
  if (problem !== undefined) return problem;
  listed ??= readAt(bytes, scan.dataStart, () => encodeList(cursor, context));
  if (listed === undefined)
    return { kind: 'refused', reason: 'body_not_json', detail: placeIn(bytes), points: 0 };
  if (listed.encoded.isTooMuch)
    return { kind: 'refused', reason: 'too_many_points', detail: tooMany, points };
  return encodedOf(listed);
};
