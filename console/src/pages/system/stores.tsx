import type { Answer } from '../../api/client.ts';
import { useGet } from '../../api/use.ts';
import { badge, bytes, column, number, text, word } from '../../parts/columns.tsx';
import { durationText } from '../../parts/figures.ts';
import { Figure } from '../../parts/format.tsx';
import { Hostile } from '../../parts/hostile.tsx';
import { Await, Badge } from '../../parts/states.tsx';
import { type Column, Table } from '../../parts/table.tsx';

type Stores = Answer<'/api/v1/stores'>;
type Instance = Stores['questdb'][number];

const instanceColumns: readonly Column<Instance>[] = [
  word('Instance', ({ instance }) => instance),
  column('State', ({ why, suspended: { length } }) => {
    if (why !== '') return <Hostile text={why} />;
    return length === 0 ? (
      <Badge tone="good">answers</Badge>
    ) : (
      <Badge tone="bad">{`${length} suspended`}</Badge>
    );
  }),
  number('Tables', ({ tables }) => tables),
  number('Rows', ({ rows }) => rows),
  bytes('Size', (each) => each.bytes),
  number('Commits not visible, at most', (each) => each.pending_commits_max),
];

const suspendedColumns: readonly Column<Instance['suspended'][number] & { instance: string }>[] = [
  text('Table', (each) => each.table_id),
  word('Instance', (each) => each.instance),
  number('Commits behind', (each) => each.pending_commits),
  text('Why', ({ why }) => why, 300),
];

/** Tables that need an operator. */
const Troubled = ({ of }: { of: readonly Instance[] }) => {
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
            Written rows are kept and invisible. Free disk space if it is full, raise <code>nofile</code> if
            there is no open file left; then, in QuestDB: <code>ALTER TABLE … RESUME WAL</code>.
          </p>
          <Table
            caption="Suspended tables"
            sortName="suspended"
            columns={suspendedColumns}
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

const tableColumns = (delayAt: number): readonly Column<Stores['clickhouse']['tables'][number]>[] => [
  word('Table', ({ table }) => table),
  number('Rows', ({ rows }) => rows),
  bytes('Size', (each) => each.bytes),
  number('Parts', ({ parts }) => parts),
  number('Partitions', ({ partitions }) => partitions),
  number('Most parts of one', (each) => each.parts_of_partition_max),
  badge('State', (each) =>
    each.parts_of_partition_max > delayAt / 2 ? ['warn', 'many parts'] : ['good', 'merged'],
  ),
];

type ClickhouseProps = { of: Stores['clickhouse'] };

const Clickhouse = ({ of: { version, parts_delay_at: delayAt, tables, disks, merges } }: ClickhouseProps) => (
  <>
    <p>
      Version {version}. It slows down inserts from <Figure value={delayAt} /> parts of a partition on.
    </p>
    <Table
      caption="Tables of ClickHouse"
      sortName="clickhouse"
      columns={tableColumns(delayAt)}
      rows={tables}
      keyOf={({ table }) => table}
      empty="No tables: run tidemark migrate."
    />
    <ul>
      {disks.map(({ disk, free_bytes: free, total_bytes: total }) => (
        <li key={`d${disk}`}>
          Disk {disk}: <Figure value={free} as="bytes" /> free of <Figure value={total} as="bytes" />{' '}
          {free < total / 10 && <Badge tone="bad">nearly full</Badge>}
        </li>
      ))}
      {merges.map((merge, index) => (
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
  const loaded = useGet('/api/v1/stores', {}, 30_000);
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
          <Troubled of={questdb} />
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
