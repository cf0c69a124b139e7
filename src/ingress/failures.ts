import { clientAddress, isTrusted, networkOf, type TrustedProxies } from '../http/client-address.ts';
import type { Incoming, Peer } from '../http/incoming.ts';
import type { Refused } from './refused.ts';

/** How many requests without a valid credential an address may send per second; further ones are refused before they are read. */
export type FailureLimit = {
  /** Requests per second; 0 = any number. */
  readonly failuresMax: number;
  /** Whole seconds after which the address of this request may try again; 0: at once. */
  retryAfterSeconds(request: Incoming): number;
  /**
   * Counts a request that is refused and has shown no valid credential. A result above 0: the address sent too many of them; the
   * request is refused for their number, and the sender may retry after this many seconds.
   */
  failed(request: Incoming): number;
  /** The request has shown a valid credential: its address is not limited for a minute. */
  passed(request: Incoming): void;
};

export type FailureLimitOptions = {
  /** Failures per second; 0 = any number. */
  readonly failuresMax: number;
  /** The proxies whose X-Forwarded-For counts; their own addresses are not limited. */
  readonly trustedProxies: TrustedProxies;
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number;
};

/** Reasons of refusals that do not prove a wrong credential, or that come before its validation. */
const innocent: ReadonlySet<string> = new Set([
  'not_stored',
  'unconfirmed',
  'aborted',
  'encoding_unsupported',
  'content_type_unsupported',
  'too_many_failures',
]);

/** Whether a request without a valid credential failed because of its content, or of what it took. */
export const isFailure = ({ reason, isOwnFault }: Pick<Refused, 'reason' | 'isOwnFault'>): boolean =>
  isOwnFault || !innocent.has(reason);

const exemptMs = 60_000;
/** An address with many valid requests is not noted for each of them. */
const notedAgainMs = 5_000;
/** Addresses that are remembered of each kind: beyond this number, the oldest entry is removed. */
const addressesMax = 10_000;

/** Failures that are not expired yet, as of a moment: the number falls with time. */
type Failures = { count: number; atMs: number };

const remember = <V>(map: Map<string, V>, address: string, value: V): void => {
  map.delete(address);
  map.set(address, value);
  if (map.size <= addressesMax) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
};

const none: FailureLimit = {
  failuresMax: 0,
  retryAfterSeconds: () => 0,
  failed: () => 0,
  passed: () => {},
};

export const createFailureLimit = ({
  failuresMax,
  trustedProxies,
  now,
}: FailureLimitOptions): FailureLimit => {
  if (failuresMax === 0) return none;
  // Both by `networkOf`.
  const failures = new Map<string, Failures>();
  const passedAt = new Map<string, number>();
  const notedAt = new WeakMap<Peer, number>();

  const isProxied = ({ socket }: Incoming): boolean => isTrusted(trustedProxies, socket.remoteAddress ?? '');

  const openOf = (network: string): number => {
    const known = failures.get(network);
    return known === undefined ? 0 : Math.max(0, known.count - ((now() - known.atMs) * failuresMax) / 1000);
  };

  const isExempt = (address: string, network: string): boolean =>
    now() - (passedAt.get(network) ?? Number.NEGATIVE_INFINITY) < exemptMs ||
    isTrusted(trustedProxies, address);

  return {
    failuresMax,
    retryAfterSeconds: (request) => {
      if (failures.size === 0) return 0;
      const address = clientAddress(request, trustedProxies);
      const network = networkOf(address);
      return openOf(network) + 1 <= failuresMax || isExempt(address, network) ? 0 : 1;
    },
    failed: (request) => {
      const address = clientAddress(request, trustedProxies);
      const network = networkOf(address);
      if (isExempt(address, network)) return 0;
      const open = openOf(network);
      if (open + 1 > failuresMax) return 1;
      remember(failures, network, { count: open + 1, atMs: now() });
      return 0;
    },
    passed: (request) => {
      const { socket } = request;
      const known = notedAt.get(socket);
      if (known !== undefined && now() - known < notedAgainMs) return;
      // Behind a proxy each request may come from another client.
      if (!isProxied(request)) notedAt.set(socket, now());
      remember(passedAt, networkOf(clientAddress(request, trustedProxies)), now());
    },
  };
};
