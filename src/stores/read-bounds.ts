import { Fault } from '../model/fault.ts';

/** The bounds of one query of a reader. */
export type ReadBounds = {
  /** After this time the query is ended. */
  readonly timeoutMs: number;
  /** Ends the query: its reader has gone. */
  readonly signal: AbortSignal;
};

/** Transient Fault `query_timeout`. */
export const queryTimeout = (timeoutMs: number): Fault =>
  new Fault('transient', 'query_timeout', `the query did not end within ${Math.ceil(timeoutMs)} ms`);

/** Transient Fault `query_cancelled`. */
export const queryCancelled = (): Fault =>
  new Fault('transient', 'query_cancelled', 'the caller went away before the answer');

/** Permanent Fault `query_too_large`. */
export const queryTooLarge = (why: string): Fault =>
  new Fault('permanent', 'query_too_large', `the query exceeds a limit: ${why}`);
