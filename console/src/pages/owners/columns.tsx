import { get } from '../../api/client.ts';
import { useLoad } from '../../api/use.ts';
import { Figure, numberText, Time } from '../../parts/format.tsx';
import { Hostile } from '../../parts/hostile.tsx';
import { Await, Loading } from '../../parts/states.tsx';
import { Table } from '../../parts/table.tsx';
import { useQueryState } from '../../shell/router.ts';
import type { TabProps } from './one.tsx';
import { Gauge } from './overview.tsx';

/** `+3` or `−3` since the day before; empty where one of the two was not counted. */
export const changeText = (now: number | null, before: number | null): string => {
  if (now === null || before === null) return '';
  if (now === before) return '±0';
  return `${now > before ? '+' : '−'}${numberText(Math.abs(now - before))}`;
};

const Cardinality = ({ id }: { id: number }) => {
  const counted = useLoad(`cardinality of ${id}`, (signal) =>
    get('/api/v1/data-sources/{id}/cardinality', { path: { id }, signal }),
  );
  if (counted.data === undefined && counted.error === undefined)
    return <Loading what="Counting distinct values; this takes up to 8 s" />;
  return (
    <Await of={counted}>
      {({ dimensions, why, at, ...caps }) => (
        <>
          <ul class="tiles">
            <Gauge title="metrics with a column" used={caps.metric_columns} limit={caps.metric_columns_max} />
            <Gauge
              title="dimensions with a column"
              used={caps.dimension_columns}
              limit={caps.dimension_columns_max}
            />
          </ul>
          <h2>Cardinality of the dimensions</h2>
          <p class="quiet">
            Distinct values in the last 24 hours of event time, and the change to the 24 hours before; counted{' '}
            <Time at={at} seconds />.
          </p>
          {why !== '' && (
            <p class="state failed">
              Not every column has a count: <Hostile text={why} />
            </p>
          )}
          <Table
            caption="Cardinality of the dimensions"
            sortName="dimensions"
            rows={dimensions}
            keyOf={({ column }) => column}
            empty="There is no dimension yet."
            columns={[
              {
                key: 'name',
                title: 'Dimension',
                cell: ({ name }) => <Hostile text={name} max={100} />,
                sortBy: ({ name }) => name,
              },
              {
                key: 'values',
                title: 'Values',
                isNumber: true,
                sortBy: ({ values }) => values ?? -1,
                cell: ({ values }) => (values === null ? '–' : <Figure value={values} />),
              },
              {
                key: 'change',
                title: 'Change',
                isNumber: true,
                sortBy: ({ values, values_before }) => (values ?? 0) - (values_before ?? 0),
                cell: ({ values, values_before }) => changeText(values, values_before),
              },
            ]}
          />
        </>
      )}
    </Await>
  );
};

/** Metrics and dimensions with their columns, when they were seen, and how many values the dimensions have. */
export const Columns = ({ owner }: TabProps) => {
  const [search, setSearch] = useQueryState('q');
  const { groupId } = owner;
  const columns = useLoad(`columns of ${groupId}`, async (signal) =>
    groupId === undefined
      ? undefined
      : get('/api/v1/time-series-groups/{id}/columns', { path: { id: groupId }, signal }),
  );
  return (
    <>
      <Cardinality id={owner.id} />
      <h2>Columns</h2>
      <label class="row">
        Search
        <input
          type="search"
          data-search
          value={search}
          onInput={({ currentTarget }) => setSearch(currentTarget.value)}
        />
      </label>
      <Await of={columns}>
        {(found) => (
          <Table
            caption="Columns"
            rows={(found?.items ?? []).filter(({ name }) =>
              name.toLowerCase().includes(search.toLowerCase()),
            )}
            keyOf={({ kind, name }) => `${kind} ${name}`}
            empty={
              search === ''
                ? 'No point has been stored yet: the points define the columns.'
                : 'No column matches the search.'
            }
            columns={[
              {
                key: 'name',
                title: 'Name',
                cell: ({ name }) => <Hostile text={name} max={100} />,
                sortBy: ({ name }) => name,
              },
              { key: 'kind', title: 'Kind', cell: ({ kind }) => kind, sortBy: ({ kind }) => kind },
              {
                key: 'column',
                title: 'Column',
                cell: ({ column }) => <Hostile text={column} max={100} />,
                sortBy: ({ column }) => column,
              },
              {
                key: 'first',
                title: 'First seen',
                cell: (row) => <Time at={row.first_seen} seconds />,
                sortBy: (row) => row.first_seen,
                isNumber: true,
              },
              {
                key: 'last',
                title: 'Last seen',
                cell: (row) => <Time at={row.last_seen} seconds />,
                sortBy: (row) => row.last_seen,
                isNumber: true,
              },
            ]}
          />
        )}
      </Await>
    </>
  );
};
