import { createHash } from 'node:crypto';
import { messageOf } from '../model/fault.ts';
import { countedBase, counterEnd, hashedBase, type UidBase } from '../model/uid.ts';

/** Hands out uid bases for requests without an identity: boot number and counter (design section 7.1). */
export type BaseCounter = {
  /** False until a boot number was taken. */
  readonly isReady: boolean;
  /** The boot number that bases begin with now; undefined while there is none. */
  readonly boot: number | undefined;
  /** A base with room for so many ordinals; undefined while there is no boot number. */
  take(ordinals: number): UidBase | undefined;
};

const retryMs = 500;

/** Takes a boot number at once and again whenever the counter runs out; `takeBoot` is tried until it succeeds. */
export const createBaseCounter = (
  takeBoot: () => Promise<number>,
  onFault: (why: string) => void,
): BaseCounter => {
  let boot: number | undefined;
  let next = 0;
  const renew = (): void => {
    boot = undefined;
    takeBoot().then(
      (number) => {
        boot = number;
        next = 0;
      },
      (error: unknown) => {
        onFault(messageOf(error));
        setTimeout(renew, retryMs).unref();
      },
    );
  };
  renew();
  return {
    get isReady() {
      return boot !== undefined;
    },
    get boot() {
      return boot;
    },
    take: (ordinals) => {
      if (boot === undefined) return undefined;
      if (next + ordinals > counterEnd) {
        renew();
        return undefined;
      }
      const base = countedBase(boot, next);
      next += ordinals;
      return base;
    },
  };
};

/** Identity of a request that its sender may repeat: who, the key (empty for OTLP), and every byte of the inflated body. */
export type RequestIdentity = { readonly sha256Hex: string; readonly base: UidBase };

export const requestIdentity = (credential: string, key: string, body: Uint8Array): RequestIdentity => {
  const digest = createHash('sha256')
    .update(`${credential.length}:${credential}${key.length}:${key}`)
    .update(body)
    .digest();
  return { sha256Hex: digest.toString('hex'), base: hashedBase(digest) };
};
