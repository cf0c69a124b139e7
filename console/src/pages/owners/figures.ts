import { type Answer, ApiError } from '../../api/client.ts';
import { wholeText } from '../../parts/figures.ts';
import { itemOf, listed, type Pipeline } from '../../parts/signals.ts';

// What the pages of owners compute: no element of a page is here, so that tests need no browser.

export type OwnerState = 'enabled' | 'disabled' | 'creating' | 'purging' | 'deleted' | 'purged';

/** An owner of items, in the form of both lists. */
export type Owner = {
  readonly id: number;
  readonly name: string;
  readonly biz: number;
  readonly state: OwnerState;
};

export type Activity = Answer<'/api/v1/data-sources/{id}/activity'>;
export type Policy = Answer<'/api/v1/data-sources/{id}/policy'>;
export type Report = Answer<'/api/v1/custom-reports/{id}'>;
type Source = Answer<'/api/v1/data-sources/{id}'>;

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

/** A source of which the report or the data source may be missing. */
export const sourceOf = (id: number, report: Report | undefined, source: Source | undefined): Owner => ({
  id,
  name: report?.name ?? source?.data_name ?? '',
  biz: report?.mon_biz_id ?? (source === undefined ? 0 : bizOf(source)),
  state: sourceState(report, source),
});

/** Reports and data sources in one list: a data source may have no report, and a half created report no data source. */
export const mergedSources = (reports: readonly Report[], sources: readonly Source[]): Owner[] => {
  const byId = new Map(sources.map((source) => [source.mon_data_id, source]));
  const known = new Set(reports.map(({ mon_data_id }) => mon_data_id));
  const alone = sources.filter(({ mon_data_id }) => !known.has(mon_data_id));
  return [
    ...reports.map((report) => sourceOf(report.mon_data_id, report, byId.get(report.mon_data_id))),
    ...alone.map((source) => sourceOf(source.mon_data_id, undefined, source)),
  ].toSorted((left, right) => left.id - right.id);
};

type Balance = Answer<'/api/v1/outcomes'>['items'][number];

const terms = ['received', 'stored', 'dropped', 'dead_lettered', 'repeated', 'lost', 'in_flight'] as const;
export type Term = (typeof terms)[number];
/** A sum, and each minute's count, the oldest first; no minutes where they are not known. */
export type Counts = { sum: number; readonly minutes: number[] };
/** What became of the items of an owner in the last hour, by the terms of its account; `lost`: or stuck, or unrecorded. */
export type Hour = ReadonlyMap<Term, Counts>;

const minutesOfHour = 60;

const termsOf = (row: Balance): Readonly<Record<Term, number>> => ({
  ...row,
  dropped: Object.values(row.dropped).reduce((total, count) => total + count, 0),
  lost: row.lost + row.stuck + row.unrecorded,
});

/** The hour of each owner: its sums from `rows`, one or more of an owner, and its minutes from rows by minute. */
export const hoursOf = (
  rows: readonly Balance[],
  byMinute: readonly Balance[],
  idOf: (row: Balance) => number,
  until: number,
): ReadonlyMap<number, Hour> => {
  const hours = new Map<number, Hour>();
  for (const row of rows) {
    const hour = hours.get(idOf(row)) ?? new Map(terms.map((term) => [term, { sum: 0, minutes: [] }]));
    hours.set(idOf(row), hour);
    const values = termsOf(row);
    for (const [term, counts] of hour) counts.sum += values[term];
  }
  const first = Math.floor(until / 60) - minutesOfHour + 1;
  for (const row of byMinute) {
    const at = Math.floor((row.minute ?? 0) / 60) - first;
    if (at < 0 || at >= minutesOfHour) continue;
    const values = termsOf(row);
    for (const [term, { minutes }] of hours.get(idOf(row)) ?? []) {
      if (minutes.length === 0) minutes.push(...new Array<number>(minutesOfHour).fill(0));
      minutes[at] = (minutes[at] ?? 0) + values[term];
    }
  }
  return hours;
};

