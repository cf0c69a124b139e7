import { counted } from '../model/counted.ts';

/** The keys whose values this process cannot read. */
export type Unreadable = {
  readonly size: number;
  has(key: string): boolean;
  /** Reports a key once, however often it is delivered, until it can be read or is gone. */
  add(key: string, error: unknown): void;
  delete(key: string): void;
  /** Forgets those of a bucket that a whole reading of it did not show. */
  keepOnly(seen: ReadonlySet<string>, isOfBucket?: (key: string) => boolean): void;
  /** Their number and the first of them, for `/readyz`; undefined without any. */
  readonly problem: string | undefined;
};

const namedMax = 5;

export const createUnreadable = (onInvalid: (key: string, error: unknown) => void): Unreadable => {
  const keys = new Set<string>();
  return {
    get size() {
      return keys.size;
    },
    has: (key) => keys.has(key),
    add: (key, error) => {
      if (keys.has(key)) return;
      keys.add(key);
      onInvalid(key, error);
    },
    delete: (key) => void keys.delete(key),
    keepOnly: (seen, isOfBucket = () => true) => {
      for (const key of keys) if (isOfBucket(key) && !seen.has(key)) keys.delete(key);
    },
    get problem() {
      if (keys.size === 0) return undefined;
      const named = [...keys].slice(0, namedMax).join(', ');
      const others = keys.size > namedMax ? ', …' : '';
      return `${counted(keys.size, 'record')} cannot be read: ${named}${others}`;
    },
  };
};

/** The key of the first of these records of an owner that cannot be read. */
export const unreadableOf = (
  unreadable: Pick<Unreadable, 'size' | 'has'>,
  id: number,
  keys: readonly ((id: number) => string)[],
): string | undefined =>
  unreadable.size === 0 ? undefined : keys.map((of) => of(id)).find((key) => unreadable.has(key));
