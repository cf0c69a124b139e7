import { waitFor } from './wait.ts';

/** `waitFor` with a limit that no test reaches unless what it waits for never comes. */
export const until = <T>(
  what: string,
  condition: () => Promise<T | undefined | false> | T | undefined | false,
  timeoutMs = 90_000,
): Promise<T> => waitFor(what, timeoutMs, condition);
