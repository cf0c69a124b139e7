import { type Answer, ApiError, call, get } from '../../api/client.ts';
import type { OrUndefined } from '../../api/or-undefined.ts';
import { wholeText } from '../../parts/figures.ts';
import { isOfApplications, itemsOf, listed, type Pipeline, pipelines } from '../../parts/signals.ts';
import type { Tone } from '../../parts/states.tsx';
import { announce } from '../../shell/announce.tsx';
import {
  type Activity,
  mergedSources,
  type Owner,
  type OwnerState,
  type Policy,
  type Report,
  sourceOf,
} from './figures.ts';

export type { Activity, Owner, Policy };

// What sources (data ids of metrics) and applications (of traces and logs) have in common, so that their pages are the same.

/** A record that an act changes, with the revision that was read. */
type Ref<B extends string> = { readonly base: B; readonly id: number; readonly etag: string | undefined };

/** One owner with the records that its page shows and changes; a record that is missing has no acts. */
export type OneOwner = Owner & {
  readonly maxRate: number | undefined;
  readonly maskedToken: string;
  readonly tableId?: string | undefined;
  readonly groupId?: number | undefined;
  readonly records: readonly (readonly [string, object])[];
  readonly report?: Report;
  readonly switched: Ref<'custom-reports' | 'data-sources' | 'applications'>;
  readonly limited: Ref<'custom-reports' | 'time-series-groups' | 'applications'> | undefined;
  readonly tokened: Ref<Kind['base']>;
  readonly removed?: Ref<'custom-reports' | 'applications'>;
  readonly purged?: Ref<'custom-reports' | 'data-sources'> | undefined;
};

export type Owners = { readonly owners: Owner[]; readonly isCut: boolean };

/** What the two kinds of owners differ in. */
export type Kind = {
  readonly noun: 'source' | 'application';
  readonly path: '/sources' | '/applications';
  readonly base: 'data-sources' | 'applications';
  /** What it sends: the pipelines of its items. */
  readonly pipelines: readonly Pipeline[];
  /** The owner in a query of outcomes, drops and usage, and in their rows. */
  readonly queryOf: (id: number) => { data_id: number } | { app_id: number };
  readonly idOf: (of: { data_id: number; app_id: number }) => number;
  /** Those that a search finds, or all: up to 5,000. */
  readonly list: (signal: AbortSignal, search?: string) => Promise<Owners>;
  readonly read: (id: number, signal: AbortSignal) => Promise<OneOwner>;
};

/** Its items in a sentence: `spans and log records`. */
export const itemsOfKind = (kind: Kind): string => listed(kind.pipelines.map(itemsOf), 'and');

type Application = Answer<'/api/v1/applications/{id}'>;
type SourceRecords = Answer<'/api/v1/custom-reports/{id}/records'>;

const pagesMax = 5;

/** The pages of a list, up to 5,000 items. */
const allOf = async <T>(
  read: (query: {
    limit: number;
    cursor: string | undefined;
  }) => Promise<{ items: T[]; next_cursor: string | null }>,
): Promise<{ items: T[]; isCut: boolean }> => {
  const items: T[] = [];
  let cursor: string | null | undefined;
  for (let page = 0; page < pagesMax && cursor !== null; page++) {
    const answer = await read({ limit: 1000, cursor });
    items.push(...answer.items);
    cursor = answer.next_cursor;
  }
  return { items, isCut: cursor !== null };
};

/** Values and `etag` of a record are of one call: with a later revision, a form of these values would undo the change between. */
const readSource = async (id: number, signal: AbortSignal): Promise<OneOwner> => {
  const query = { mon_data_id: id };
  const [reports, source, groups, tables] = await Promise.all([
    get('/api/v1/custom-reports', { query, signal }),
    call('get', '/api/v1/data-sources/{id}', { path: { id }, signal }),
    get('/api/v1/time-series-groups', { query, signal }),
    get('/api/v1/result-tables', { query, signal }),
  ]);
  const tokened = { base: 'data-sources', id, etag: source.etag } as const;
  const ownerOf = (records: OrUndefined<Partial<SourceRecords>>) => ({
    ...sourceOf(id, records.custom_report, records.data_source),
    maxRate: records.time_series_group?.max_rate,
    maskedToken: source.data.token,
    tableId: records.result_table?.table_id,
    groupId: records.time_series_group?.time_series_group_id,
    records: Object.entries({
      CustomReport: records.custom_report,
      DataSource: records.data_source,
      TimeSeriesGroup: records.time_series_group,
      ResultTable: records.result_table,
    }).flatMap(([name, record]) => (record === undefined ? [] : [[name, record] as const])),
    tokened,
  });
  const [report] = reports.items;
  if (report !== undefined) {
    const path = { id: report.custom_report_id };
    const { data, etag } = await call('get', '/api/v1/custom-reports/{id}/records', { path, signal });
    const ref = { base: 'custom-reports', ...path, etag } as const;
    return {
      ...ownerOf(data),
      report: data.custom_report,
      switched: ref,
      limited: ref,
      removed: ref,
      purged: ref,
    };
  }
  const [table] = tables.items;
  const path = { id: groups.items[0]?.time_series_group_id ?? 0 };
  const group =
    groups.items.length === 0
      ? undefined
      : await call('get', '/api/v1/time-series-groups/{id}', { path, signal });
  return {
    ...ownerOf({ data_source: source.data, time_series_group: group?.data, result_table: table }),
    switched: tokened,
    limited: group && { base: 'time-series-groups', ...path, etag: group.etag },
    purged: table && tokened,
  };
};

