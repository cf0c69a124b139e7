/** The pause after a look grows: short waits end at once, and long ones ask the engines ten times a second. */
const pauses = { firstMs: 20, growth: 1.2, lastMs: 100 };

/** Waits until `check` answers something other than undefined or false; throws with `what` when the bound has passed. */
export const waitFor = async <T>(
  what: string,
  boundMs: number,
  check: () => Promise<T | undefined | false> | T | undefined | false,
): Promise<T> => {
  const end = Date.now() + boundMs;
  let last: unknown;
  let pauseMs = pauses.firstMs;
  for (;;) {
    try {
      const value = await check();
      if (value !== undefined && value !== false) return value;
      last = value;
    } catch (error) {
      last = error;
    }
    if (Date.now() > end)
      throw new Error(`${what}: not within ${boundMs} ms (last: ${String(last)})`, { cause: last });
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    pauseMs = Math.min(pauses.lastMs, pauseMs * pauses.growth);
  }
};
