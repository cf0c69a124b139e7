import type { KvBucket, Stored } from '../../../src/bus/kv.ts';
import { Fault } from '../../../src/model/fault.ts';

/** A bucket in memory, for tests of clocks; it can be unreachable, and lose the answer of a write that was done. */
export type MemoryKv = KvBucket & { isAway: boolean; losesAnswers: boolean };

const away = (): Fault => new Fault('transient', 'nats_unavailable', 'away');
const conflict = (): Fault => new Fault('permanent', 'kv_conflict', 'wrong last sequence');

export const createMemoryKv = (): MemoryKv => {
  const values = new Map<string, Stored>();
  let last = 0;
  const store = (key: string, value: unknown): number => {
    const revision = ++last;
    values.set(key, { value: structuredClone(value), revision });
    if (kv.losesAnswers) throw away();
    return revision;
  };
  const kv: MemoryKv = {
    isAway: false,
    losesAnswers: false,
    get: async (key) => {
      if (kv.isAway) throw away();
      return values.get(key);
    },
    askLeader: async () => {
      if (kv.isAway) throw away();
    },
    create: async (key, value) => {
      if (kv.isAway) throw away();
      if (values.has(key)) throw conflict();
      return store(key, value);
    },
    update: async (key, value, revision) => {
      if (kv.isAway) throw away();
      if (values.get(key)?.revision !== revision) throw conflict();
      return store(key, value);
    },
    put: async (key, value) => {
      if (kv.isAway) throw away();
      return store(key, value);
    },
    delete: async (key, revision) => {
      if (revision !== undefined && values.get(key)?.revision !== revision) throw conflict();
      values.delete(key);
    },
    watch: () => ({ stop: () => {} }),
  };
  return kv;
};