export const sources: Kind = {
  noun: 'source',
  path: '/sources',
  base: 'data-sources',
  pipelines: pipelines.filter((pipeline) => !isOfApplications(pipeline)),
  queryOf: (id) => ({ data_id: id }),
  idOf: ({ data_id }) => data_id,
  list: async (signal, search) => {
    const [reports, found] = await Promise.all([
      allOf((page) => get('/api/v1/custom-reports', { query: { ...page, search }, signal })),
      allOf((page) => get('/api/v1/data-sources', { query: { ...page, search }, signal })),
    ]);
    // Behind the end of a list that is cut, a source would look like one whose report or data source is missing.
    const last = Math.min(
      reports.isCut ? (reports.items.at(-1)?.mon_data_id ?? 0) : Number.POSITIVE_INFINITY,
      found.isCut ? (found.items.at(-1)?.mon_data_id ?? 0) : Number.POSITIVE_INFINITY,
    );
    const owners = mergedSources(reports.items, found.items).filter(({ id }) => id <= last);
    return { owners, isCut: reports.isCut || found.isCut };
  },
  read: readSource,
};

const applicationOf = ({ app_id, app_name, mon_biz_id, is_delete, is_enable }: Application): Owner => ({
  id: app_id,
  name: app_name,
  biz: mon_biz_id,
  state: is_delete ? 'deleted' : is_enable ? 'enabled' : 'disabled',
});

export const applications: Kind = {
  noun: 'application',
  path: '/applications',
  base: 'applications',
  pipelines: pipelines.filter(isOfApplications),
  queryOf: (id) => ({ app_id: id }),
  idOf: ({ app_id }) => app_id,
  list: async (signal, search) => {
    const { items, isCut } = await allOf((page) =>
      get('/api/v1/applications', { query: { ...page, search }, signal }),
    );
    return { owners: items.map(applicationOf), isCut };
  },
  read: async (id, signal) => {
    const { data, etag } = await call('get', '/api/v1/applications/{id}', { path: { id }, signal });
    const ref = { base: 'applications', id, etag } as const;
    return {
      ...applicationOf(data),
      maxRate: data.max_rate,
      maskedToken: data.token,
      records: [['Application', data]],
      ...{ switched: ref, limited: ref, tokened: ref, removed: ref },
    };
  },
};

const tones: Readonly<Record<OwnerState, readonly [Tone, string]>> = {
  enabled: ['good', 'enabled'],
  disabled: ['warn', 'disabled'],
  creating: ['warn', 'half created'],
  purging: ['warn', 'purge under way'],
  deleted: ['neutral', 'deleted'],
  purged: ['neutral', 'purged'],
};
export const toneOfState = (state: OwnerState): readonly [Tone, string] => tones[state];

/** Whether changes are still possible. */
export const isAlive = ({ state }: Pick<Owner, 'state'>): boolean =>
  state === 'enabled' || state === 'disabled';

export const rateText = (maxRate: number): string => {
  if (maxRate === 0) return 'unlimited';
  if (maxRate === -1) return 'the default of the deployment';
  return maxRate < -1 ? 'every request is refused' : `${wholeText(maxRate)} requests a second`;
};

/** Runs a change, says that it is done and reads the owner again. Its refusal because of another change (412) says what to do in this page. */
export const changing = async <T>(reload: () => void, said: string, change: () => T): Promise<Awaited<T>> => {
  try {
    const done = await change();
    announce(said);
    reload();
    return done;
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 412) throw error;
    reload();
    throw new ApiError(412, {
      code: error.code,
      detail: 'Another call changed this record after the page had read it. Nothing was changed now.',
      remedy:
        'The page has read the record again. Close this, look at the new values, and repeat the change.',
    });
  }
};
