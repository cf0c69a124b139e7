import { z } from 'zod';
import type { Change, KvBucket } from '../bus/kv.ts';
import { Fault } from '../model/fault.ts';
import type { ColumnRegistry } from '../model/records.ts';
import { type ApplicationSource, type Applications, createApplications } from './applications.ts';
import { createFindOnce } from './find-once.ts';
import { columnsKey, identityKeySchema, recordKeys } from './keys.ts';
import type { RuleDefaults } from './rules.ts';
import { createSources, type LastSeen, type Source, type Sources, takesToken } from './sources.ts';
import { tokenMatches } from './tokens.ts';
import { createUnreadable, type Unreadable, unreadableOf } from './unreadable.ts';

export type { Source } from './sources.ts';

/** The records of all data ids in memory, kept current by a watch; the last state remains while NATS is down. */
export type Directory = {
  /** False until the first whole state was read: until then nothing may be refused as unknown. */
  readonly isReady: boolean;
  source(dataId: number): Source | undefined;
  /**
   * The source of this token, current or not yet expired: from memory, else by one read of KV (and no further one for a
   * second for the same pair). Undefined for an unknown data id and for a wrong token alike. Transient Faults when KV does
   * not answer, and `record_unreadable` for any token while a record of the data id cannot be read.
   */
  authorize(dataId: number, token: string): Promise<Source | undefined>;
  /**
   * The application of this write token, in the same way; `record_unreadable` for tokens of the application. Undefined for an unknown token. `isKnown`: the sender has shown another,
   * valid one.
   */
  authorizeApplication(token: string, isKnown?: boolean): Promise<ApplicationSource | undefined>;
  /** The same from memory alone; undefined also for one with a record that cannot be read. */
  application(token: string): ApplicationSource | undefined;
  /** The key of the digests of large bodies; undefined in an installation without one. An owner is never known before it. */
  readonly identityKey: Buffer | undefined;
  /** Whether this is a token of any data id or application, from memory; for the removal of secrets from samples. */
  isCredential(text: string): boolean;
  /** Adds a registry that this process has just written, before the watch delivers it. */
  applyRegistry(registry: ColumnRegistry): Source | undefined;
  /** As of `Sources`. */
  takeLastSeen(seconds: number): LastSeen[];
  /** The number and the first names of records that cannot be read, for `/readyz`. */
  readonly unreadable: string | undefined;
  stop(): void;
};

/** The code of the Fault for an owner with a record that cannot be read: what it would allow or refuse is not known. */
export const recordUnreadable = 'record_unreadable';

const unreadableFault = (key: string): Fault =>
  new Fault('transient', recordUnreadable, `the record ${key} cannot be read: repair it`);

/** Records whose change may make an unknown credential valid. */
const holdsToken = /^(data_source|previous_token|application|previous_application_token)\./;

const isRegistry = (key: string): boolean => key.startsWith('columns.');

const tokenHolder = z.object({ token: z.string() });

export type DirectoryOptions = {
  readonly records: KvBucket;
  readonly columns: KvBucket;
  /** Defaults of data ids and applications for fields that their policies do not set. */
  readonly defaults: RuleDefaults;
  readonly now: () => number;
  /** Called once for a record that cannot be read: until it can be, nothing of its owner is taken. */
  readonly onInvalid: (key: string, error: unknown) => void;
};

/** A bucket as far as this process has read it: its watch, and single reads. */
type Followed = {
  /** The values of those of these keys that exist. */
  read(keys: readonly string[]): Promise<Change[]>;
  /** Adds the values of a read, except where the watch has delivered newer ones meanwhile. */
  catchUp(found: readonly Change[]): void;
  stop(): void;
};

/**
 * The watch may overtake a lookup. It delivers changes in the order of their revisions, so it has already delivered
 * everything up to its revision, or something newer.
 */
const follow = (
  bucket: KvBucket,
  take: (change: Change) => void,
  onSnapshot: (seen: ReadonlySet<string>) => void,
  onTold: (change: Change) => void,
): Followed => {
  let told = 0;
  const watch = bucket.watch((change) => {
    told = change.revision;
    take(change);
    onTold(change);
  }, onSnapshot);
  return {
    read: async (keys) => {
      const found = await Promise.all(
        keys.map(async (key) => {
          const stored = await bucket.get(key);
          return stored === undefined ? [] : [{ key, ...stored }];
        }),
      );
      return found.flat();
    },
    catchUp: (found) => {
      for (const change of found) if (change.revision > told) take(change);
    },
    stop: () => watch.stop(),
  };
};

/** The records of a data id that a receiver reads beside its tokens. A placement that cannot be read is on no instance. */
const othersOfSource = [
  recordKeys.group,
  recordKeys.table,
  recordKeys.placement,
  recordKeys.sourcePolicy,
  recordKeys.sourceIdentity,
  recordKeys.purge,
];

const tokensOfSource = [recordKeys.dataSource, recordKeys.previousToken];

const keysOfApplication = [
  recordKeys.application,
  recordKeys.applicationPolicy,
  recordKeys.previousApplicationToken,
  recordKeys.applicationIdentity,
];

const keysOf = (id: number, keys: readonly ((id: number) => string)[]): string[] => keys.map((of) => of(id));

/** Throws for an owner one of whose records cannot be read, also where this process has read an earlier one: it is not the one that holds. */
const createRefusal = (unreadable: Pick<Unreadable, 'size' | 'has'>) => {
  const refuse = (id: number, keys: readonly ((id: number) => string)[]): void => {
    const key = unreadableOf(unreadable, id, keys);
    if (key !== undefined) throw unreadableFault(key);
  };
  const allOfSource = [...tokensOfSource, ...othersOfSource, columnsKey];
  return {
    source: (dataId: number) => refuse(dataId, allOfSource),
    application: (appId: number) => refuse(appId, keysOfApplication),
    /** The key of a record of the application that cannot be read. */
    unreadable: (appId: number) => unreadableOf(unreadable, appId, keysOfApplication),
  };
};

