import type { z } from 'zod';
import type { AuditAction } from '../audit/actions.ts';
import {
  type listQuerySchema,
  listRecords,
  recordQuerySchema,
  type Searched,
  searchQuery,
} from '../records/listing.ts';
import { hidden, masked } from '../records/masking.ts';
import { actionRequestSchema } from '../records/requests.ts';
import { existing, type RecordSet, type Records, type Versioned } from '../records/store.ts';
import type { ChangeBy } from '../reports/life-cycle.ts';
import { pageOf } from './contract.ts';
import { type Answer, type Endpoint, endpoint } from './endpoint.ts';

type IdParams = z.ZodType<{ readonly id: number | string }>;

/** A kind of record `T` with the parameters `P` of its path; `C` is what its changes return. */
export type Kind<T, P extends IdParams, C = T> = {
  readonly path: string;
  readonly tag: string;
  /** Its kind in the audit, and what its actions begin with. */
  readonly kind: 'report' | 'data_source' | 'group' | 'table' | 'application';
  readonly actions: 'custom_report' | 'data_source' | 'group' | 'table' | 'application';
  readonly answer: z.ZodType;
  readonly filters: Parameters<typeof listQuerySchema>[0];
  /** Fields that the query may name but the record does not have. */
  readonly derivedOf?: (records: Records) => Readonly<Record<string, (value: T, id: number) => unknown>>;
  readonly searched: (records: Records) => (value: T, id: number) => Searched;
  /** The ids of records that Tidemark made for itself. */
  readonly systemIds: (records: Records) => ReadonlySet<number>;
  /** The id of the only record that a query of the list can find; undefined where it names none. */
  readonly namedId: (records: Records, query: object) => number | undefined;
  readonly params: P;
  readonly setOf: (records: Records) => RecordSet<T>;
  readonly idOf: (records: Records, params: z.output<P>) => Promise<number>;
  /** The answer to a change. */
  readonly changed: z.ZodType;
  readonly showChanged: (changed: Versioned<C>) => Answer;
};

/** The record in its own view. */
export const shown = <T extends object>({ value, revision }: Versioned<T>): Answer => ({
  body: masked(value),
  revision,
});

export const listing = <T extends object, P extends IdParams, C>(
  kind: Kind<T, P, C>,
  summary: string,
): Endpoint =>
  endpoint({
    method: 'GET',
    path: kind.path,
    tag: kind.tag,
    summary,
    role: 'viewer',
    query: recordQuerySchema(kind.filters).extend(searchQuery),
    answer: pageOf(kind.answer),
    run: async ({ query, records }) => ({
      body: listRecords(kind.setOf(records), query, {
        derived: kind.derivedOf?.(records) ?? {},
        show: hidden,
        searched: kind.searched(records),
        systemIds: () => kind.systemIds(records),
        namedId: kind.namedId(records, query),
      }),
    }),
  });

export const showing = <T extends object, P extends IdParams, C>(
  kind: Kind<T, P, C>,
  summary: string,
): Endpoint =>
  endpoint({
    method: 'GET',
    path: `${kind.path}/{id}`,
    tag: kind.tag,
    summary,
    hasEtag: true,
    role: 'viewer',
    params: kind.params,
    answer: kind.answer,
    run: async ({ params, records }) =>
      shown(await existing(kind.setOf(records), await kind.idOf(records, params))),
  });

type Changing<B extends z.ZodType, C> = {
  readonly method: 'POST' | 'PATCH' | 'DELETE';
  /** After the record's path, as `/enable`. */
  readonly suffix?: string;
  readonly action: AuditAction;
  readonly summary: string;
  readonly role?: 'admin';
  readonly needsProof?: true;
  readonly body: B;
  readonly change: (records: Records, id: number, body: z.output<B>, by: ChangeBy) => Promise<Versioned<C>>;
};

/** One endpoint that changes one record. */
export const changing = <T extends object, P extends IdParams, C, B extends z.ZodType>(
  kind: Kind<T, P, C>,
  { suffix = '', action, change, role = undefined, ...rest }: Changing<B, C>,
): Endpoint =>
  endpoint({
    ...rest,
    path: `${kind.path}/{id}${suffix}`,
    tag: kind.tag,
    role: role ?? 'editor',
    params: kind.params,
    answer: kind.changed,
    revisionOf: async (params, records) => existing(kind.setOf(records), await kind.idOf(records, params)),
    audit: (params) => ({ action, kind: kind.kind, id: String(params.id) }),
    run: async ({ params, body, revision, author, records }) => {
      const by = { operator: author, revision };
      return kind.showChanged(await change(records, await kind.idOf(records, params), body, by));
    },
  });

/** The two that set is_enable. */
export const switching = <T extends object, P extends IdParams, C>(
  kind: Kind<T, P, C>,
  summaryOf: (isEnabled: boolean) => string,
  set: (records: Records, id: number, isEnabled: boolean, by: ChangeBy) => Promise<Versioned<C>>,
): Endpoint[] =>
  [true, false].map((isEnabled) => {
    const verb = isEnabled ? 'enable' : 'disable';
    return changing(kind, {
      method: 'POST',
      suffix: `/${verb}`,
      action: `${kind.actions}.${verb}`,
      summary: summaryOf(isEnabled),
      body: actionRequestSchema,
      change: (records, id, _, by) => set(records, id, isEnabled, by),
    });
  });
