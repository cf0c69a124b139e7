const readAgainMs = 5_000;

/**
 * The clock of a server, ms since 1970, which all processes share: `read` at most every five seconds, and counted on from there by
 * `elapsed` (ms). The clock of this host has no part in it. Throws as `read` does.
 */
export const createServerClock = (
  read: () => Promise<number>,
  elapsed: () => number = () => performance.now(),
): (() => Promise<number>) => {
  let known: { readonly ms: number; readonly at: number } | undefined;
  return async () => {
    if (known === undefined || elapsed() - known.at >= readAgainMs)
      known = { ms: await read(), at: elapsed() };
    return Math.floor(known.ms + elapsed() - known.at);
  };
};
