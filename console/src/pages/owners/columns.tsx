import { type Answer, get } from '../../api/client.ts';
import { useGet, useLoad } from '../../api/use.ts';
import { number, text, time } from '../../parts/columns.tsx';
import { Search } from '../../parts/filters.tsx';
import { Time } from '../../parts/format.tsx';
import { Hostile } from '../../parts/hostile.tsx';
import { Listing } from '../../parts/listing.tsx';
import { Await } from '../../parts/states.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { useQueryState } from '../../shell/router.ts';
import { changeText } from './figures.ts';
import { Gauge, type TabProps } from './pieces.tsx';

type Dimension = Answer<'/api/v1/data-sources/{id}/cardinality'>['dimensions'][number];

const dimensionColumns: readonly Column<Dimension>[] = [
  text('Dimension', ({ name }) => name),
  number('Values', ({ values }) => values),
  {
    key: 'change',
    title: 'Change',
    isNumber: true,
    cell: ({ values, values_before }) => changeText(values, values_before),
    sortBy: ({ values, values_before }) => (values ?? 0) - (values_before ?? 0),
  },
  number('Ever', ({ values_known }) => values_known),
  time('Full since', ({ full_since }) => full_since),
];

const columnColumns: readonly Column<Answer<'/api/v1/time-series-groups/{id}/columns'>['items'][number]>[] = [
  text('Name', ({ name }) => name),
  text('Kind', ({ kind }) => kind),
  text('Column', ({ column }) => column),
  time('First seen', ({ first_seen }) => first_seen),
  time('Last seen', ({ last_seen }) => last_seen),
];

const Cardinality = ({ id }: { id: number }) => {
  const counted = useGet('/api/v1/data-sources/{id}/cardinality', { path: { id } });
  return (
    <Await of={counted} what="Counting distinct values; this takes up to 8 s">
      {({ dimensions, why, at, ...caps }) => (
        <>
          <ul class="figures">
            <Gauge title="metrics with a column" used={caps.metric_columns} limit={caps.metric_columns_max} />
            <Gauge
              title="dimensions with a column"
              used={caps.dimension_columns}
              limit={caps.dimension_columns_max}
            />
          </ul>
          <h2>Cardinality</h2>
          <p class="quiet">
            Distinct values in the last 24 hours of event time, the change to the day before, and those ever
            (one more for a dimension that some points lack), {caps.dimension_values_max ?? 'any number'} at
            most; counted <Time at={at} seconds />.
          </p>
          {why !== '' && (
            <p class="state failed">
              Not every dimension has a count: <Hostile text={why} />
            </p>
          )}
          <Table
            caption="Cardinality"
            sortName="dimensions"
            rows={dimensions}
            keyOf={({ column }) => column}
            empty="There is no dimension yet."
            columns={dimensionColumns}
          />
        </>
      )}
    </Await>
  );
};

/** Metrics and dimensions with their columns, when they were seen, and how many values the dimensions have. */
export const Columns = ({ owner: { id, groupId } }: TabProps) => {
  const [search, setSearch] = useQueryState('q');
  const columns = useLoad(`columns ${groupId}`, async (signal) =>
    groupId === undefined
      ? { items: [] }
      : get('/api/v1/time-series-groups/{id}/columns', { path: { id: groupId }, signal }),
  );
  return (
    <>
      <Cardinality id={id} />
      <h2>Columns</h2>
      <div class="list-filters">
        <Search value={search} onValue={setSearch} />
      </div>
      <Listing
        of={columns}
        caption="Columns"
        has={({ name }) => name.toLowerCase().includes(search.toLowerCase())}
        keyOf={({ kind, name }) => `${kind} ${name}`}
        empty={
          search === ''
            ? 'No point was stored yet: the points define the columns.'
            : 'No column matches the search.'
        }
        columns={columnColumns}
      />
    </>
  );
};
