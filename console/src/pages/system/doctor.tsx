import { type Answer, call, get } from '../../api/client.ts';
import { useLoad } from '../../api/use.ts';
import { durationText } from '../../parts/figures.ts';
import { Figure, Time } from '../../parts/format.tsx';
import { Hostile } from '../../parts/hostile.tsx';
import { Await, Badge, Loading } from '../../parts/states.tsx';
import { type Column, Table } from '../../parts/table.tsx';

type Finding = Answer<'/api/v1/doctor', 'post'>['findings'][number];

const findingColumns: readonly Column<Finding>[] = [
  {
    key: 'ok',
    title: 'Result',
    sortBy: ({ ok }) => (ok ? 1 : 0),
    cell: ({ ok }) => <Badge tone={ok ? 'good' : 'bad'}>{ok ? 'ok' : 'not ok'}</Badge>,
  },
  { key: 'name', title: 'Check', sortBy: ({ name }) => name, cell: ({ name }) => name },
  { key: 'ms', title: 'Took', isNumber: true, sortBy: ({ ms }) => ms, cell: ({ ms }) => durationText(ms) },
  {
    key: 'detail',
    title: 'Found',
    cell: ({ detail, remedy }) => (
      <>
        <Hostile text={detail} max={400} />
        {remedy !== '' && <div>→ {remedy}</div>}
      </>
    ),
  },
];

/** Every dependency as metadata sees it; the checks run when the tab is opened, and again on demand. */
export const Doctor = () => {
  const checked = useLoad(
    'doctor',
    async (signal) => (await call('post', '/api/v1/doctor', { signal })).data,
  );
  if (checked.isLoading) return <Loading what="The checks run" />;
  return (
    <Await of={checked}>
      {({ at, well, findings }) => (
        <>
          <p class="row">
            <Badge tone={well ? 'good' : 'bad'}>
              {well
                ? 'all is well'
                : `${findings.filter(({ ok }) => !ok).length} of ${findings.length} checks failed`}
            </Badge>
            <Time at={at} seconds />
            <button type="button" onClick={checked.reload}>
              Run again
            </button>
          </p>
          <Table
            caption="Checks of the dependencies"
            columns={findingColumns}
            rows={findings}
            keyOf={({ name }) => name}
            empty="No checks."
          />
          <p class="quiet">
            Checked by metadata, from where it runs. <code>tidemark doctor</code> also sends a point and a
            span through all stages.
          </p>
        </>
      )}
    </Await>
  );
};

type Stores = Answer<'/api/v1/stores'>;
type Instance = Stores['questdb'][number];
type StoreTable = Stores['clickhouse']['tables'][number];

const orUnknown = (value: number | null, as: 'number' | 'bytes' = 'number') =>
  value === null ? <span class="quiet">not counted in time</span> : <Figure value={value} as={as} />;

const instanceColumns: readonly Column<Instance>[] = [
  {
    key: 'instance',
    title: 'Instance',
    sortBy: ({ instance }) => instance,
    cell: ({ instance }) => instance,
  },
  {
    key: 'state',
    title: 'State',
    cell: ({ why, suspended }) => {
      if (why !== '') return <Hostile text={why} />;
      return suspended.length === 0 ? (
        <Badge tone="good">answers</Badge>
      ) : (
        <Badge tone="bad">{`${suspended.length} suspended`}</Badge>
      );
    },
  },
  {
    key: 'tables',
    title: 'Tables',
    isNumber: true,
    sortBy: ({ tables }) => tables,
    cell: ({ tables }) => <Figure value={tables} />,
  },
  {
    key: 'rows',
    title: 'Rows',
    isNumber: true,
    sortBy: ({ rows }) => rows ?? -1,
    cell: ({ rows }) => orUnknown(rows),
  },
  {
    key: 'bytes',
    title: 'Size',
    isNumber: true,
    sortBy: ({ bytes }) => bytes ?? -1,
    cell: ({ bytes }) => orUnknown(bytes, 'bytes'),
  },
  {
    key: 'behind',
    title: 'Commits not visible yet, at most',
    isNumber: true,
    cell: (each) => <Figure value={each.pending_commits_max} />,
  },
];

