import { type Answer, ApiError, call, get } from '../../api/client.ts';
import type { Tone } from '../../parts/states.tsx';

// What sources (data ids of metrics) and applications (of traces) have in common, so that their pages are the same.

export type Activity = Answer<'/api/v1/data-sources/{id}/activity'>;
export type Policy = Answer<'/api/v1/data-sources/{id}/policy'>;
export type Revealed = Answer<'/api/v1/data-sources/{id}/reveal-token', 'post'>;
export type Rotated = Answer<'/api/v1/data-sources/{id}/rotate-token', 'post'>;
export type UsageRow = Answer<'/api/v1/usage'>['items'][number];
type With<T> = { readonly data: T; readonly etag: string | undefined };

export type OwnerState = 'enabled' | 'disabled' | 'creating' | 'purging' | 'deleted' | 'purged';

/** An owner of items, in the form of both pages. */
export type Owner = {
  readonly id: number;
  readonly name: string;
  readonly biz: number;
  readonly state: OwnerState;
};

/** The records of an owner by their names, each with its fields. */
export type Records = readonly (readonly [string, Readonly<Record<string, unknown>>])[];

/** One owner with what its page changes. An act that the owner does not have is absent. Each act sends the revision that was read. */
export type OneOwner = Owner & {
  readonly maxRate: number | undefined;
  readonly maskedToken: string;
  /** Of a source: the table that holds its rows, and the group that its columns belong to. */
  readonly tableId?: string | undefined;
  readonly groupId?: number | undefined;
  readonly records: Records;
  readonly details?: { readonly description: string; readonly scenario: string; readonly data_label: string };
  readonly setEnabled: (isEnabled: boolean) => Promise<unknown>;
  readonly setLimit?: ((maxRate: number) => Promise<unknown>) | undefined;
  readonly setDetails?: (details: Details) => Promise<unknown>;
  readonly rotate: (overlapSeconds: number | undefined) => Promise<With<Rotated>>;
  readonly remove?: () => Promise<unknown>;
  readonly purge?: ((typed: string) => Promise<unknown>) | undefined;
};

export type Details = NonNullable<Parameters<typeof patchReport>[1]>;

/** What the two kinds of owners differ in. */
export type Kind = {
  /** `source`, `application`: in sentences. */
  readonly noun: string;
  readonly path: '/sources' | '/applications';
  readonly items: 'points' | 'spans';
  readonly pipeline: 'metrics' | 'traces';
  /** The owner in a query of outcomes, drops and usage. */
  readonly queryOf: (id: number) => { data_id: number } | { app_id: number };
  readonly idOf: (of: { data_id: number; app_id: number }) => number;
  readonly list: (signal: AbortSignal) => Promise<{ owners: Owner[]; isCut: boolean }>;
  readonly read: (id: number, signal: AbortSignal) => Promise<OneOwner>;
  readonly activity: (
    id: number,
    query: { since?: number | undefined; minutes?: number },
    signal: AbortSignal,
  ) => Promise<Activity>;
  readonly policy: (id: number, signal?: AbortSignal) => Promise<With<Policy>>;
  readonly setPolicy: (id: number, change: PolicyChange, etag: string | undefined) => Promise<unknown>;
  readonly reveal: (id: number) => Promise<Revealed>;
};

/** A merge patch: a value, `off` for no bound, null for the value of the pipeline file. */
export type PolicyChange = Record<string, number | boolean | 'off' | null>;

type ReportRecords = Answer<'/api/v1/custom-reports/{id}/records'>;
type Application = Answer<'/api/v1/applications/{id}'>;

const pagesMax = 5;

/** The pages of a list, up to 5,000 items. */
const allOf = async <T>(
  read: (query: { limit: number; cursor?: string }) => Promise<{ items: T[]; next_cursor: string | null }>,
): Promise<{ items: T[]; isCut: boolean }> => {
  const items: T[] = [];
  let cursor: string | null | undefined;
  for (let page = 0; page < pagesMax && cursor !== null; page++) {
    const answer = await read({ limit: 1000, ...(cursor === undefined ? {} : { cursor }) });
    items.push(...answer.items);
    cursor = answer.next_cursor;
  }
  return { items, isCut: cursor !== null };
};

type Report = ReportRecords['custom_report'];
type Source = NonNullable<ReportRecords['data_source']>;

/** The state of a source from its report and its data source: either may be missing. */
export const sourceState = (
  report: Pick<Report, 'state'> | undefined,
  source: Pick<Source, 'is_enable'> | undefined,
): OwnerState => {
  if (report !== undefined && report.state !== 'active') return report.state;
  return source?.is_enable === true ? 'enabled' : 'disabled';
};

const bizOf = ({ data_name, is_platform_data_id }: Source): number =>
  is_platform_data_id ? 0 : Number.parseInt(data_name, 10);

const sourceOf = (id: number, report: Report | undefined, source: Source | undefined): Owner => ({
  id,
  name: report?.name ?? source?.data_name ?? '',
  biz: report?.mon_biz_id ?? (source === undefined ? 0 : bizOf(source)),
  state: sourceState(report, source),
});

