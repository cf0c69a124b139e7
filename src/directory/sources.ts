import { z } from 'zod';
import { defaultInstance } from '../model/instances.ts';
import type { Layout } from '../model/records.ts';
import type { ColumnMap } from '../rules/points/point-table.ts';
import { SightedColumns } from './column-map.ts';
import { readPlacementSchema } from './placements.ts';
import { sourcePolicySchema } from './policies.ts';
import {
  columnRegistrySchema,
  dataSourceSchema,
  identityCredentialSchema,
  type PreviousToken,
  previousTokenSchema,
  resultTableSchema,
  timeSeriesGroupSchema,
} from './records.ts';
import { type SourceRules, sourceRules } from './rules.ts';
import { expiryMs, tokenMatches } from './tokens.ts';

/** What the push receiver needs of one data id; rebuilt whenever one of its records, its policy or its registry changes. */
export type Source = {
  readonly dataId: number;
  readonly token: string;
  /** The token before the last rotation; the clock decides whether it still counts (see `takesToken`). */
  readonly previousToken: PreviousToken | undefined;
  /** The first token, which identifies repeats, where it differs from the present one. */
  readonly identityCredential: string | undefined;
  /** All flags of architecture 8.1 together; a purged data id is never enabled. */
  readonly isEnabled: boolean;
  readonly typeLabel: string;
  readonly tableId: string;
  /** The QuestDB instance that the table lies on. */
  readonly questdb: string;
  readonly layout: Layout;
  /** As recorded: requests per second, < -1 none, -1 the default, 0 unlimited. */
  readonly maxRate: number;
  readonly rules: SourceRules;
  readonly metrics: ColumnMap;
  readonly dimensions: ColumnMap;
};

/** Names of a data id that were seen in requests. */
export type LastSeen = {
  readonly dataId: number;
  readonly metrics: readonly string[];
  readonly dimensions: readonly string[];
};

type Names = { readonly metrics: SightedColumns; readonly dimensions: SightedColumns };

/** What is kept of each record of a data id, by the kind that its key begins with. */
const schemas = {
  data_source: dataSourceSchema.pick({ token: true, is_enable: true, type_label: true }),
  group: timeSeriesGroupSchema.pick({
    is_enable: true,
    is_delete: true,
    max_rate: true,
    is_split_measurement: true,
  }),
  table: resultTableSchema.pick({ table_id: true, is_enable: true, is_deleted: true }),
  placement: readPlacementSchema,
  source_policy: sourcePolicySchema,
  previous_token: previousTokenSchema,
  source_identity: identityCredentialSchema,
  /** That it is there is all that counts. */
  purge: z.unknown(),
  columns: columnRegistrySchema.transform(
    ({ metrics, dimensions }): Names => ({
      metrics: new SightedColumns(metrics),
      dimensions: new SightedColumns(dimensions),
    }),
  ),
};

type Kind = keyof typeof schemas;
type Fields = { [K in Kind]: z.output<(typeof schemas)[K]> };

const schemaOf: { readonly [K in Kind]: z.ZodType<Fields[K]> } = schemas;

const kindsOfBucket = {
  records: [
    ...(['data_source', 'group', 'table', 'placement', 'source_policy'] as const),
    ...(['previous_token', 'source_identity', 'purge'] as const),
  ],
  columns: ['columns'],
} as const satisfies Record<string, readonly Kind[]>;

type Known = Partial<Fields> & { source?: Source | undefined };

const isKind = (text: string): text is Kind => Object.hasOwn(schemas, text);

const keyPattern = /^([a-z_]+)\.(\d{1,15})$/;

const noNames: Names = { metrics: new SightedColumns([]), dimensions: new SightedColumns([]) };

