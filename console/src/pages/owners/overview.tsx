import { get } from '../../api/client.ts';
import { useLoad } from '../../api/use.ts';
import { Sparkline } from '../../charts/small.tsx';
import { agoText, bytesText, Figure, numberText, Time } from '../../parts/format.tsx';
import { Hostile } from '../../parts/hostile.tsx';
import { Await, Badge, type Tone } from '../../parts/states.tsx';
import { Table } from '../../parts/table.tsx';
import { href } from '../../shell/router.ts';
import { Facts, type TabProps } from './one.tsx';
import { type Activity, type Kind, rateText } from './owner.ts';
import { Token } from './token.tsx';

const stateWords: Readonly<Record<Activity['state'], readonly [Tone, string]>> = {
  receiving: ['good', 'receiving: a request was accepted in the last five minutes'],
  refused: ['bad', 'refused: only refusals came in the last five minutes'],
  silent: ['warn', 'silent: no request in the last five minutes'],
  never: ['info', 'never: no accepted request is known'],
  disabled: ['warn', 'disabled: every request is refused'],
};

const counted = [
  ['received', 'received'],
  ['stored', 'stored'],
  ['dropped', 'dropped'],
  ['dead_lettered', 'dead-lettered'],
  ['refused_requests', 'refused requests'],
  ['values_lost', 'values lost'],
] as const;

/** The counts of the last hour, each with its minutes. */
const Hour = ({ minutes }: Pick<Activity, 'minutes'>) => (
  <ul class="tiles">
    {counted.map(([key, title]) => {
      const values = minutes.map((minute) => minute[key]);
      return (
        <li key={key}>
          <span>{title}</span>
          <strong>
            <Figure value={values.reduce((sum, value) => sum + value, 0)} />
          </strong>
          <Sparkline values={values} label={`${title} by minute, the last hour`} />
        </li>
      );
    })}
  </ul>
);

const limitTitles: Readonly<Record<Activity['limits'][number]['name'], string>> = {
  requests_per_second: 'requests a second, the busiest second of the hour',
  metric_columns: 'metrics with a column',
  dimension_columns: 'dimensions with a column',
};

/** How much of a limit is used, as a meter with its figures. */
export const Gauge = ({
  title,
  used,
  limit,
}: {
  title: string;
  used: number | null;
  limit: number | null;
}) => (
  <li>
    <span>{title}</span>
    <strong class="figure">
      {used === null ? '–' : numberText(used)} of {limit === null ? 'no limit' : numberText(limit)}
    </strong>
    {limit !== null && limit > 0 && (
      <meter
        min={0}
        max={limit}
        low={0.8 * limit}
        high={0.95 * limit}
        optimum={0}
        value={used ?? 0}
        aria-label={title}
      />
    )}
  </li>
);

type Refusal = Activity['refusals'][number];

/** Refused and dropped items with what to do, the newest first. */
export const Refusals = ({ items, empty }: { items: readonly Refusal[]; empty: string }) => (
  <Table
    caption="Refused and dropped"
    sortName="refusals"
    rows={items.map((item, index) => ({ ...item, index }))}
    keyOf={({ index }) => index}
    empty={empty}
    columns={[
      { key: 'at', title: 'Time', cell: ({ at }) => <Time at={at} seconds />, sortBy: ({ at }) => at },
      {
        key: 'reason',
        title: 'Reason',
        sortBy: ({ reason }) => reason,
        cell: ({ reason, meaning }) => (
          <>
            <code>{reason}</code> <span class="quiet">{meaning}</span>
          </>
        ),
      },
      {
        key: 'what',
        title: 'What',
        cell: ({ field, value, detail, sampled }) => (
          <>
            {field !== '' && (
              <>
                <Hostile text={field} max={60} /> = <Hostile text={value} max={80} />{' '}
              </>
            )}
            {detail !== '' && <Hostile text={detail} max={120} />}
            {!sampled && <span class="quiet">no sample was kept: too many came at once</span>}
          </>
        ),
      },
      { key: 'remedy', title: 'What to do', cell: ({ remedy }) => remedy },
      {
        key: 'sender',
        title: 'Sender',
        cell: ({ sender, sdk }) => (
          <>
            <Hostile text={sender} max={60} /> {sdk !== '' && <Hostile text={sdk} max={60} />}
          </>
        ),
      },
    ]}
  />
);

