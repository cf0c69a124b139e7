import { type LargeBodies, type LargeBody, largeBytes } from '../large-bodies/large-bodies.ts';
import { type EncodedPush, encodePush, type PushTask, type RefusedPush } from './encode.ts';

/** In a split table each metric's row repeats target and dimensions: a body comes to many times its size. */
const largeSplitBytes = 128 * 1024;

const isLarge = ({ bytes }: LargeBody, { table }: PushTask): boolean =>
  bytes.length > (table.layout === 'wide' ? largeBytes : largeSplitBytes);

/** Encodes a small body at once and a large one in a thread of its own. Rejects with a transient Fault. */
export const createEncodePush =
  (large: Pick<LargeBodies, 'encodePush'>) =>
  async (body: LargeBody, task: PushTask): Promise<EncodedPush | RefusedPush> =>
    isLarge(body, task) ? large.encodePush(body, task) : encodePush(body.bytes, task);