const buildSource = (dataId: number, known: Known, inherited: SourceRules): Source | undefined => {
  const { data_source: dataSource, group, table } = known;
  if (dataSource === undefined || group === undefined || table === undefined) return undefined;
  const { metrics, dimensions } = known.columns ?? noNames;
  return {
    dataId,
    token: dataSource.token,
    previousToken: known.previous_token,
    identityCredential: known.source_identity?.identity_credential,
    isEnabled:
      dataSource.is_enable &&
      group.is_enable &&
      !group.is_delete &&
      table.is_enable &&
      !table.is_deleted &&
      known.purge === undefined,
    typeLabel: dataSource.type_label,
    tableId: table.table_id,
    questdb: known.placement?.questdb ?? defaultInstance,
    layout: group.is_split_measurement ? 'narrow' : 'wide',
    maxRate: group.max_rate,
    rules: sourceRules(known.source_policy, inherited),
    metrics,
    dimensions,
  };
};

/**
 * Whether a producer may write with this token now: it is the current one, or the one before while it has not expired. Both are
 * compared even if the first matches, so that the time does not reveal which one it was.
 */
export const takesToken = ({ token, previousToken }: Source, given: string, nowMs: number): boolean => {
  const isCurrent = tokenMatches(given, token);
  const isPrevious = tokenMatches(given, previousToken?.token ?? token);
  return isCurrent || (isPrevious && previousToken !== undefined && nowMs < expiryMs(previousToken));
};

/** The data ids in memory. */
export type Sources = {
  /** Takes a change of a KV key; false when the key is not one of a data id. Throws when the value does not parse. */
  apply(key: string, value: unknown): boolean;
  /** Forgets what a whole reading of the bucket did not show. */
  keepOnly(bucket: keyof typeof kindsOfBucket, seen: ReadonlySet<string>): void;
  get(dataId: number): Source | undefined;
  /** Whether this is a token of any data id, current or of before its last rotation. */
  holdsToken(text: string): boolean;
  /** What was seen since the last call of names that the registries last saw before `seconds` (Unix). */
  takeLastSeen(seconds: number): LastSeen[];
};

/** `inherited`: the rules of a data id without a policy. */
export const createSources = (inherited: SourceRules): Sources => {
  const byDataId = new Map<number, Known>();
  /** By token, of how many records: two data ids may have been imported with one. */
  const tokens = new Map<string, number>();

  const noteToken = (token: string | undefined, by: 1 | -1): void => {
    if (token === undefined) return;
    const count = (tokens.get(token) ?? 0) + by;
    if (count > 0) tokens.set(token, count);
    else tokens.delete(token);
  };

  const noteTokens = ({ data_source, previous_token }: Known, by: 1 | -1): void => {
    noteToken(data_source?.token, by);
    noteToken(previous_token?.token, by);
  };

  const set = <K extends Kind>(kind: K, dataId: number, value: unknown): void => {
    const parsed = value === undefined ? undefined : schemaOf[kind].parse(value);
    const known: Known = byDataId.get(dataId) ?? {};
    noteTokens(known, -1);
    if (parsed === undefined) delete known[kind];
    else known[kind] = parsed;
    noteTokens(known, 1);
    known.source = buildSource(dataId, known, inherited);
    byDataId.set(dataId, known);
  };

  return {
    apply: (key, value) => {
      const [, kind = '', id] = keyPattern.exec(key) ?? [];
      if (!isKind(kind)) return false;
      set(kind, Number(id), value);
      return true;
    },
    keepOnly: (bucket, seen) => {
      for (const [dataId, known] of byDataId) {
        for (const kind of kindsOfBucket[bucket]) {
          if (known[kind] !== undefined && !seen.has(`${kind}.${dataId}`)) set(kind, dataId, undefined);
        }
      }
    },
    get: (dataId) => byDataId.get(dataId)?.source,
    holdsToken: (text) => tokens.has(text),
    takeLastSeen: (seconds) => {
      const lastSeen: LastSeen[] = [];
      for (const [dataId, { columns }] of byDataId) {
        const metrics = columns?.metrics.takeLastSeen(seconds) ?? [];
        const dimensions = columns?.dimensions.takeLastSeen(seconds) ?? [];
        if (metrics.length + dimensions.length > 0) lastSeen.push({ dataId, metrics, dimensions });
      }
      return lastSeen;
    },
  };
};
