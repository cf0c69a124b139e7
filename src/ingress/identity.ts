import { createCipheriv, createHash, type Hash } from 'node:crypto';
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

/** Bytes that are read before the event loop runs other work. */
const turnBytes = 4 * 2 ** 20;

/** From this size on a digest with the key takes less time than SHA-256, and a quarter of it for large bodies. */
const keyedBytesMin = 16_384;

/** Passes the bytes on in parts, so that other work goes on between two of them. */
export const eachTurn = async (
  pieces: readonly Uint8Array[],
  take: (bytes: Uint8Array) => void,
): Promise<void> => {
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; at += turnBytes) {
      if (at > 0) await setImmediate();
      take(piece.subarray(at, at + turnBytes));
    }
  }
};

/**
 * GMAC with one nonce for all bodies is a universal hash: without the key nobody finds two bodies with one digest, and no digest leaves
 * the process except inside SHA-256.
 */
const keyedDigest = async (key: Uint8Array, body: readonly Uint8Array[]): Promise<Buffer> => {
  const cipher = createCipheriv('aes-256-gcm', key, Buffer.alloc(12));
  await eachTurn(body, (bytes) => cipher.setAAD(bytes));
  cipher.final();
  return cipher.getAuthTag();
};

const identityOf = (hash: Hash): RequestIdentity => {
  const digest = hash.digest();
  return { sha256Hex: digest.toString('hex'), base: hashedBase(digest) };
};

/** The key of the installation for large bodies; undefined in one that began without. */
export type IdentityKey = { readonly identityKey: Uint8Array | undefined };

/**
 * The identity of a request. `credential` is the first token of its owner, for every token that the request came with: identities
 * outlive tokens. The body may come in pieces.
 */
export const requestIdentity = async (
  { identityKey }: IdentityKey,
  credential: string,
  key: string,
  ...body: readonly Uint8Array[]
): Promise<RequestIdentity> => {
  const sender = `${credential.length}:${credential}${key.length}:${key}`;
  const bodyBytes = body.reduce((sum, { length }) => sum + length, 0);
  const hash = createHash('sha256');
  if (identityKey === undefined || bodyBytes < keyedBytesMin) {
    hash.update(sender);
    await eachTurn(body, (bytes) => hash.update(bytes));
    return identityOf(hash);
  }
  // A sender begins with a digit: no body digested without the key has this beginning.
  return identityOf(hash.update(`keyed:${sender}`).update(await keyedDigest(identityKey, body)));
};
