import type { Change, KvBucket, Stored } from '../../../src/bus/kv.ts';
import { Fault } from '../../../src/model/fault.ts';

type Watcher = {
  readonly onChange: (change: Change) => void;
  readonly onSnapshot: (keys: ReadonlySet<string>) => void;
  readonly matches: (key: string) => boolean;
};

/** A bucket in memory whose watch delivers nothing before it is released, as one behind a slow connection. */
export type MemoryBucket = KvBucket & {
  /** Keys that were read. */
  readonly gets: string[];
  /** Delivers this many changes to the watch (all by default). */
  tell(changes?: number): void;
  /** Reads the whole state again, as after a reconnect; pending changes are in it. */
  snapshot(): void;
  /** Holds the answer to the next `get` of this key, which has read its value by then, until `release` is called. */
  holdGet(key: string): { readonly isAsked: () => boolean; readonly release: () => void };
};

export const createMemoryBucket = (): MemoryBucket => {
  const values = new Map<string, Stored>();
  const watchers: Watcher[] = [];
  const gets: string[] = [];
  let pending: Change[] = [];
  let revision = 0;
  const held = new Map<string, Promise<void>>();

  const put = (key: string, value: unknown): number => {
    values.set(key, { value, revision: ++revision });
    pending.push({ key, value, revision });
    return revision;
  };
  const conflict = (key: string): Fault => new Fault('permanent', 'kv_conflict', key);

  return {
    gets,
    get: async (key) => {
      gets.push(key);
      const stored = values.get(key);
      const hold = held.get(key);
      held.delete(key);
      await hold;
      return stored;
    },
    askLeader: async () => {},
    create: async (key, value) => {
      if (values.has(key)) throw conflict(key);
      return put(key, value);
    },
    update: async (key, value, expected) => {
      if (values.get(key)?.revision !== expected) throw conflict(key);
      return put(key, value);
    },
    put: async (key, value) => put(key, value),
    delete: async (key, expected) => {
      if (expected !== undefined && values.get(key)?.revision !== expected) throw conflict(key);
      values.delete(key);
      pending.push({ key, value: undefined, revision: ++revision });
    },
    watch: (onChange, onSnapshot, pattern) => {
      const prefix = pattern?.replace(/\*$/, '') ?? '';
      const watcher = { onChange, onSnapshot, matches: (key: string) => key.startsWith(prefix) };
      watchers.push(watcher);
      return { stop: () => watchers.splice(watchers.indexOf(watcher), 1) };
    },
    tell: (changes = pending.length) => {
      for (const change of pending.splice(0, changes)) {
        for (const { onChange, matches } of watchers) if (matches(change.key)) onChange(change);
      }
    },
    snapshot: () => {
      pending = [];
      const all = [...values].toSorted(([, a], [, b]) => a.revision - b.revision);
      for (const { onChange, onSnapshot, matches } of watchers) {
        const own = all.filter(([key]) => matches(key));
        for (const [key, stored] of own) onChange({ key, ...stored });
        onSnapshot(new Set(own.map(([key]) => key)));
      }
    },
    holdGet: (key) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      held.set(key, promise);
      return { isAsked: () => !held.has(key), release: resolve };
    },
  };
};
