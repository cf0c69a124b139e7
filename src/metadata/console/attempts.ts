const windowMs = 60_000;
const perAddressMax = 10;
/** Addresses that are remembered; the oldest makes room. */
const addressesMax = 10_000;
/** Refused attempts of all addresses that get an audit entry, in a minute. */
const notedMax = 60;

/** The failed attempts to log in. */
export type Attempts = {
  /** False after ten failures of this address within a minute. */
  mayTry(address: string): boolean;
  /** Counts a failure; returns whether it should be in the audit log, which an attack must not flood. */
  failed(address: string): boolean;
};

type Window = { since: number; count: number };

/** Counted in windows of a minute, by this process. `now` in ms. */
export const createAttempts = (now: () => number): Attempts => {
  const byAddress = new Map<string, Window>();
  let noted: Window = { since: Number.NEGATIVE_INFINITY, count: 0 };
  const current = (window: Window | undefined): Window =>
    window === undefined || now() >= window.since + windowMs ? { since: now(), count: 0 } : window;
  return {
    mayTry: (address) => current(byAddress.get(address)).count < perAddressMax,
    failed: (address) => {
      const window = current(byAddress.get(address));
      window.count++;
      byAddress.delete(address);
      byAddress.set(address, window);
      const [oldest] = byAddress.keys();
      if (byAddress.size > addressesMax && oldest !== undefined) byAddress.delete(oldest);
      noted = current(noted);
      return ++noted.count <= notedMax;
    },
  };
};
