import type { RequestReason } from '../../model/reasons.ts';
import type { TimePolicy } from '../../model/time.ts';
import type { UidBase } from '../../model/uid.ts';
import { runsMax } from '../../rules/points/cutting.ts';
import type { EncodedPoints } from '../../rules/points/encoded-points.ts';
import { encodePlainPoints } from '../../rules/points/plain-points.ts';
import { PointEncoder } from '../../rules/points/point-encoder.ts';
import type { PointTable } from '../../rules/points/point-table.ts';
import { NotJson, parsePiece, pointAt } from '../../rules/points/push-body.ts';
import type { PushScan } from '../../rules/points/push-scan.ts';
import type { ColumnCaps } from '../../wire/column-naming.ts';
import { type BodyRefusal, checkBody, type PushPair, placeIn, scanBody } from './decode.ts';

/** What encoding the points of a body depends on, beside the body. */
export type PushTask = {
  readonly pair: PushPair;
  readonly table: PointTable;
  readonly caps: ColumnCaps;
  readonly policy: TimePolicy;
  readonly arrivedAt: number;
  readonly base: UidBase;
  readonly isKeyed: boolean;
  /** Where the points begin, in a body that is plain up to there. */
  readonly plainAt: number | undefined;
  /** Unknown names were registered. */
  readonly namesAreFinal: boolean;
  readonly pointsMax: number;
  readonly elementsMax: number;
  /** Rows are wanted as bytes, which pass between threads without a copy. */
  readonly asBytes?: boolean;
};

/** A request that is refused whole; `points` as far as they were counted. */
export type RefusedPush = BodyRefusal & { readonly points: number };

/** What came of a body, and its points by number, for showing a few of them. */
export type EncodedPush = {
  readonly kind: 'encoded';
  readonly encoded: EncodedPoints;
  readonly points: number;
  readonly pointAt: (index: number) => unknown;
};

const tooMany = `the points need more than ${runsMax} messages (a split table repeats target and dimensions per metric)`;

const listProblem = ({ data }: PushScan, points: number, pointsMax: number): RefusedPush | undefined => {
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

/** The short way of a body as reporters write it; undefined for every other, and for one that is not to be kept whole. */
const encodePlain = (bytes: Buffer, { plainAt, ...task }: PushTask): EncodedPush | undefined => {
  if (plainAt === undefined || task.isKeyed || task.table.layout !== 'wide') return undefined;
  const encoded = encodePlainPoints(bytes, plainAt, { ...task, source: task.table });
  if (encoded === undefined) return undefined;
  return { kind: 'encoded', encoded, points: encoded.accepted, pointAt: () => undefined };
};

/**
 * Judges and encodes the points of a body whose credential was found valid. A piece of them is built at a time. Never throws for
 * anything a sender can send.
 */
export const encodePush = (bytes: Buffer, task: PushTask): EncodedPush | RefusedPush => {
  const plain = encodePlain(bytes, task);
  if (plain !== undefined) return plain;
  const scan = scanBody(bytes, task.elementsMax);
  const points = scan.pointsIn(bytes);
  const broken = checkBody(bytes, scan, task.pair);
  if (broken !== undefined) return { ...broken, points };
  const problem = listProblem(scan, points, task.pointsMax);
  if (problem !== undefined) return problem;
  const encoder = new PointEncoder({ ...task, source: task.table, points, bodyLength: bytes.length });
  try {
    for (const piece of scan.pieces) {
      const isTaken = piece.isTooLarge ? encoder.addTooLarge() : encoder.add(parsePiece(bytes, piece));
      if (!isTaken) return { kind: 'refused', reason: 'too_many_points', detail: tooMany, points };
    }
  } catch (error) {
    if (!(error instanceof NotJson)) throw error;
    return { kind: 'refused', reason: 'body_not_json', detail: placeIn(bytes), points: 0 };
  }
  const encoded = encoder.finish();
  return { kind: 'encoded', encoded, points, pointAt: (index) => pointAt(bytes, scan.pieces, index) };
};
