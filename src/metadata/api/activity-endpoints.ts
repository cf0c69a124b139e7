import { z } from 'zod';
import { daySeconds } from '../../model/time.ts';
import { readLastRequest } from '../../outcomes/arrivals.ts';
import type { UsageOwner } from '../../outcomes/usage.ts';
import { activity } from '../answers/activity.ts';
import { readLimits, readMinutes, readRefusals, readWaiting, stateOf } from '../inspect/activity.ts';
import { existing, type Records } from '../records/store.ts';
import { areGroupAndTableEnabled } from '../usage.ts';
import type { ApiDeps } from './deps.ts';
import { type Endpoint, endpoint } from './endpoint.ts';
import { idParams } from './params.ts';
import { number, timeQuery } from './queries.ts';
import { notKnownSinceOf, shownSince } from './shown-account.ts';

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
      const not_known_since = shownSince(notKnownSinceOf(deps));
      return {
        body: {
          at: nowMs / 1000,
          state,
          last_request: last ?? null,
          ...newest,
          minutes,
          not_known_since,
          limits,
        },
      };
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
