/** Tries of one minimisation: a small case is worth more than the smallest. */
const triesMax = 1000;

/** Pieces of the bytes that are left out in turn, ever smaller ones, as long as the rest still fails (delta debugging). */
export const minimised = async (
  bytes: Buffer,
  fails: (part: Buffer) => Promise<boolean>,
): Promise<Buffer> => {
  let best = bytes;
  let tries = 0;
  for (let size = Math.ceil(best.length / 2); size > 0 && tries < triesMax; ) {
    let isSmaller = false;
    for (let at = 0; at < best.length && tries < triesMax; tries++) {
      const rest = Buffer.concat([best.subarray(0, at), best.subarray(at + size)]);
      if (await fails(rest)) {
        best = rest;
        isSmaller = true;
      } else at += size;
    }
    if (!isSmaller) {
      if (size === 1) break;
      size = Math.ceil(size / 2);
    }
  }
  return best;
};