/** Whether a search finds an owner: by a part of its name, by its id, or by `biz:` and its business. */
export const isFound = ({ id, name, biz }: Owner, search: string): boolean =>
  search
    .toLowerCase()
    .split(/\s+/)
    .every(
      (word) => name.toLowerCase().includes(word) || String(id).startsWith(word) || word === `biz:${biz}`,
    );

export type Refusal = Activity['refusals'][number];
export const keyOfRefusal = ({ reason, field, detail, sender, sdk }: Refusal): string =>
  JSON.stringify([reason, field, detail, sender, sdk]);

/** Refusals for the same reason and the same field as one, with the newest of them; the newest first. */
export const groupedRefusals = (items: readonly Refusal[]): Refusal[] => {
  const oldestFirst = items.toSorted((left, right) => left.at - right.at);
  const newest = new Map(oldestFirst.map((item) => [keyOfRefusal(item), item]));
  return [...newest.values()].toSorted((left, right) => right.at - left.at);
};

export type Day = Answer<'/api/v1/usage'>['items'][number];
type Sample = Pick<Answer<'/api/v1/drops'>['items'][number], 'at' | 'sdk' | 'sender' | 'reason'>;

export type SeenSdk = {
  readonly sdk: string;
  lastAt: number;
  sender: string;
  readonly reasons: Map<string, number>;
};

/** The SDKs that the days of usage and the samples name, the newest first, with the reasons of their samples. */
export const sdksOf = (days: readonly Day[], samples: readonly Sample[]): SeenSdk[] => {
  const seen = new Map<string, SeenSdk>();
  const note = (sdk: string, at: number, sender: string): SeenSdk => {
    const known = seen.get(sdk) ?? { sdk, lastAt: 0, sender, reasons: new Map<string, number>() };
    seen.set(sdk, known);
    if (at >= known.lastAt) Object.assign(known, { lastAt: at, sender });
    return known;
  };
  for (const { last_sdk, last_seen, last_sender } of days)
    if (last_seen !== null) note(last_sdk, last_seen, last_sender);
  for (const { sdk, at, sender, reason } of samples) {
    // What a store refused comes from no sender that is known.
    if (sdk === '' && sender === '') continue;
    const { reasons } = note(sdk, at, sender);
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  }
  return [...seen.values()].toSorted((left, right) => right.lastAt - left.lastAt);
};

export type PolicyValue = Policy['policy'][string];
/** A merge patch: a value, `off` for no limit, null for the value of the pipeline file. */
type PolicyChange = Record<string, PolicyValue | null>;

const readValue = (name: string, text: string | undefined): PolicyValue | null => {
  if (text === undefined) return null;
  if (text === 'off') return text;
  if (text === 'true' || text === 'false') return text === 'true';
  if (/^-?\d{1,15}$/.test(text)) return Number(text);
  throw new ApiError(422, {
    code: 'invalid_value',
    field: name,
    detail: 'must be a whole number, off or empty',
  });
};

/** The fields of a policy without the id of its owner. */
export const fieldsOf = ({ policy }: Policy): [string, PolicyValue][] =>
  Object.entries(policy).filter(([name]) => name !== 'mon_data_id' && name !== 'app_id');

/** The merge patch of what the form has changed. Throws an ApiError with the field that cannot be read. */
export const policyChange = (
  policy: Policy,
  { text }: { text: (name: string) => string | undefined },
): PolicyChange =>
  Object.fromEntries(
    fieldsOf(policy).flatMap(([name, now]) => {
      const value = readValue(name, text(name)?.trim());
      return value === (policy.own.includes(name) ? now : null) ? [] : [[name, value]];
    }),
  );

/** `+3` or `−3` since the day before; empty where one of the two was not counted. */
export const changeText = (now: number | null, before: number | null): string => {
  if (now === null || before === null) return '';
  if (now === before) return '±0';
  return `${now > before ? '+' : '−'}${wholeText(Math.abs(now - before))}`;
};

export const waitingWords = (
  state: NonNullable<Activity['waiting']>['state'],
  pipelines: readonly Pipeline[],
): string => {
  const one = listed(pipelines.map(itemOf), 'or');
  if (state === 'stored') return `A ${one} was stored`;
  if (state === 'refused') return `No ${one} was stored: what came was refused or dropped`;
  return `Waiting for the first ${one} …`;
};
