const windowMs = 60_000;
const perAddressMax = 10;
/** Addresses that are remembered; the oldest makes room. */
const addressesMax = 10_000;
/** Refused attempts of all addresses that get an audit entry, in a minute. */
const notedMax = 60;

/** An attempt to log in that is under way. It counts as failed until it is taken back. */
export type Attempt = {
  takeBack(): void;
  /** Whether its refusal should be in the audit log, which an attack must not flood. */
  isNoted(): boolean;
};

/** The attempts to log in. */
export type Attempts = {
  /** Undefined after ten attempts of this address within a minute that failed or are under way. */
  begin(address: string): Attempt | undefined;
};

type Window = { since: number; count: number };

/** Counted in windows of a minute, by this process. `now` in ms, of a clock that never goes back. */
export const createAttempts = (now: () => number = () => performance.now()): Attempts => {
  const byAddress = new Map<string, Window>();
  let noted: Window = { since: Number.NEGATIVE_INFINITY, count: 0 };
  const current = (window: Window | undefined): Window =>
    window === undefined || now() >= window.since + windowMs ? { since: now(), count: 0 } : window;
  return {
    begin: (address) => {
      const window = current(byAddress.get(address));
      if (window.count >= perAddressMax) return undefined;
      window.count++;
      byAddress.delete(address);
      byAddress.set(address, window);
      const [oldest] = byAddress.keys();
      if (byAddress.size > addressesMax && oldest !== undefined) byAddress.delete(oldest);
      return {
        takeBack: () => {
          window.count--;
        },
        isNoted: () => {
          noted = current(noted);
          return ++noted.count <= notedMax;
        },
      };
    },
  };
};
