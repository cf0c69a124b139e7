// Pages ask for periods and say ages by the clock of metadata: that of a browser may be hours off.

/** A span of time in Unix seconds; `until` undefined is now. */
export type Period = { readonly since: number; readonly until: number | undefined };

/** Answers say the time in whole seconds, and travel: less than this is no difference of clocks. */
const sameMs = 5_000;

let aheadMs = 0;

/** Takes the time of an answer (its field Date). */
export const noteTime = (date: string | null): void => {
  const ms = Date.now() - Date.parse(date ?? '');
  if (Number.isFinite(ms)) aheadMs = Math.abs(ms) < sameMs ? 0 : ms;
};

/** Metadata's time in ms since 1970. */
export const now = (): number => Date.now() - aheadMs;

export const nowSeconds = (): number => Math.floor(now() / 1000);
