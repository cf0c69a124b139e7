import { get } from '../../api/client.ts';
import { now, nowSeconds } from '../../api/clock.ts';
import { useGet, useLoad } from '../../api/use.ts';
import { Sparkline } from '../../charts/small.tsx';
import { Facts } from '../../parts/facts.tsx';
import { agoText, bytesText, numberText, Time } from '../../parts/format.tsx';
import { Hostile } from '../../parts/hostile.tsx';
import { furtherTerms } from '../../parts/signals.ts';
import { Await, Badge, Failed, NotKnown, type Tone } from '../../parts/states.tsx';
import { href } from '../../shell/router.ts';
import { reasonCounts, removedText } from '../outcomes/series.ts';
import { type Activity, rateText } from './owner.ts';
import { Gauge, Sum, type TabProps } from './pieces.tsx';
import { Refusals } from './refusals.tsx';
import { Token } from './token.tsx';

const stateWords: Readonly<Record<Activity['state'], readonly [Tone, string]>> = {
  receiving: ['good', 'a request was accepted in the last five minutes'],
  refused: ['bad', 'only refusals came in the last five minutes'],
  silent: ['warn', 'no request in the last five minutes'],
  never: ['info', 'no accepted request is known'],
  disabled: ['warn', 'every request is refused'],
};

const counted = [
  ['received', 'received'],
  ['stored', 'stored'],
  ['dropped', 'dropped'],
  ['dead_lettered', 'dead-lettered'],
  ['refused_requests', 'refused requests'],
  ['values_lost', 'values lost'],
] as const;

/** Further terms of the account where they are not 0, behind those that always stand. */
const shownOf = (minutes: Activity['minutes'], gone: string) => [
  ...counted.map(
    ([key, title]) => [key, key === 'stored' && gone !== '' ? `${title}, ${gone}` : title] as const,
  ),
  ...furtherTerms
    .filter((term) => minutes.some((minute) => minute[term] > 0))
    .map((term) => [term, term] as const),
];

const limitTitles: Readonly<Record<Activity['limits'][number]['name'], string>> = {
  requests_per_second: 'requests in the busiest second',
  metric_columns: 'metrics with a column',
  dimension_columns: 'dimensions with a column',
};

const LastRequest = ({ last }: { last: Activity['last_request'] }) =>
  last === null ? (
    <span class="quiet">none in the last 90 days; Set-up shows how to send one</span>
  ) : (
    <>
      <Time at={last.at} seconds /> <span class="quiet">{agoText(last.at * 1000, now())}</span> from{' '}
      <Hostile text={last.sender} max={60} /> {last.sdk !== '' && <Hostile text={last.sdk} max={80} />}
    </>
  );

const StoredTable = ({ id }: { id: number }) => {
  const loaded = useGet('/api/v1/data-sources/{id}/table', { path: { id } }, 15_000);
  return (
    <section>
      <h2>Table</h2>
      <Await of={loaded}>
        {(table) => (
          <>
            <Facts
              of={{
                name: <Hostile text={table.table_id} />,
                rows: numberText(table.rows),
                size: bytesText(table.bytes),
                days:
                  table.oldest_day === null
                    ? 'none'
                    : `${table.partitions}, from ${table.oldest_day} to ${table.newest_day}`,
                retention: table.retention_days === null ? 'unlimited' : `${table.retention_days} days`,
                layout: table.layout === 'wide' ? 'one row for each point' : 'one row for each metric',
                instance: <Hostile text={table.instance} />,
                lag:
                  table.pending_commits === 0
                    ? 'none: each commit is visible'
                    : `${numberText(table.pending_commits)} commits are not visible yet`,
                state: (
                  <Badge tone={table.is_suspended ? 'bad' : 'good'}>
                    {table.is_suspended ? 'suspended' : 'writable'}
                  </Badge>
                ),
              }}
            />
            {table.is_suspended && (
              <p class="state failed">
                QuestDB has suspended this table: <Hostile text={table.why} />. Its rows are kept, and become
                visible when it is resumed; the runbook has the steps.
              </p>
            )}
            {table.days.length > 1 && (
              <p class="row">
                rows a day{' '}
                <Sparkline values={table.days.map(({ rows }) => rows)} label="rows a day" width={240} />
              </p>
            )}
          </>
        )}
      </Await>
    </section>
  );
};

/** What the owner sends now, its limits, table, token and refusals. */
export const Overview = (props: TabProps) => {
  const { kind, owner } = props;
  const activity = useGet(`/api/v1/${kind.base}/{id}/activity`, { path: { id: owner.id } }, 5_000);
  const day = useLoad(
    `day ${kind.base} ${owner.id}`,
    (signal) => {
      const since = nowSeconds() - 86_400;
      return get('/api/v1/outcomes', { query: { since, ...kind.queryOf(owner.id) }, signal });
    },
    60_000,
  );
  const gone = removedText(day.data?.removed ?? []);
  const query = { owner: `${kind.noun === 'source' ? '' : 'app:'}${owner.id}` };
  return (
    <>
      <Await of={activity}>
        {({ state, last_request, minutes, not_known_since: notKnownSince, limits }) => (
          <>
            <Facts
              of={{
                state: (
                  <>
                    <Badge tone={stateWords[state][0]}>{state}</Badge> {stateWords[state][1]}
                  </>
                ),
                'last accepted request': <LastRequest last={last_request} />,
                limit: owner.maxRate === undefined ? '–' : rateText(owner.maxRate),
              }}
            />
            <h2>The last hour</h2>
            <NotKnown since={notKnownSince} />
            <ul class="figures">
              {shownOf(minutes, gone).map(([key, title]) => (
                <Sum key={key} title={title} by="minute" values={minutes.map((minute) => minute[key])} />
              ))}
              {limits.map(({ name, used, limit }) => (
                <Gauge key={name} title={limitTitles[name]} used={used} limit={limit} />
              ))}
            </ul>
          </>
        )}
      </Await>
      <div class="columns">
        {kind.noun === 'source' && <StoredTable id={owner.id} />}
        <Token {...props} />
      </div>
      <h2>Refused and dropped, the last day</h2>
      <Await of={activity}>
        {({ refusals }) => (
          <>
            {day.error !== undefined && <p>How often each reason came cannot be read:</p>}
            {day.error !== undefined && <Failed error={day.error} onRetry={day.reload} />}
            <Refusals
              items={refusals}
              {...(day.data && { counts: reasonCounts(day.data.items) })}
              empty={day.data ? 'Nothing was refused or dropped in the last day.' : 'No sample is kept.'}
            />
          </>
        )}
      </Await>
      <p class="row">
        <a href={href('/drops', query)}>All its drops</a> <a href={href('/outcomes', query)}>Its outcomes</a>
      </p>
    </>
  );
};
