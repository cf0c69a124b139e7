// How fast the machine is now: others that run on it take caches and clock from what is measured, and a promise in milliseconds speaks of
// a machine that is left alone.

const bytes = Buffer.alloc(256 * 1024, 'what a reader does: it looks at bytes, and counts "some" of them');
const isCounted = new Uint8Array(256);
for (const mark of '",: ') isCounted[mark.charCodeAt(0)] = 1;

let counted = 0;
let fastest = Number.POSITIVE_INFINITY;

const lookMs = (): number => {
  const startedAt = performance.now();
  for (const byte of bytes) counted += isCounted[byte] ?? 0;
  return performance.now() - startedAt;
};

const looks = 5;

const lookBestMs = (): number => {
  let best = Number.POSITIVE_INFINITY;
  for (let look = 0; look < looks; look++) best = Math.min(best, lookMs());
  fastest = Math.min(fastest, best);
  return best;
};

/** How many times as long the same work takes now as it did when this process was least disturbed: 1 or more. */
export const slowness = (): number => {
  const now = lookBestMs();
  // Never true, but the compiler cannot know that.
  return counted < 0 ? 1 : now / fastest;
};
