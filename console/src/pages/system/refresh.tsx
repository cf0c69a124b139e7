import { type Answer, call, get } from '../../api/client.ts';
import { useAct, useLoad } from '../../api/use.ts';
import { durationText } from '../../parts/figures.ts';
import { Pager, TextFilter } from '../../parts/filters.tsx';
import { Figure, Time } from '../../parts/format.tsx';
import { Hostile } from '../../parts/hostile.tsx';
import { Await, Badge, Failed, type Tone } from '../../parts/states.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { announce } from '../../shell/announce.tsx';
import { href, useAddress } from '../../shell/router.ts';
import { useAllows } from '../../shell/session.ts';

type Run = Answer<'/api/v1/refresh-runs'>['items'][number];
type Subscription = Answer<'/api/v1/subscriptions'>['items'][number];

const tones: Readonly<Record<Run['state'], Tone>> = { running: 'info', done: 'good', interrupted: 'warn' };

const countColumns: readonly Column<Run>[] = (['created', 'updated', 'unchanged', 'deleted'] as const).map(
  (name) => ({
    key: name,
    title: `${name.charAt(0).toUpperCase()}${name.slice(1)}`,
    isNumber: true,
    sortBy: (run) => run[name],
    cell: (run) => <Figure value={run[name]} />,
  }),
);

const Failures = ({ of: { failed, failed_count: count } }: { of: Run }) =>
  count === 0 ? (
    <>0</>
  ) : (
    <details>
      <summary>
        <Badge tone="bad">{count}</Badge>
      </summary>
      <ul>
        {failed.slice(0, 100).map((each) => (
          <li key={each.mon_data_id}>
            data id {each.mon_data_id} (<Hostile text={each.report} max={80} />
            ): <Hostile text={each.error} />
          </li>
        ))}
      </ul>
      {count > 100 && <p class="state">The first 100 of {count}: tidemark refresh show has more.</p>}
    </details>
  );

const runColumns: readonly Column<Run>[] = [
  { key: 'run', title: 'Run', isNumber: true, sortBy: (run) => run.run_id, cell: (run) => run.run_id },
  {
    key: 'state',
    title: 'State',
    sortBy: ({ state }) => state,
    cell: ({ state, trigger }) => (
      <>
        <Badge tone={tones[state]}>{state}</Badge> {trigger === 'manual' && 'by hand'}
      </>
    ),
  },
  {
    key: 'started',
    title: 'Started',
    sortBy: ({ started }) => started,
    cell: ({ started }) => <Time at={started} seconds />,
  },
  {
    key: 'took',
    title: 'Took',
    isNumber: true,
    sortBy: (run) => run.duration_ms ?? -1,
    cell: (run) => (run.duration_ms === null ? '–' : durationText(run.duration_ms)),
  },
  ...countColumns,
  {
    key: 'failed',
    title: 'Failed',
    isNumber: true,
    sortBy: (run) => run.failed_count,
    cell: (run) => <Failures of={run} />,
  },
];

const subscriptionColumns: readonly Column<Subscription>[] = [
  {
    key: 'data',
    title: 'Data id',
    isNumber: true,
    sortBy: (each) => each.mon_data_id,
    cell: (each) => <a href={href(`/sources/${each.mon_data_id}`)}>{each.mon_data_id}</a>,
  },
  {
    key: 'business',
    title: 'Business',
    isNumber: true,
    sortBy: (each) => each.mon_biz_id,
    cell: (each) => each.mon_biz_id,
  },
  { key: 'adapter', title: 'Adapter', cell: ({ adapter }) => adapter },
  {
    key: 'state',
    title: 'State',
    sortBy: ({ state }) => state,
    cell: ({ state }) => <Badge tone={state === 'active' ? 'good' : 'info'}>{state}</Badge>,
  },
  {
    key: 'updated',
    title: 'Updated',
    sortBy: ({ updated }) => updated,
    cell: ({ updated }) => <Time at={updated} seconds />,
  },
  {
    key: 'document',
    title: 'Document',
    cell: ({ document }) => (
      <details>
        <summary>{document.length.toLocaleString('en')} characters</summary>
        <pre>
          <Hostile text={document} max={2000} />
        </pre>
      </details>
    ),
  },
];

const Subscriptions = () => {
  const { query } = useAddress();
  const cursor = query.get('cursor');
  const business = query.get('biz') ?? '';
  const asked = {
    ...(cursor === null ? {} : { cursor }),
    ...(/^-?\d{1,10}$/.test(business) ? { mon_biz_id: Number(business) } : {}),
  };
  const loaded = useLoad(JSON.stringify(asked), (signal) =>
    get('/api/v1/subscriptions', { query: asked, signal }),
  );
  return (
    <>
      <h2>Subscriptions</h2>
      <div class="row list-filters">
        <TextFilter label="Business" name="biz" hint="2" />
      </div>
      <Await of={loaded}>
        {({ items, next_cursor: next }) => (
          <>
            <Table
              caption="Subscriptions of node management"
              sortName="subscriptions"
              columns={subscriptionColumns}
              rows={items}
              keyOf={(each) => each.mon_data_id}
              empty="No subscriptions: the refresh job makes one for each enabled report."
            />
            <Pager next={next} />
          </>
        )}
      </Await>
    </>
  );
};

/** The refresh job: its runs, and the subscriptions that they keep. */
export const Refresh = () => {
  const runs = useLoad(
    'runs',
    (signal) => get('/api/v1/refresh-runs', { query: { limit: 100 }, signal }),
    10_000,
  );
  const mayRun = useAllows('editor');
  const run = useAct(async () => {
    const path = '/operations/metadata.task.custom_report.refresh_custom_report_2_node_man';
    const { data } = await call('post', path, { body: {} });
    announce(`Run ${data.run_id}: ${data.state}`);
    runs.reload();
  });
  return (
    <>
      <h2>Runs</h2>
      {mayRun && (
        <p>
          <button type="button" disabled={run.isRunning} onClick={() => void run.run()}>
            {run.isRunning ? 'It runs …' : 'Run now'}
          </button>
        </p>
      )}
      {run.error !== undefined && <Failed error={run.error} />}
      <Await of={runs}>
        {({ items }) => (
          <Table
            caption="The last hundred runs, newest first"
            columns={runColumns}
            rows={items}
            keyOf={(each) => each.run_id}
            empty="No run yet: the job runs by its schedule."
            rowsMax={100}
          />
        )}
      </Await>
      <Subscriptions />
    </>
  );
};