/** Reports and data sources in one list: a data source may have no report, and a half created report no data source. */
export const mergedSources = (reports: readonly Report[], sources: readonly Source[]): Owner[] => {
  const byId = new Map(sources.map((source) => [source.mon_data_id, source]));
  const known = new Set(reports.map(({ mon_data_id }) => mon_data_id));
  return [
    ...reports.map((report) => sourceOf(report.mon_data_id, report, byId.get(report.mon_data_id))),
    ...sources.flatMap((source) =>
      known.has(source.mon_data_id) ? [] : [sourceOf(source.mon_data_id, undefined, source)],
    ),
  ].toSorted((left, right) => left.id - right.id);
};

const patchReport = (
  id: number,
  body: { description?: string; scenario?: Scenario; data_label?: string; max_rate?: number },
  etag: string | undefined,
) => call('patch', '/api/v1/custom-reports/{id}', { path: { id }, body, etag });

export const scenarios = [
  'others',
  'other_rt',
  'os',
  'host_process',
  'host_device',
  'kubernetes',
  'application_check',
  'uptimecheck',
  'apm',
  'component',
  'service_module',
  'service_process',
  'hardware_device',
  'applications',
  'services',
  'hosts',
  'data_center',
] as const;
export type Scenario = (typeof scenarios)[number];
export const scenarioOf = (text: string | undefined): Scenario | undefined =>
  scenarios.find((scenario) => scenario === text);

const rotateSource =
  (id: number, etag: string | undefined) =>
  (overlap_seconds: number | undefined): Promise<With<Rotated>> =>
    call('post', '/api/v1/data-sources/{id}/rotate-token', {
      path: { id },
      body: { ...(overlap_seconds === undefined ? {} : { overlap_seconds }) },
      etag,
    });

const withReport = ({ data: found, etag }: With<ReportRecords>, sourceEtag: string | undefined): OneOwner => {
  const { custom_report: report, data_source: source, time_series_group: group, result_table: table } = found;
  const { custom_report_id: id, mon_data_id, description, scenario, data_label } = report;
  const path = { id };
  return {
    ...sourceOf(mon_data_id, report, source),
    maxRate: group?.max_rate,
    maskedToken: source?.token ?? '',
    tableId: table?.table_id,
    groupId: group?.time_series_group_id,
    records: [
      ['CustomReport', report],
      ...(source === undefined ? [] : [['DataSource', source] as const]),
      ...(group === undefined ? [] : [['TimeSeriesGroup', group] as const]),
      ...(table === undefined ? [] : [['ResultTable', table] as const]),
    ],
    details: { description, scenario, data_label },
    setEnabled: (isEnabled) =>
      call('post', `/api/v1/custom-reports/{id}/${isEnabled ? 'enable' : 'disable'}`, { path, etag }),
    setLimit: (max_rate) => patchReport(id, { max_rate }, etag),
    setDetails: (details) => patchReport(id, details, etag),
    rotate: rotateSource(mon_data_id, sourceEtag),
    remove: () => call('delete', '/api/v1/custom-reports/{id}', { path, etag }),
    purge: (table_id) =>
      call('post', '/api/v1/custom-reports/{id}/purge', { path, body: { table_id }, etag }),
  };
};

const withoutReport = async (
  id: number,
  { data: source, etag }: With<Source>,
  signal: AbortSignal,
): Promise<OneOwner> => {
  const query = { mon_data_id: id };
  const [groups, tables] = await Promise.all([
    get('/api/v1/time-series-groups', { query, signal }),
    get('/api/v1/result-tables', { query, signal }),
  ]);
  const group = groups.items[0];
  const table = tables.items[0];
  const groupPath = group && { id: group.time_series_group_id };
  const groupEtag =
    groupPath && (await call('get', '/api/v1/time-series-groups/{id}', { path: groupPath, signal })).etag;
  return {
    ...sourceOf(id, undefined, source),
    maxRate: group?.max_rate,
    maskedToken: source.token,
    tableId: table?.table_id,
    groupId: group?.time_series_group_id,
    records: [
      ['DataSource', source],
      ...(group === undefined ? [] : [['TimeSeriesGroup', group] as const]),
      ...(table === undefined ? [] : [['ResultTable', table] as const]),
    ],
    setEnabled: (isEnabled) =>
      call('post', `/api/v1/data-sources/{id}/${isEnabled ? 'enable' : 'disable'}`, { path: { id }, etag }),
    setLimit:
      groupPath &&
      ((max_rate) =>
        call('patch', '/api/v1/time-series-groups/{id}', {
          path: groupPath,
          body: { max_rate },
          etag: groupEtag,
        })),
    rotate: rotateSource(id, etag),
    purge:
      table &&
      ((table_id) =>
        call('post', '/api/v1/data-sources/{id}/purge', { path: { id }, body: { table_id }, etag })),
  };
};