/** Reads the records of one credential from KV, so that they are known before the watch brings them. */
const createLookUps = (
  bucket: Pick<KvBucket, 'get'>,
  records: Followed,
  columns: Followed,
  refuse: ReturnType<typeof createRefusal>,
) => {
  /** All that is found takes effect at once: a source without its policy or its purge is never visible. */
  const source = async (dataId: number, token: string): Promise<void> => {
    const tokens = await records.read(keysOf(dataId, tokensOfSource));
    const isNamed = tokens.some(({ value }) => {
      const holder = tokenHolder.safeParse(value);
      return !holder.success || tokenMatches(token, holder.data.token);
    });
    if (!isNamed) return;
    const [others, registry] = await Promise.all([
      records.read([...keysOf(dataId, othersOfSource), recordKeys.identityKey]),
      columns.read([columnsKey(dataId)]),
    ]);
    records.catchUp([...tokens, ...others]);
    columns.catchUp(registry);
  };

  const application = async (token: string): Promise<void> => {
    const key = recordKeys.applicationToken(token);
    const named = await bucket.get(key);
    if (named === undefined) return;
    const appId = named.value;
    if (typeof appId !== 'number') throw unreadableFault(key);
    refuse.application(appId);
    records.catchUp(await records.read([...keysOf(appId, keysOfApplication), recordKeys.identityKey]));
    refuse.application(appId);
  };

  return { source, application };
};

/** The owner of a credential as this process has read it. */
const createFinders = (
  sources: Sources,
  applications: Applications,
  refuse: ReturnType<typeof createRefusal>,
  now: () => number,
) => ({
  source: (dataId: number, token: string): Source | undefined => {
    refuse.source(dataId);
    const source = sources.get(dataId);
    return source !== undefined && takesToken(source, token, now()) ? source : undefined;
  },
  application: (token: string): ApplicationSource | undefined => {
    const found = applications.byToken(token, now());
    if (found !== undefined) refuse.application(found.appId);
    return found;
  },
  /** Undefined too where one of its records cannot be read. */
  wholeApplication: (token: string): ApplicationSource | undefined => {
    const found = applications.byToken(token, now());
    return found === undefined || refuse.unreadable(found.appId) !== undefined ? undefined : found;
  },
});

/** Starts the watches. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: two watches, and what is read from both.
export const startDirectory = ({
  records: recordsBucket,
  columns: columnsBucket,
  defaults,
  now,
  onInvalid,
}: DirectoryOptions): Directory => {
  const sources = createSources(defaults.source);
  const applications = createApplications(defaults.application);
  const { findOnce, forgetMisses } = createFindOnce(now);
  const ready = { records: false, columns: false };
  let identityKey: Buffer | undefined;
  const unreadable = createUnreadable(onInvalid);
  const refuse = createRefusal(unreadable);

  const apply = ({ key, value }: Change): void => {
    try {
      if (key === recordKeys.identityKey)
        identityKey =
          value === undefined ? undefined : Buffer.from(identityKeySchema.parse(value).key, 'hex');
      else if (!applications.apply(key, value)) sources.apply(key, value);
      unreadable.delete(key);
    } catch (error) {
      unreadable.add(key, error);
    }
  };

  const records = follow(
    recordsBucket,
    apply,
    (seen) => {
      sources.keepOnly('records', seen);
      applications.keepOnly(seen);
      if (!seen.has(recordKeys.identityKey)) identityKey = undefined;
      unreadable.keepOnly(seen, (key) => !isRegistry(key));
      ready.records = true;
    },
    ({ key }) => {
      if (holdsToken.test(key)) forgetMisses();
    },
  );
  const columns = follow(
    columnsBucket,
    apply,
    (seen) => {
      sources.keepOnly('columns', seen);
      unreadable.keepOnly(seen, isRegistry);
      ready.columns = true;
    },
    () => {},
  );

  const lookUps = createLookUps(recordsBucket, records, columns, refuse);
  const find = createFinders(sources, applications, refuse, now);
  /** Without the key, receivers would disagree on the identity of a request. */
  const lacksIdentityKey = (): boolean => identityKey === undefined && unreadable.has(recordKeys.identityKey);

  return {
    get isReady() {
      return ready.records && ready.columns && !lacksIdentityKey();
    },
    source: sources.get,
    authorize: async (dataId, token) => {
      // A number that no data id can be would not even make a key.
      if (!Number.isSafeInteger(dataId) || dataId < 0) return undefined;
      return findOnce(
        `${dataId}:${token}`,
        () => find.source(dataId, token),
        () => lookUps.source(dataId, token),
      );
    },
    authorizeApplication: (token, isKnown) =>
      findOnce(
        `application:${token}`,
        () => find.application(token),
        () => lookUps.application(token),
        isKnown,
      ),
    application: find.wholeApplication,
    get unreadable() {
      return unreadable.problem;
    },
    get identityKey() {
      return identityKey;
    },
    isCredential: (text) => sources.holdsToken(text) || applications.holdsToken(text),
    applyRegistry: (registry) => {
      sources.apply(columnsKey(registry.mon_data_id), registry);
      return sources.get(registry.mon_data_id);
    },
    takeLastSeen: sources.takeLastSeen,
    stop: () => {
      records.stop();
      columns.stop();
    },
  };
};
