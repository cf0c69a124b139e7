import { createHash, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { Change, KvBucket } from '../bus/kv.ts';
import type { ColumnRegistry, Layout } from '../model/records.ts';
import { type ApplicationSource, createApplications } from './applications.ts';
import { columnsKey, recordKeys } from './keys.ts';

/** What a receiver and transfer need of one data id; rebuilt whenever one of its records or its registry changes. */
export type Source = {
  readonly dataId: number;
  readonly token: string;
  /** All flags of design section 3 together. */
  readonly isEnabled: boolean;
  readonly typeLabel: string;
  readonly tableId: string;
  readonly layout: Layout;
  /** As recorded: requests per second, < -1 none, -1 the default, 0 unlimited. */
  readonly maxRate: number;
  readonly metrics: ReadonlyMap<string, string>;
  readonly dimensions: ReadonlyMap<string, string>;
};

/** The records of all data ids in memory, kept by a watch; the last state stays while NATS is away. */
export type Directory = {
  /** False until the first whole state was read: until then nothing may be refused as unknown. */
  readonly isReady: boolean;
  source(dataId: number): Source | undefined;
  /**
   * The source whose token this is: from memory, else looked up once in KV (and not again for some seconds for the same
   * pair). Undefined for an unknown data id and for a wrong token alike. Throws a transient Fault when KV does not answer.
   */
  authorize(dataId: number, token: string): Promise<Source | undefined>;
  /** The application whose write token this is: from memory, else looked up once in KV. Undefined for an unknown token. */
  authorizeApplication(token: string): Promise<ApplicationSource | undefined>;
  /** The same from memory alone. */
  application(token: string): ApplicationSource | undefined;
  /** Takes in a registry that this process has just written, before the watch tells of it. */
  applyRegistry(registry: ColumnRegistry): Source | undefined;
  stop(): void;
};

const dataSourceFields = z.object({ token: z.string(), is_enable: z.boolean(), type_label: z.string() });
const groupFields = z.object({
  is_enable: z.boolean(),
  is_delete: z.boolean(),
  max_rate: z.number(),
  is_split_measurement: z.boolean(),
});
const tableFields = z.object({ table_id: z.string(), is_enable: z.boolean(), is_deleted: z.boolean() });
const registeredName = z.object({
  name: z.string(),
  column: z.string(),
  first_seen: z.number(),
  last_seen: z.number(),
});

/** Shape of a column registry in KV. */
export const columnRegistrySchema = z.object({
  mon_data_id: z.number(),
  metrics: z.array(registeredName),
  dimensions: z.array(registeredName),
});

type Records = {
  dataSource?: z.infer<typeof dataSourceFields> | undefined;
  group?: z.infer<typeof groupFields> | undefined;
  table?: z.infer<typeof tableFields> | undefined;
  registry?: ColumnRegistry | undefined;
  source?: Source | undefined;
};

const keyPattern = /^(data_source|group|table|columns)\.(\d{1,15})$/;

const noNames: ReadonlyMap<string, string> = new Map();

const namesOf = (entries: ColumnRegistry['metrics'] | undefined): ReadonlyMap<string, string> =>
  entries === undefined ? noNames : new Map(entries.map((entry) => [entry.name, entry.column]));

const buildSource = (dataId: number, records: Records): Source | undefined => {
  const { dataSource, group, table, registry } = records;
  if (dataSource === undefined || group === undefined || table === undefined) return undefined;
  return {
    dataId,
    token: dataSource.token,
    isEnabled:
      dataSource.is_enable && group.is_enable && !group.is_delete && table.is_enable && !table.is_deleted,
    typeLabel: dataSource.type_label,
    tableId: table.table_id,
    layout: group.is_split_measurement ? 'narrow' : 'wide',
    maxRate: group.max_rate,
    metrics: namesOf(registry?.metrics),
    dimensions: namesOf(registry?.dimensions),
  };
};

/** In constant time for tokens of the right length, which is no secret. */
const tokenMatches = (given: string, expected: string): boolean => {
  const a = Buffer.from(given);
  const b = Buffer.from(expected);
  return a.length === b.length && timingSafeEqual(a, b);
};

/** A pair that was looked up in vain is not looked up again for this long, so that wrong tokens cannot load the bus. */
const missMemoryMs = 2_000;
const missesMax = 10_000;

export type DirectoryOptions = {
  readonly records: KvBucket;
  readonly columns: KvBucket;
  readonly now: () => number;
  /** Told of a record that does not parse: it is ignored, what was known before stays. */
  readonly onInvalid: (key: string, error: unknown) => void;
};

/** Starts the watches. */
export const startDirectory = ({
  records: recordsBucket,
  columns: columnsBucket,
  now,
  onInvalid,
}: DirectoryOptions): Directory => {
  const byDataId = new Map<number, Records>();
  const applications = createApplications();
  const misses = new Map<string, number>();
  const ready = { records: false, columns: false };

  const set = (kind: string, dataId: number, value: unknown): void => {
    const records = byDataId.get(dataId) ?? {};
    const parse = <T>(schema: z.ZodType<T>): T | undefined =>
      value === undefined ? undefined : schema.parse(value);
    if (kind === 'data_source') records.dataSource = parse(dataSourceFields);
    else if (kind === 'group') records.group = parse(groupFields);
    else if (kind === 'table') records.table = parse(tableFields);
    else records.registry = parse(columnRegistrySchema);
    records.source = buildSource(dataId, records);
    byDataId.set(dataId, records);
  };

  const apply = (change: Change): void => {
    try {
      if (applications.apply(change.key, change.value)) return;
      const match = keyPattern.exec(change.key);
      if (match === null) return;
      set(match[1] ?? '', Number(match[2]), change.value);
    } catch (error) {
      onInvalid(change.key, error);
    }
  };

  const dropUnseen = (seen: ReadonlySet<string>, kinds: readonly string[]): void => {
    for (const [dataId, records] of byDataId) {
      for (const kind of kinds) {
        const isKnown = kind === 'columns' ? records.registry !== undefined : true;
        if (isKnown && !seen.has(`${kind}.${dataId}`)) set(kind, dataId, undefined);
      }
    }
  };

  const watches = [
    recordsBucket.watch(apply, (seen) => {
      dropUnseen(seen, ['data_source', 'group', 'table']);
      applications.keepOnly(seen);
      ready.records = true;
    }),
    columnsBucket.watch(apply, (seen) => {
      dropUnseen(seen, ['columns']);
      ready.columns = true;
    }),
  ];

  const lookUp = async (dataId: number): Promise<void> => {
    const [dataSource, group, table, registry] = await Promise.all([
      recordsBucket.get(recordKeys.dataSource(dataId)),
      recordsBucket.get(recordKeys.group(dataId)),
      recordsBucket.get(recordKeys.table(dataId)),
      columnsBucket.get(columnsKey(dataId)),
    ]);
    if (dataSource === undefined) return;
    apply({ key: recordKeys.dataSource(dataId), value: dataSource.value, revision: dataSource.revision });
    if (group !== undefined)
      apply({ key: recordKeys.group(dataId), value: group.value, revision: group.revision });
    if (table !== undefined)
      apply({ key: recordKeys.table(dataId), value: table.value, revision: table.revision });
    if (registry !== undefined) {
      apply({ key: columnsKey(dataId), value: registry.value, revision: registry.revision });
    }
  };

  const matching = (dataId: number, token: string): Source | undefined => {
    const source = byDataId.get(dataId)?.source;
    return source !== undefined && tokenMatches(token, source.token) ? source : undefined;
  };

  /** Answers from memory, else looks up once; a credential that was not found is not looked up again for a while. */
  const findOnce = async <T>(
    credential: string,
    find: () => T | undefined,
    fetch: () => Promise<void>,
  ): Promise<T | undefined> => {
    const known = find();
    if (known !== undefined) return known;
    const digest = createHash('sha256').update(credential).digest('base64');
    const missedAt = misses.get(digest);
    if (missedAt !== undefined && now() - missedAt < missMemoryMs) return undefined;
    await fetch();
    const found = find();
    if (found === undefined) {
      if (misses.size >= missesMax) misses.clear();
      misses.set(digest, now());
    }
    return found;
  };

  const lookUpApplication = async (token: string): Promise<void> => {
    const index = await recordsBucket.get(recordKeys.applicationToken(token));
    const appId = index?.value;
    if (typeof appId !== 'number') return;
    for (const key of [recordKeys.application(appId), recordKeys.applicationPolicy(appId)]) {
      const stored = await recordsBucket.get(key);
      if (stored !== undefined) apply({ key, value: stored.value, revision: stored.revision });
    }
  };

  return {
    get isReady() {
      return ready.records && ready.columns;
    },
    source: (dataId) => byDataId.get(dataId)?.source,
    authorize: async (dataId, token) => {
      // A number that no data id can be would not even make a key.
      if (!Number.isSafeInteger(dataId) || dataId < 0) return undefined;
      return findOnce(
        `${dataId}:${token}`,
        () => matching(dataId, token),
        () => lookUp(dataId),
      );
    },
    authorizeApplication: (token) =>
      findOnce(
        `application:${token}`,
        () => applications.byToken(token),
        () => lookUpApplication(token),
      ),
    application: applications.byToken,
    applyRegistry: (registry) => {
      set('columns', registry.mon_data_id, registry);
      return byDataId.get(registry.mon_data_id)?.source;
    },
    stop: () => {
      for (const watch of watches) watch.stop();
    },
  };
};
