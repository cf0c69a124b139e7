import { DeliverPolicy, type JsMsg, StorageType, type StreamInfo } from '@nats-io/jetstream';
import { type KV, type KvEntry, Kvm } from '@nats-io/kv';
import { errorText, Fault } from '../model/fault.ts';
import { parseJson } from '../model/json.ts';
import { type BackOff, backOffMs } from '../runtime/back-off.ts';
import type { Bus } from './connection.ts';
import { requireLed } from './leader.ts';
import { toFault, toFaultOfCopies, unlessMissing } from './nats-fault.ts';
import type { WatchTrouble } from './watch-troubles.ts';

/**
 * In the place of a stored value that is not JSON: only its key is known. It is no object, text or number, so no schema of a record
 * takes it.
 */
export const unreadable: unique symbol = Symbol('not JSON');

/** A stored JSON value, or `unreadable`, and the revision to compare-and-set on. */
export type Stored = { readonly value: unknown; readonly revision: number };

/** A change from a watch: a value that was put (`unreadable` where it is not JSON), or (value undefined) a key that was deleted. */
export type Change = { readonly key: string; readonly value: unknown; readonly revision: number };

/** A JetStream KV bucket of JSON values. Every call throws a Fault; a lost compare-and-set is permanent `kv_conflict`. */
export type KvBucket = {
  /** Any server with a copy answers, also one that is cut off from the others: after `askLeader` the value is of now. */
  get(key: string): Promise<Stored | undefined>;
  /** Resolves once the server that leads the bucket, in touch with most copies, has answered. Transient Faults `bucket_leaderless`, `bucket_missing`. */
  askLeader(): Promise<void>;
  /** Stores a key that is missing (or was deleted); returns the revision. */
  create(key: string, value: unknown): Promise<number>;
  /** Replaces the value if the key still has that revision; returns the new one. */
  update(key: string, value: unknown, revision: number): Promise<number>;
  put(key: string, value: unknown): Promise<number>;
  /** Deletes the key, with `revision` only if it still has that one. */
  delete(key: string, revision?: number): Promise<void>;
  /**
   * Calls `onChange` for every existing key and then for every change, until the caller calls `stop`. Calls `onSnapshot` with all
   * keys each time a whole state was read: at first, and again after each reconnect. A bucket that is being filled again (`fillingSince`)
   * is read once it is whole. `created` tells it from another one of its name. With `pattern` (`kind.*`) the server does not send the other keys.
   */
  watch(
    onChange: (change: Change, created?: string) => void,
    onSnapshot: (keys: ReadonlySet<string>) => void,
    pattern?: string,
  ): { stop(): void };
};

/** A key in the metadata of a bucket that is filled again after a loss (`keepBucket`): since when, Unix milliseconds. */
export const fillingKey = 'tidemark-filling';

/** Since when a bucket is being filled, Unix milliseconds; undefined for one that is whole. */
export const fillingSince = ({ config }: Pick<StreamInfo, 'config'>): number | undefined => {
  const since = Number(config.metadata?.[fillingKey]);
  return Number.isNaN(since) ? undefined : since;
};

/** True for a lost compare-and-set. */
export const isConflict = (error: unknown): boolean => error instanceof Fault && error.code === 'kv_conflict';

/** The result of a write; undefined where it lost its compare-and-set. */
export const unlessConflict = <T>(write: Promise<T>): Promise<T | undefined> =>
  write.catch((error: unknown) => {
    if (isConflict(error)) return undefined;
    throw error;
  });

/** Repeats what reads and then writes while it loses its compare-and-set. Transient Fault `kv_contended` after `triesMax` tries. */
export const untilWritten = async <T>(
  what: string,
  triesMax: number,
  attempt: () => Promise<T>,
): Promise<T> => {
  for (let tries = 0; tries < triesMax; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
  }
  throw new Fault('transient', 'kv_contended', `too many concurrent changes of ${what}`);
};

const parseText = (text: string): unknown => {
  const value = parseJson(text);
  return value === undefined ? unreadable : value;
};

const parseEntry = (entry: KvEntry): Stored | undefined =>
  entry.operation === 'PUT' ? { value: parseText(entry.string()), revision: entry.revision } : undefined;

const guarded = async <T>(call: () => Promise<T>): Promise<T> => {
  try {
    return await call();
  } catch (error) {
    throw toFault(error);
  }
};

