import { type LargeBodies, type LargeBody, largeBytes } from '../large-bodies/large-bodies.ts';
import { type EncodedPush, encodePush, type PushTask, type RefusedPush } from './encode.ts';

/**
 * Encodes a small body at once and a large one in a separate thread. Rejects with a transient Fault, at `deadlineAt` (ms of
 * `performance.now()`) at the latest.
 */
export type EncodePush = (
  body: LargeBody,
  task: PushTask,
  deadlineAt: number,
) => Promise<EncodedPush | RefusedPush>;

/** In a narrow table each metric's row repeats target and dimensions: the rows are many times as long as the body. */
const largeSplitBytes = 128 * 1024;

const isLarge = ({ bytes }: LargeBody, { table }: PushTask): boolean =>
  bytes.length > (table.layout === 'wide' ? largeBytes : largeSplitBytes);

export const createEncodePush =
  (large: Pick<LargeBodies, 'encodePush'>): EncodePush =>
  async (body, task, deadlineAt) =>
    isLarge(body, task) ? large.encodePush(body, task, deadlineAt) : encodePush(body.bytes, task);
