import { z } from 'zod';
import type { KvBucket } from '../../bus/kv.ts';
import { recordKeys } from '../../directory/keys.ts';
import { Fault } from '../../model/fault.ts';
import { maskDocument } from './document.ts';

const unixSeconds = z.int().nonnegative();

const shape = {
  /** The node management's id; null until its create call has answered. */
  subscription_id: z.int().nullable(),
  mon_data_id: z.int(),
  /** Null for a report that was made step by step. */
  custom_report_id: z.int().nullable(),
  mon_biz_id: z.int(),
  adapter: z.enum(['polling', 'http']),
  /** Of the document, and of the parameters that node management was sent. */
  md5: z.string(),
  params_md5: z.string(),
  document: z.string(),
  /**
   * `creating`: the create call may have been made, its answer is unknown. `installing`: it exists, its first run is
   * not confirmed. `deleting`: the delete call may have been made.
   */
  state: z.enum(['creating', 'installing', 'active', 'deleting']),
  created: unixSeconds,
  updated: unixSeconds,
};

/** The file of the token before a rotation, and when receivers stop taking that token. */
const previousShape = { md5: z.string(), expires_at: unixSeconds };

/** A subscription as the admin API shows it: the token in its document is masked. Times are Unix seconds. */
export const subscriptionSchema = z.strictObject({
  ...shape,
  previous: z.strictObject(previousShape).optional(),
});
export type SubscriptionView = z.output<typeof subscriptionSchema>;

/** A subscription as stored in KV. */
export const heldSubscriptionSchema = z.object({
  ...shape,
  /** While `creating`: the parameters that a repeat of the create call must send again. */
  intent: z.object({ key: z.string(), params: z.record(z.string(), z.unknown()) }).optional(),
  previous: z.object({ ...previousShape, document: z.string() }).optional(),
  /** While `deleting`: the last step that node management took. Without one, none is known to be taken. */
  removal: z.enum(['limited', 'uninstalled']).optional(),
});
export type Subscription = z.output<typeof heldSubscriptionSchema>;

/** A subscription and the revision to compare-and-set on. */
export type HeldSubscription = { readonly value: Subscription; readonly revision: number };

/** The subscriptions in KV, with a copy in memory that a watch keeps. */
export type Subscriptions = {
  /** All of the copy by ascending data id; the same array until something changes. */
  list(): readonly Subscription[];
  known(dataId: number): Subscription | undefined;
  /** The data ids whose records cannot be read, and of which the copy has nothing from before. */
  unreadable(): number[];
  /** From KV. */
  read(dataId: number): Promise<HeldSubscription | undefined>;
  /** Replaces `before`, or creates the key. Permanent Fault `kv_conflict` when it was changed meanwhile. */
  save(value: Subscription, before: HeldSubscription | undefined): Promise<HeldSubscription>;
  /** Removes it if it still has this revision. Permanent Fault `kv_conflict` when it was changed meanwhile. */
  remove(dataId: number, revision: number): Promise<void>;
  /** Resolves when the copy was filled for the first time; before that it is incomplete. */
  readonly ready: Promise<void>;
  readonly isReady: boolean;
  stop(): void;
};

const prefix = recordKeys.subscription(0).slice(0, -1);

/** A single view, with four characters of its token, or one in a list, with none. */
export const viewSubscription = (
  { intent: _intent, removal: _removal, previous, ...value }: Subscription,
  shown: 0 | 4,
): SubscriptionView => ({
  ...value,
  ...(previous === undefined ? {} : { previous: { md5: previous.md5, expires_at: previous.expires_at } }),
  document: maskDocument(value.document, shown),
});

const parse = (dataId: number, value: unknown): Subscription => {
  const result = heldSubscriptionSchema.safeParse(value);
  if (result.success) return result.data;
  // The issues name fields, never values: the document holds a token.
  const fields = result.error.issues.map(({ path }) => path.join('.')).join(', ');
  throw new Fault(
    'internal',
    'record_invalid',
    `${recordKeys.subscription(dataId)} is not a subscription: ${fields}`,
  );
};

/** `isOwn`: written by this process and not yet delivered by the watch, which may still deliver the value before it. */
type Known = HeldSubscription & { isOwn: boolean };

const sortedOf = (copy: ReadonlyMap<number, Known>): readonly Subscription[] =>
  [...copy.values()].map(({ value }) => value).sort((left, right) => left.mon_data_id - right.mon_data_id);

/** Opens the copy. `onInvalid` receives stored values that cannot be read; the copy omits them. */
export const openSubscriptions = (bucket: KvBucket, onInvalid: (fault: unknown) => void): Subscriptions => {
  const copy = new Map<number, Known>();
  const removedAt = new Map<number, number>();
  const unreadable = new Set<number>();
  let sorted: readonly Subscription[] | undefined;
  let isReady = false;
  const { promise: ready, resolve } = Promise.withResolvers<void>();

  const set = (dataId: number, entry: Known | undefined): void => {
    if (entry === undefined) copy.delete(dataId);
    else copy.set(dataId, entry);
    unreadable.delete(dataId);
    sorted = undefined;
  };
  const watch = bucket.watch(
    ({ key, value, revision }) => {
      if (!key.startsWith(prefix)) return;
      const dataId = Number(key.slice(prefix.length));
      const before = copy.get(dataId);
      if (before?.isOwn && revision < before.revision) return;
      if (value === undefined) {
        removedAt.delete(dataId);
        return set(dataId, undefined);
      }
      if (revision <= (removedAt.get(dataId) ?? -1)) return;
      removedAt.delete(dataId);
      try {
        set(dataId, { value: parse(dataId, value), revision, isOwn: false });
      } catch (fault) {
        if (Number.isSafeInteger(dataId) && !copy.has(dataId)) unreadable.add(dataId);
        onInvalid(fault);
      }
    },
    (keys) => {
      for (const dataId of [...copy.keys(), ...unreadable])
        if (!keys.has(recordKeys.subscription(dataId))) set(dataId, undefined);
      for (const entry of copy.values()) entry.isOwn = false;
      removedAt.clear();
      isReady = true;
      resolve();
    },
  );
  return {
    list: () => {
      sorted ??= sortedOf(copy);
      return sorted;
    },
    known: (dataId) => copy.get(dataId)?.value,
    unreadable: () => [...unreadable],
    read: async (dataId) => {
      const stored = await bucket.get(recordKeys.subscription(dataId));
      return stored && { value: parse(dataId, stored.value), revision: stored.revision };
    },
    save: async (value, before) => {
      const key = recordKeys.subscription(value.mon_data_id);
      const revision =
        before === undefined
          ? await bucket.create(key, value)
          : await bucket.update(key, value, before.revision);
      set(value.mon_data_id, { value, revision, isOwn: true });
      return { value, revision };
    },
    remove: async (dataId, revision) => {
      await bucket.delete(recordKeys.subscription(dataId), revision);
      removedAt.set(dataId, revision);
      set(dataId, undefined);
    },
    ready,
    get isReady() {
      return isReady;
    },
    stop: () => watch.stop(),
  };
};