/** A bucket of values that may be lost: in memory, of a bounded size, each value deleted `ttlMs` after it was put. */
export type FleetingBucket = { readonly ttlMs: number; readonly bytesMax: number };

/**
 * Opens the bucket, with one value per key, and creates a missing one: in file storage without expiry, or as a fleeting one. An
 * existing bucket keeps its definition, except the number of its copies where the bus has one.
 */
export const openKvBucket = async (bus: Bus, name: string, fleeting?: FleetingBucket): Promise<KvBucket> => {
  const replicas = bus.replicas ?? 1;
  const options =
    fleeting === undefined
      ? { history: 1, replicas }
      : {
          history: 1,
          replicas,
          storage: StorageType.Memory,
          ttl: fleeting.ttlMs,
          max_bytes: fleeting.bytesMax,
        };
  const refused = (error: unknown): never => {
    throw toFaultOfCopies(error, replicas, bus.nc);
  };
  const open = (): Promise<KV> => new Kvm(bus.js).create(name, options).catch(refused);
  // Another process may have created it at the same moment, with a definition of its own: it exists by the second try.
  const kv = await open().catch((error: unknown) => {
    if (error instanceof Fault && error.code === 'stream_name_in_use') return open();
    throw error;
  });
  await bringToReplicas(bus, name).catch(refused);
  return bucketOf(bus, name, kv);
};

/** The stream of a bucket. Transient Fault `bucket_missing` where it does not exist. */
const infoOf = async (bus: Bus, name: string): Promise<StreamInfo> => {
  const found = await unlessMissing((await bus.manager()).streams.info(`KV_${name}`));
  if (found !== undefined) return found;
  throw new Fault('transient', 'bucket_missing', `bucket ${name} does not exist yet: metadata creates it`);
};

/** Opens a bucket that another role creates. Throws a Fault: transient `bucket_missing` where it does not exist yet. */
export const findKvBucket = async (bus: Bus, name: string): Promise<KvBucket> => {
  const kv: KV = await guarded(async () => {
    const { config } = await infoOf(bus, name);
    return new Kvm(bus.js).open(name, { allow_direct: config.allow_direct === true });
  });
  return bucketOf(bus, name, kv);
};

const bucketOf = (bus: Bus, name: string, kv: KV): KvBucket => {
  return {
    get: (key) =>
      guarded(async () => {
        const entry = await kv.get(key);
        return entry === null ? undefined : parseEntry(entry);
      }),
    askLeader: () => guarded(() => requireLeader(bus, name)),
    create: (key, value) => guarded(() => kv.create(key, JSON.stringify(value))),
    update: (key, value, revision) => guarded(() => kv.update(key, JSON.stringify(value), revision)),
    put: (key, value) => guarded(() => kv.put(key, JSON.stringify(value))),
    delete: (key, revision) =>
      guarded(() => kv.delete(key, revision === undefined ? {} : { previousSeq: revision })),
    watch: (onChange, onSnapshot, pattern = '>') =>
      startWatch(
        bus,
        {
          what: { bucket: name, keys: pattern },
          look: (of) => lookAt(bus, name, of === 'bucket' ? '>' : pattern),
          open: () => openEntries(bus, name, pattern),
        },
        onChange,
        onSnapshot,
      ),
  };
};

const requireLeader = async (bus: Bus, name: string): Promise<void> =>
  requireLed(await infoOf(bus, name), 'bucket_leaderless', `bucket ${name}`);

const bringToReplicas = async (bus: Bus, name: string): Promise<void> => {
  if (bus.replicas === undefined) return;
  const { streams } = await bus.manager();
  const { config } = await streams.info(`KV_${name}`);
  if (config.num_replicas !== bus.replicas)
    await streams.update(`KV_${name}`, { ...config, num_replicas: bus.replicas });
};

/** A bucket before a watch begins. `created` tells it from another one of its name. */
type Look = { readonly isEmpty: boolean; readonly created: string };

/** Whether no key matches the pattern. Throws for a bucket that is being filled: a part of its keys is no state of it. */
const lookAt = async (bus: Bus, name: string, pattern: string): Promise<Look> => {
  const filter = pattern === '>' ? undefined : { subjects_filter: `$KV.${name}.${pattern}` };
  const found = await (await bus.manager()).streams.info(`KV_${name}`, filter);
  if (fillingSince(found) !== undefined)
    throw new Fault('transient', 'bucket_filling', `bucket ${name} is being filled again`);
  const { messages, subjects } = found.state;
  const isEmpty = filter === undefined ? messages === 0 : Object.keys(subjects ?? {}).length === 0;
  return { isEmpty, created: found.created };
};

