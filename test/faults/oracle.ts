import type { Layout } from './items.ts';

/** A data id or an application that items are sent to. */
export type Target = {
  readonly name: string;
  readonly layout: Layout;
  /** Data id of points, application of spans, log records and data points. */
  readonly id: number;
  /** Those that it has had, the newest last. */
  readonly tokens: string[];
  /** Its policy changes while the run lasts: some items are stored under one and dropped under the other. */
  readonly hasSwing: boolean;
};

/**
 * What is owed of a request:
 * - `open`: it is still being sent;
 * - `owed`: answered 2xx, so every good item is there once;
 * - `uncertain`: never answered, or `unconfirmed`, and not to be sent again: there once, or not at all;
 * - `absent`: answered `not_stored` and not sent again: nothing of it is there.
 */
export type Debt = 'open' | 'owed' | 'uncertain' | 'absent';

/** One time that a request was sent; times are ms since the epoch. */
export type Try = {
  readonly sentAt: number;
  readonly answeredAt: number;
  readonly receiver: number;
  /** Status and, of a refusal, its reason; 0 when no answer came. */
  readonly status: number;
  readonly reason: string;
  /** It had been answered 200 before, and was sent again all the same. */
  readonly isRepeat?: boolean;
  /** The token was another one than at the first try. */
  readonly isOtherToken?: boolean;
  /** It went over gRPC; requests in protobuf alone. */
  readonly isGrpc?: boolean;
  /** The answer reported an earlier request. */
  readonly isRecognised?: boolean;
};

/** A request and the numbers of its items: `first` and the following ones. */
export type Claim = {
  readonly target: Target;
  readonly first: number;
  readonly count: number;
  /** It names itself (an Idempotency-Key, or it is OTLP), so that it may be sent again. */
  readonly isNamed: boolean;
  /** How it is written on the wire, for who has to look into a violation. */
  readonly form: string;
  debt: Debt;
  readonly tries: Try[];
};

/** Keeps what was claimed, sent and answered. Numbers of items are given out once and for all. */
export type Oracle = {
  claim(what: Pick<Claim, 'target' | 'count' | 'isNamed' | 'form'>): Claim;
  /** Everything claimed since the last call, in the order of its numbers. */
  take(): Claim[];
  /** Everything claimed since then. */
  readonly claims: readonly Claim[];
};

export const createOracle = (): Oracle => {
  let next = 1;
  let claims: Claim[] = [];
  return {
    claim: (what) => {
      const claim: Claim = { ...what, first: next, debt: 'open', tries: [] };
      next += what.count;
      claims.push(claim);
      return claim;
    },
    take: () => {
      const taken = claims;
      claims = [];
      return taken;
    },
    get claims() {
      return claims;
    },
  };
};

/** The claim that holds the number, of claims in the order of their numbers. */
export const claimOf = (claims: readonly Claim[], id: number): Claim | undefined => {
  let low = 0;
  let high = claims.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const claim = claims[middle];
    if (claim === undefined) return undefined;
    // A value that is not a number belongs to no item.
    if (!(id >= claim.first)) high = middle - 1;
    else if (id >= claim.first + claim.count) low = middle + 1;
    else return claim;
  }
  return undefined;
};
