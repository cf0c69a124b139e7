import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { errorText } from '../model/fault.ts';
import { countedBase, counterEnd, hashedBase, type UidBase } from '../model/uid.ts';

/** Hands out uid bases for requests without an identity: epoch and counter (architecture 5.1). */
export type BaseCounter = {
  /** False until the counter has an epoch. */
  readonly isReady: boolean;
  /** The epoch of the next bases; undefined before the first one. */
  readonly boot: number | undefined;
  /** A base with room for this many ordinals; undefined before the first epoch. */
  take(ordinals: number): UidBase | undefined;
};

const retryMs = 500;

/**
 * Takes an epoch at once, and the next one when half of the counter is spent, so that no request waits at its end; retries
 * `takeBoot` until it succeeds.
 */
export const createBaseCounter = (
  takeBoot: () => Promise<number>,
  onFault: (why: string) => void,
): BaseCounter => {
  let boot: number | undefined;
  let spare: number | undefined;
  let isAsking = false;
  let next = 0;
  const ask = (): void => {
    isAsking = true;
    takeBoot().then(
      (number) => {
        isAsking = false;
        if (boot === undefined) boot = number;
        else spare = number;
      },
      (error: unknown) => {
        onFault(errorText(error));
        setTimeout(ask, retryMs).unref();
      },
    );
  };
  ask();
  return {
    get isReady() {
      return boot !== undefined;
    },
    get boot() {
      return boot;
    },
    take: (ordinals) => {
      if (boot !== undefined && next + ordinals > counterEnd) {
        boot = spare;
        spare = undefined;
        next = 0;
      }
      if (boot === undefined) {
        if (!isAsking) ask();
        return undefined;
      }
      const base = countedBase(boot, next);
      next += ordinals;
      if (next > counterEnd / 2 && spare === undefined && !isAsking) ask();
      return base;
    },
  };
};

/** Identity of a request that its sender may repeat: the owner, the key (empty for OTLP), and every byte of the inflated body. */
export type RequestIdentity = { readonly sha256Hex: string; readonly base: UidBase };

/** Bytes that are hashed before the event loop runs other work. */
const turnBytes = 4 * 2 ** 20;

/**
 * The identity of a request. `credential` is the first token of its owner, for every token that the request came with: identities
 * outlive tokens. The body may come in pieces.
 */
export const requestIdentity = async (
  credential: string,
  key: string,
  ...body: readonly Uint8Array[]
): Promise<RequestIdentity> => {
  const hash = createHash('sha256').update(`${credential.length}:${credential}${key.length}:${key}`);
  for (const piece of body) {
    for (let at = 0; at < piece.length; at += turnBytes) {
      if (at > 0) await setImmediate();
      hash.update(piece.subarray(at, at + turnBytes));
    }
  }
  const digest = hash.digest();
  return { sha256Hex: digest.toString('hex'), base: hashedBase(digest) };
};