/** How often a watch asks whether its bucket is still the same: one that was deleted ends no watch, and tells it nothing more. */
const sameEveryMs = 5_000;

/** The present value of each watched key, then each change. */
type Entries = {
  readonly messages: AsyncIterable<JsMsg>;
  stop(): void;
  /** Removes the consumer, which the server would keep for minutes and count towards its limit. Never throws. */
  remove(): Promise<unknown>;
};

const openEntries = async (bus: Bus, name: string, pattern: string): Promise<Entries> => {
  const consumer = await bus.js.consumers.getPushConsumer(`KV_${name}`, {
    deliver_policy: DeliverPolicy.LastPerSubject,
    filter_subjects: `$KV.${name}.${pattern}`,
  });
  const messages = await consumer.consume();
  return {
    messages,
    stop: () => messages.stop(),
    // NATS may have lost it, or be away.
    remove: () => consumer.delete().catch(() => {}),
  };
};

/** What a key was deleted or aged by. */
const isDeletion = ({ headers }: JsMsg): boolean =>
  headers?.has('Nats-Marker-Reason') === true ||
  ['DEL', 'PURGE'].includes(headers?.get('KV-Operation') ?? '');

/** A watch of an empty bucket sends nothing at first, not even a mark. */
type Watched = {
  readonly what: WatchTrouble;
  readonly look: (of: 'watched keys' | 'bucket') => Promise<Look>;
  readonly open: () => Promise<Entries>;
};

const againAfter: BackOff = { firstMs: 200, mostMs: 2_000 };

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: one watch, and what begins it again.
const startWatch = (
  bus: Bus,
  { what, look, open }: Watched,
  onChange: (change: Change, created?: string) => void,
  onSnapshot: (keys: ReadonlySet<string>) => void,
): { stop(): void } => {
  let stopped = false;
  let round = 0;
  let failures = 0;
  let current: Entries | undefined;
  let created: string | undefined;
  const keyAt = `$KV.${what.bucket}.`.length;

  const follow = async (mine: number, { messages }: Entries, { isEmpty, created: found }: Look) => {
    const seen = new Set<string>();
    let complete = false;
    const completed = (): void => {
      complete = true;
      onSnapshot(seen);
      failures = 0;
      bus.watchTroubles.over(what);
    };
    if (isEmpty) completed();
    for await (const message of messages) {
      if (mine !== round || stopped) return;
      const key = message.subject.slice(keyAt);
      const value = isDeletion(message) ? undefined : parseText(message.string());
      if (!complete && value !== undefined) seen.add(key);
      onChange({ key, value, revision: message.seq }, found);
      if (!complete && message.info.pending === 0) completed();
    }
    if (!complete && mine === round && !stopped)
      throw new Fault('transient', 'watch_ended', 'it ended before the whole state was read');
  };

  const runRound = async (mine: number): Promise<void> => {
    const looked = await look('watched keys');
    created = looked.created;
    const entries = await open();
    try {
      if (mine !== round || stopped) return;
      current = entries;
      await follow(mine, entries, looked);
    } finally {
      entries.stop();
      await entries.remove();
    }
  };

  /** A watch can end silently when its server dies, so each reconnect starts a new one from the whole state. */
  const begin = (): void => {
    const mine = ++round;
    current?.stop();
    const again = (error?: unknown): void => {
      if (mine !== round || stopped || !bus.connected) return;
      failures++;
      if (error !== undefined) bus.watchTroubles.failed(what, errorText(error));
      setTimeout(begin, backOffMs(againAfter, failures)).unref();
    };
    runRound(mine).then(() => again(), again);
  };
  bus.onReconnect(() => {
    if (!stopped) begin();
  });
  begin();
  const beginWhereReplaced = async (): Promise<void> => {
    if (created === undefined || !bus.connected) return;
    const isSame = await look('bucket').then(
      // An empty one in the place of a lost one says nothing of what there was, and may be filled in a moment.
      (found) => found.created === created || found.isEmpty,
      // It is away, or being filled: the next look is soon.
      () => true,
    );
    if (!isSame && !stopped) begin();
  };
  const timer = setInterval(() => void beginWhereReplaced(), sameEveryMs).unref();
  return {
    stop: () => {
      stopped = true;
      bus.watchTroubles.dropped(what);
      clearInterval(timer);
      current?.stop();
    },
  };
};