const LastRequest = ({ kind, last }: { kind: Kind; last: Activity['last_request'] }) =>
  last === null ? (
    <span class="quiet">none of the last 90 days; the Set-up of this {kind.noun} shows how to send</span>
  ) : (
    <>
      <Time at={last.at} seconds /> <span class="quiet">{agoText(last.at * 1000)}</span> from{' '}
      <Hostile text={last.sender} max={60} />
      {last.sdk !== '' && (
        <>
          {' '}
          with <Hostile text={last.sdk} max={80} />
        </>
      )}
    </>
  );

const StoredTable = ({ id }: { id: number }) => {
  const loaded = useLoad(
    `table of ${id}`,
    (signal) => get('/api/v1/data-sources/{id}/table', { path: { id }, signal }),
    15_000,
  );
  return (
    <section>
      <h2>Table</h2>
      <Await of={loaded}>
        {(table) => (
          <>
            <Facts
              of={[
                ['name', <Hostile text={table.table_id} key="name" />],
                ['rows', <Figure value={table.rows} key="rows" />],
                ['size', bytesText(table.bytes)],
                [
                  'days',
                  `${table.partitions}${table.oldest_day === null ? '' : `, ${table.oldest_day} to ${table.newest_day}`}`,
                ],
                ['retention', table.retention_days === null ? 'unlimited' : `${table.retention_days} days`],
                ['layout', table.layout === 'wide' ? 'one row for each point' : 'one row for each metric'],
                ['instance', <Hostile text={table.instance} key="instance" />],
                [
                  'lag',
                  table.pending_commits === 0
                    ? 'none: each commit is visible'
                    : `${numberText(table.pending_commits)} commits are not visible yet`,
                ],
                [
                  'state',
                  table.is_suspended ? (
                    <Badge tone="bad">suspended</Badge>
                  ) : (
                    <Badge tone="good">writable</Badge>
                  ),
                ],
              ]}
            />
            {table.is_suspended && (
              <p class="state failed">
                QuestDB has suspended this table: <Hostile text={table.why} />. Its rows are kept and become
                visible when it is resumed; see the runbook.
              </p>
            )}
            {table.days.length > 1 && (
              <p>
                Rows a day{' '}
                <Sparkline values={table.days.map(({ rows }) => rows)} label="rows a day" width={240} />
              </p>
            )}
          </>
        )}
      </Await>
    </section>
  );
};

/** What the owner sends now, its limits, refusals, table and token. */
export const Overview = (props: TabProps) => {
  const { kind, owner } = props;
  const activity = useLoad(
    `${kind.path}/${owner.id}/activity`,
    (signal) => kind.activity(owner.id, {}, signal),
    5_000,
  );
  return (
    <>
      <Await of={activity}>
        {({ state, last_request, minutes, limits, refusals }) => (
          <>
            <Facts
              of={[
                [
                  'state',
                  <Badge key="state" tone={stateWords[state][0]}>
                    {stateWords[state][1]}
                  </Badge>,
                ],
                ['last accepted request', <LastRequest key="last" kind={kind} last={last_request} />],
                ['limit', owner.maxRate === undefined ? '–' : rateText(owner.maxRate)],
              ]}
            />
            <h2>The last hour</h2>
            <Hour minutes={minutes} />
            <h2>Limits</h2>
            <ul class="tiles">
              {limits.map(({ name, used, limit }) => (
                <Gauge key={name} title={limitTitles[name]} used={used} limit={limit} />
              ))}
            </ul>
            <h2>Refused and dropped, the last day</h2>
            <Refusals items={refusals} empty="Nothing was refused or dropped in the last day." />
            <p>
              <a href={href('/drops', { owner: `${kind.path === '/sources' ? '' : 'app:'}${owner.id}` })}>
                All drops
              </a>{' '}
              <a href={href('/outcomes', { owner: `${kind.path === '/sources' ? '' : 'app:'}${owner.id}` })}>
                Outcomes
              </a>
            </p>
          </>
        )}
      </Await>
      {kind.path === '/sources' && <StoredTable id={owner.id} />}
      <Token {...props} />
    </>
  );
};
