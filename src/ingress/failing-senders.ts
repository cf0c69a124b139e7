/** Which senders that fail authorisation are due for a sample, however many others fail at the same time. */
export type FailingSenders = {
  /** True once in ten minutes for each sender, named owner and reason: ask only where its sample will be kept. */
  isDue(reason: string, sender: string, named: number): boolean;
};

const periodMs = 600_000;
/** Further senders of a period have no sample promised. */
const sendersMax = 1_000;

/** `now` in ms of any clock. */
export const createFailingSenders = (now: () => number): FailingSenders => {
  const seen = new Set<string>();
  let period = -1;
  return {
    isDue: (reason, sender, named) => {
      const at = Math.floor(now() / periodMs);
      if (at !== period) {
        period = at;
        seen.clear();
      }
      const key = `${reason} ${named} ${sender}`;
      if (seen.size >= sendersMax || seen.has(key)) return false;
      seen.add(key);
      return true;
    },
  };
};