const Suspended = ({ of }: { of: readonly Instance[] }) => {
  const suspended = of.flatMap(({ instance, suspended: tables }) =>
    tables.map((each) => ({ ...each, instance })),
  );
  const loose = of.flatMap(({ without_upsert_keys: tables }) => tables);
  return (
    <>
      {suspended.length > 0 && (
        <>
          <h3>Suspended tables</h3>
          <p>
            Written rows are kept and invisible. Free disk space if it is full; then, in QuestDB:{' '}
            <code>ALTER TABLE … RESUME WAL</code>.
          </p>
          <Table
            caption="Suspended tables"
            sortName="suspended"
            columns={[
              {
                key: 'table',
                title: 'Table',
                sortBy: (each) => each.table_id,
                cell: (each) => <Hostile text={each.table_id} />,
              },
              { key: 'instance', title: 'Instance', cell: (each) => each.instance },
              {
                key: 'behind',
                title: 'Commits behind',
                isNumber: true,
                cell: (each) => <Figure value={each.pending_commits} />,
              },
              { key: 'why', title: 'Why', cell: (each) => <Hostile text={each.why} max={300} /> },
            ]}
            rows={suspended}
            keyOf={(each) => `${each.instance}-${each.table_id}`}
            empty=""
          />
        </>
      )}
      {loose.length > 0 && (
        <p class="state failed">
          Without upsert keys, so that a repeated row is stored twice:{' '}
          <Hostile text={loose.join(', ')} max={600} />
        </p>
      )}
    </>
  );
};

const tableColumnsOf = (delayAt: number): readonly Column<StoreTable>[] => [
  { key: 'table', title: 'Table', sortBy: ({ table }) => table, cell: ({ table }) => table },
  {
    key: 'rows',
    title: 'Rows',
    isNumber: true,
    sortBy: ({ rows }) => rows,
    cell: ({ rows }) => <Figure value={rows} />,
  },
  {
    key: 'bytes',
    title: 'Size',
    isNumber: true,
    sortBy: ({ bytes }) => bytes,
    cell: ({ bytes }) => <Figure value={bytes} as="bytes" />,
  },
  {
    key: 'parts',
    title: 'Parts',
    isNumber: true,
    sortBy: ({ parts }) => parts,
    cell: ({ parts }) => <Figure value={parts} />,
  },
  {
    key: 'partitions',
    title: 'Partitions',
    isNumber: true,
    cell: ({ partitions }) => <Figure value={partitions} />,
  },
  {
    key: 'most',
    title: 'Most parts of one',
    isNumber: true,
    sortBy: (each) => each.parts_of_partition_max,
    cell: ({ parts_of_partition_max: most }) => (
      <>
        {most > delayAt / 2 && <Badge tone="warn">many</Badge>} <Figure value={most} />
      </>
    ),
  },
];

const Clickhouse = ({ of }: { of: Stores['clickhouse'] }) => (
  <>
    <p>
      Version {of.version}. ClickHouse slows down inserts from <Figure value={of.parts_delay_at} /> parts of a
      partition on.
    </p>
    <Table
      caption="Tables of ClickHouse"
      sortName="clickhouse"
      columns={tableColumnsOf(of.parts_delay_at)}
      rows={of.tables}
      keyOf={({ table }) => table}
      empty="No tables: run tidemark migrate."
    />
    <ul>
      {of.disks.map(({ disk, free_bytes: free, total_bytes: total }) => (
        <li key={`d${disk}`}>
          Disk {disk}: <Figure value={free} as="bytes" /> free of <Figure value={total} as="bytes" />{' '}
          {free < total / 10 && <Badge tone="bad">nearly full</Badge>}
        </li>
      ))}
      {of.merges.map((merge, index) => (
        <li key={index}>
          Merge in {merge.table}: <Figure value={merge.progress} as="percent" /> of{' '}
          <Figure value={merge.bytes} as="bytes" /> after {durationText(merge.elapsed_seconds * 1000)}
        </li>
      ))}
    </ul>
  </>
);

/** What QuestDB and ClickHouse hold, and what is wrong with them. */
export const StoreList = () => {
  const loaded = useLoad('stores', (signal) => get('/api/v1/stores', { signal }), 30_000);
  return (
    <Await of={loaded}>
      {({ questdb, clickhouse }) => (
        <>
          <h2>QuestDB</h2>
          <Table
            caption="Instances of QuestDB"
            columns={instanceColumns}
            rows={questdb}
            keyOf={({ instance }) => instance}
            empty="No instance is set."
          />
          <Suspended of={questdb} />
          <h2>ClickHouse</h2>
          {clickhouse.why === '' ? (
            <Clickhouse of={clickhouse} />
          ) : (
            <div class="state failed" role="alert">
              ClickHouse does not answer: <Hostile text={clickhouse.why} max={400} />
            </div>
          )}
        </>
      )}
    </Await>
  );
};