/** The data ids of metrics. */
export const sources: Kind = {
  noun: 'source',
  path: '/sources',
  items: 'points',
  pipeline: 'metrics',
  queryOf: (id) => ({ data_id: id }),
  idOf: ({ data_id }) => data_id,
  list: async (signal) => {
    const [reports, found] = await Promise.all([
      allOf((query) => get('/api/v1/custom-reports', { query, signal })),
      allOf((query) => get('/api/v1/data-sources', { query, signal })),
    ]);
    return { owners: mergedSources(reports.items, found.items), isCut: reports.isCut || found.isCut };
  },
  read: async (id, signal) => {
    const [reports, source] = await Promise.all([
      get('/api/v1/custom-reports', { query: { mon_data_id: id }, signal }),
      call('get', '/api/v1/data-sources/{id}', { path: { id }, signal }),
    ]);
    const report = reports.items[0];
    if (report === undefined) return withoutReport(id, source, signal);
    const path = { id: report.custom_report_id };
    return withReport(
      await call('get', '/api/v1/custom-reports/{id}/records', { path, signal }),
      source.etag,
    );
  },
  activity: (id, query, signal) => get('/api/v1/data-sources/{id}/activity', { path: { id }, query, signal }),
  policy: (id, signal) => call('get', '/api/v1/data-sources/{id}/policy', { path: { id }, signal }),
  setPolicy: (id, body, etag) =>
    call('patch', '/api/v1/data-sources/{id}/policy', { path: { id }, body, etag }),
  reveal: async (id) =>
    (await call('post', '/api/v1/data-sources/{id}/reveal-token', { path: { id }, body: {} })).data,
};

const stateOfApplication = ({ is_delete, is_enable }: Application): OwnerState => {
  if (is_delete) return 'deleted';
  return is_enable ? 'enabled' : 'disabled';
};

const applicationOf = (record: Application): Owner => ({
  id: record.app_id,
  name: record.app_name,
  biz: record.mon_biz_id,
  state: stateOfApplication(record),
});

/** The owners of traces. */
export const applications: Kind = {
  noun: 'application',
  path: '/applications',
  items: 'spans',
  pipeline: 'traces',
  queryOf: (id) => ({ app_id: id }),
  idOf: ({ app_id }) => app_id,
  list: async (signal) => {
    const { items, isCut } = await allOf((query) => get('/api/v1/applications', { query, signal }));
    return { owners: items.map(applicationOf), isCut };
  },
  read: async (id, signal) => {
    const path = { id };
    const { data, etag } = await call('get', '/api/v1/applications/{id}', { path, signal });
    return {
      ...applicationOf(data),
      maxRate: data.max_rate,
      maskedToken: data.token,
      records: [['Application', data]],
      setEnabled: (isEnabled) =>
        call('post', `/api/v1/applications/{id}/${isEnabled ? 'enable' : 'disable'}`, { path, etag }),
      setLimit: (max_rate) => call('patch', '/api/v1/applications/{id}', { path, body: { max_rate }, etag }),
      rotate: (overlap_seconds) =>
        call('post', '/api/v1/applications/{id}/rotate-token', {
          path,
          body: { ...(overlap_seconds === undefined ? {} : { overlap_seconds }) },
          etag,
        }),
      remove: () => call('delete', '/api/v1/applications/{id}', { path, etag }),
    };
  },
  activity: (id, query, signal) => get('/api/v1/applications/{id}/activity', { path: { id }, query, signal }),
  policy: (id, signal) => call('get', '/api/v1/applications/{id}/policy', { path: { id }, signal }),
  setPolicy: (id, body, etag) =>
    call('patch', '/api/v1/applications/{id}/policy', { path: { id }, body, etag }),
  reveal: async (id) =>
    (await call('post', '/api/v1/applications/{id}/reveal-token', { path: { id }, body: {} })).data,
};

const stateTones: Readonly<Record<OwnerState, readonly [Tone, string]>> = {
  enabled: ['good', 'enabled'],
  disabled: ['warn', 'disabled'],
  creating: ['warn', 'half created'],
  purging: ['warn', 'purge under way'],
  deleted: ['neutral', 'deleted'],
  purged: ['neutral', 'purged'],
};
export const toneOfState = (state: OwnerState): readonly [Tone, string] => stateTones[state];

/** Whether changes are still possible. */
export const isAlive = ({ state }: Pick<Owner, 'state'>): boolean =>
  state === 'enabled' || state === 'disabled' || state === 'creating';

/** What `max_rate` means. */
export const rateText = (maxRate: number): string => {
  if (maxRate === 0) return 'unlimited';
  if (maxRate === -1) return 'the default of the deployment';
  return maxRate < -1 ? 'every request is refused' : `${maxRate.toLocaleString('en')} requests a second`;
};

/** Runs a change and reads the owner again. Its refusal because of another change (412) says what to do in this page. */
export const changing = async <T>(reload: () => void, change: () => Promise<T>): Promise<T> => {
  try {
    const done = await change();
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
