import { startRounds } from '../runtime/rounds.ts';

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

/** A clock that goes on between its readings, and needs no answer to tell the time. */
export type RunningClock = {
  /** Ms since 1970. */
  now(): number;
  stop(): void;
};

/** A reading that took longer says too little, unless it is as good as the last one, or that is old. */
const roundTripMsMax = 250;
const oldMs = 60_000;

/**
 * The same as a clock for code that cannot wait: read every five seconds, and counted on from the last reading for as long as none
 * succeeds. A step of the clock of this host, or of another one than the server's, is not seen. Rejects as the first `read` does.
 */
export const startServerClock = async (
  read: () => Promise<number>,
  elapsed: () => number = () => performance.now(),
  everyMs = readAgainMs,
): Promise<RunningClock> => {
  const readNow = async () => {
    const before = elapsed();
    const ms = await read();
    const roundTripMs = elapsed() - before;
    return { ms, at: before + roundTripMs / 2, roundTripMs };
  };
  let known = await readNow();
  const rounds = startRounds(async () => {
    const next = await readNow().catch(() => undefined);
    const isOld = elapsed() - known.at >= oldMs;
    if (next !== undefined && (isOld || next.roundTripMs <= Math.max(roundTripMsMax, known.roundTripMs)))
      known = next;
    return everyMs;
  }, everyMs);
  return {
    now: () => Math.floor(known.ms + elapsed() - known.at),
    stop: () => void rounds.stop(),
  };
};
