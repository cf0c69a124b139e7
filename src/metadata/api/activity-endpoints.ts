import { z } from 'zod';
import { daySeconds } from '../../model/time.ts';
import { readLastRequest } from '../../outcomes/arrivals.ts';
import type { UsageOwner } from '../../outcomes/usage.ts';
import { readLimits, readMinutes, readRefusals, readWaiting, stateOf } from '../inspect/activity.ts';
import { existing, type Records } from '../records/store.ts';
import { areGroupAndTableEnabled } from '../usage.ts';
import type { ApiDeps } from './deps.ts';
import { type Endpoint, endpoint } from './endpoint.ts';
import { idParams } from './params.ts';
import { number, timeQuery } from './queries.ts';

const count = z.int();
const moment = z.number().meta({ description: 'Unix seconds to the millisecond' });

const refusal = z
  .strictObject({
    at: moment,
    reason: z.string(),
    stage: z.string(),
    ordinal: count.meta({ description: 'Index in the request; -1 for the whole request' }),
    field: z.string(),
    value: z.string(),
    detail: z.string(),
    sender: z.string(),
    sdk: z.string(),
    sampled: z.boolean().meta({ description: 'False: more of them came than samples are kept' }),
    meaning: z.string(),
    remedy: z.string(),
  })
  .meta({ id: 'Refusal' });

const activity = z
  .strictObject({
    at: moment.meta({ description: 'Time of the answer: take it for `since`' }),
    state: z.enum(['disabled', 'receiving', 'refused', 'silent', 'never']).meta({
      description:
        'receiving: a request was accepted in the last five minutes; refused: only refusals came in them; never: no accepted request is known',
    }),
    last_request: z
      .strictObject({ at: moment, sender: z.string(), sdk: z.string() })
      .nullable()
      .meta({ description: 'The last accepted request of the last 90 days' }),
    waiting: z
      .strictObject({
        since: count,
        state: z.enum(['waiting', 'stored', 'refused']).meta({
          description: 'What came at or after `since`: nothing, an item that was stored, or refusals alone',
        }),
        stored_at: moment.nullable(),
      })
      .nullable()
      .meta({ description: 'Null without `since`' }),
    refusals: z.array(refusal).meta({
      description: 'The newest 20 at or after `since`, by default of the last day; the newest first',
    }),
    minutes: z
      .array(
        z.strictObject({
          at: count,
          received: count,
          stored: count,
          dropped: count,
          dead_lettered: count,
          refused_requests: count,
          repeated_requests: count.meta({
            description: 'Equal to an earlier request, and so not stored again',
          }),
          values_lost: count,
        }),
      )
      .meta({ description: 'Minutes of arrival, the oldest first; the last one has just begun' }),
    limits: z.array(
      z.strictObject({
        name: z.enum(['requests_per_second', 'metric_columns', 'dimension_columns']),
        limit: count.nullable().meta({ description: 'Null: no limit' }),
        used: count.nullable().meta({ description: 'Requests: in the busiest second of the last hour' }),
      }),
    ),
  })
  .meta({ id: 'Activity' });

const minutesMax = 60;
const minutesText = `must be a number from 0 to ${minutesMax}`;

const activityQuery = z.strictObject({
  since: timeQuery.since,
  minutes: number(
    /^\d{1,2}$/,
    minutesText,
    minutesMax,
    'How many minutes of counts, default 60. 0: neither counts nor limits, for a call every second',
    60,
  ),
});

type Owned = {
  readonly path: string;
  readonly tag: string;
  readonly noun: string;
  readonly ownerOf: (id: number) => UsageOwner;
  readonly isEnabled: (records: Records, id: number) => Promise<boolean>;
};

const activityEndpoint = (deps: ApiDeps, { path, tag, noun, ownerOf, isEnabled }: Owned): Endpoint =>
  endpoint({
    method: 'GET',
    path: `${path}/{id}/activity`,
    tag,
    summary: `What ${noun} sends: its state, last sender, counts by minute, newest refusals and limits. With \`since\` it shows the first item, stored or refused, about a second after it came`,
    role: 'viewer',
    params: idParams,
    query: activityQuery,
    answer: activity,
    run: async ({ params, query, records }) => {
      const { outcomes, inspected, policyDefaults } = deps;
      const { clickhouse } = outcomes;
      const enabled = await isEnabled(records, params.id);
      const owner = ownerOf(params.id);
      const { since, minutes: minutesAsked = minutesMax } = query;
      const nowMs = outcomes.now();
      const now = Math.floor(nowMs / 1000);
      const { arrivals, maxRateDefault } = inspected;
      const [newest, last, minutes, limits] = await Promise.all([
        since === undefined
          ? readRefusals(clickhouse, owner, now - daySeconds).then((refusals) => ({
              waiting: null,
              refusals,
            }))
          : readWaiting({ clickhouse, arrivals }, owner, since),
        readLastRequest(clickhouse, owner),
        readMinutes(clickhouse, owner, nowMs, minutesAsked),
        minutesAsked === 0
          ? []
          : readLimits({ clickhouse, records, policyDefaults, maxRateDefault }, owner, now),
      ]);
      const state = stateOf(enabled, last, newest.refusals, now);
      return { body: { at: nowMs / 1000, state, last_request: last ?? null, ...newest, minutes, limits } };
    },
  });

/** …/activity of data sources and applications. */
export const activityEndpoints = (deps: ApiDeps): Endpoint[] => [
  activityEndpoint(deps, {
    path: '/api/v1/data-sources',
    tag: 'Data sources',
    noun: 'a data source',
    ownerOf: (dataId) => ({ dataId, appId: 0 }),
    isEnabled: async (records, id) =>
      (await existing(records.dataSources, id)).value.is_enable && areGroupAndTableEnabled(records, id),
  }),
  activityEndpoint(deps, {
    path: '/api/v1/applications',
    tag: 'Applications',
    noun: 'an application',
    ownerOf: (appId) => ({ dataId: 0, appId }),
    isEnabled: async (records, id) => (await existing(records.applications, id)).value.is_enable,
  }),
];
