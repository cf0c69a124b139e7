import { networkOf } from '../../http/client-address.ts';
import { setNewest } from '../../model/bounded-map.ts';
import { Fault } from '../../model/fault.ts';
import type { AdminIdentity } from '../tokens/admin-token-state.ts';

const windowMs = 60_000;
const perAddressMax = 10;
/** Addresses, and tokens, that are remembered; the oldest makes room. */
const rememberedMax = 10_000;
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
  /** Undefined after ten attempts of the network of this address (`networkOf`) within a minute that failed or are under way. */
  begin(address: string): Attempt | undefined;
};

type Window = { since: number; count: number };

const noWindow: Window = { since: Number.NEGATIVE_INFINITY, count: 0 };

/** The window of this moment: the same one until its minute is over. */
const currentOf = (window: Window, now: number): Window =>
  now >= window.since + windowMs ? { since: now, count: 0 } : window;

/** The window of a key, which becomes the one that was used last. */
const windowOf = <K>(windows: Map<K, Window>, key: K, now: number): Window => {
  const window = currentOf(windows.get(key) ?? noWindow, now);
  setNewest(windows, key, window, rememberedMax);
  return window;
};

const ofTokenMax = 60;

/**
 * Counts what a token did, as 'made links'. Sixty times in a minute are allowed, of this process: each has an entry in the audit log,
 * which a viewer's token must not fill within hours. The function throws a permanent Fault `too_many_attempts` for a further one.
 * `now` in ms, of a clock that never goes back.
 */
export const createTokenLimit = (
  did: string,
  now: () => number = () => performance.now(),
): ((identity: AdminIdentity) => void) => {
  const byToken = new Map<number, Window>();
  return ({ token_id, name }) => {
    const window = windowOf(byToken, token_id, now());
    if (window.count >= ofTokenMax) {
      const who = `the token ${JSON.stringify(name)}`;
      throw new Fault('permanent', 'too_many_attempts', `${who} ${did} ${ofTokenMax} times within a minute`);
    }
    window.count++;
  };
};

/** Counted in windows of a minute, by this process. `now` in ms, of a clock that never goes back. */
export const createAttempts = (now: () => number = () => performance.now()): Attempts => {
  const byAddress = new Map<string, Window>();
  let noted = noWindow;
  return {
    begin: (address) => {
      const window = windowOf(byAddress, networkOf(address), now());
      if (window.count >= perAddressMax) return undefined;
      window.count++;
      return {
        takeBack: () => {
          window.count--;
        },
        isNoted: () => {
          noted = currentOf(noted, now());
          return ++noted.count <= notedMax;
        },
      };
    },
  };
};
