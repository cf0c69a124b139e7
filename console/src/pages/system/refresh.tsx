import { type Answer, call } from '../../api/client.ts';
import { useAct, useGet } from '../../api/use.ts';
import { Button } from '../../parts/button.tsx';
import { badge, column, duration, id, number, time, word } from '../../parts/columns.tsx';
import { wholeText } from '../../parts/figures.ts';
import { TextFilter } from '../../parts/filters.tsx';
import { Hostile } from '../../parts/hostile.tsx';
import { Listing } from '../../parts/listing.tsx';
import { Await, Badge, Failed, type Tone, Unreadable } from '../../parts/states.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { announce } from '../../shell/announce.tsx';
import { href, useAddress } from '../../shell/router.ts';
import { useAllows } from '../../shell/session.ts';

type Run = Answer<'/api/v1/refresh-runs'>['items'][number];
type Subscription = Answer<'/api/v1/subscriptions'>['items'][number];

const tones: Readonly<Record<Run['state'], Tone>> = { running: 'info', done: 'good', interrupted: 'warn' };

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
  id('Run', (run) => run.run_id),
  column(
    'State',
    ({ state, trigger }) => (
      <>
        <Badge tone={tones[state]}>{state}</Badge> {trigger === 'manual' && 'by hand'}
      </>
    ),
    ({ state }) => state,
  ),
  time('Started', ({ started }) => started),
  duration('Took', (run) => run.duration_ms),
  number('Created', ({ created }) => created),
  number('Updated', ({ updated }) => updated),
  number('Unchanged', ({ unchanged }) => unchanged),
  number('Deleted', ({ deleted }) => deleted),
  column(
    'Failed',
    (run) => <Failures of={run} />,
    (run) => run.failed_count,
  ),
];

const subscriptionColumns: readonly Column<Subscription>[] = [
  column(
    'Data id',
    (each) => <a href={href(`/sources/${each.mon_data_id}`)}>{each.mon_data_id}</a>,
    (each) => each.mon_data_id,
  ),
  id('Business', (each) => each.mon_biz_id),
  word('Adapter', ({ adapter }) => adapter),
  badge('State', ({ state }) => [state === 'active' ? 'good' : 'info', state]),
  time('Updated', ({ updated }) => updated),
  column('Document', ({ document }) => (
    <details>
      <summary>{wholeText(document.length)} characters</summary>
      <Hostile text={document} max={2000} />
    </details>
  )),
];

const Subscriptions = ({ business, cursor }: { business: string; cursor: string | undefined }) => {
  const query = { cursor, mon_biz_id: business === '' ? undefined : Number(business) };
  const loaded = useGet('/api/v1/subscriptions', { query });
  return (
    <Listing
      of={loaded}
      caption="Subscriptions of node management"
      sortName="subscriptions"
      columns={subscriptionColumns}
      keyOf={(each) => each.mon_data_id}
      empty={
        business === ''
          ? 'No subscriptions: the refresh job makes one for each enabled report.'
          : 'No subscription of this business.'
      }
    />
  );
};

/** The refresh job: its runs, and the subscriptions that they keep. */
export const Refresh = () => {
  const { query } = useAddress();
  const business = query.get('biz') ?? '';
  const runs = useGet('/api/v1/refresh-runs', { query: { limit: 100 } }, 10_000);
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
          <Button disabled={run.isRunning} onClick={() => void run.run()}>
            {run.isRunning ? 'It runs …' : 'Run now'}
          </Button>
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
      <h2>Subscriptions</h2>
      <div class="row list-filters">
        <TextFilter label="Business" name="biz" hint="2" />
      </div>
      {/^(-?\d{1,10})?$/.test(business) ? (
        <Subscriptions business={business} cursor={query.get('cursor') ?? undefined} />
      ) : (
        <Unreadable>The filter cannot be read: a business is a whole number such as 2.</Unreadable>
      )}
    </>
  );
};
