import './points.css';
import { useState } from 'preact/hooks';
import { get } from '../../api/client.ts';
import { useLoad } from '../../api/use.ts';
import { Chart } from '../../charts/chart.tsx';
import { Choice, Search, Select } from '../../parts/filters.tsx';
import { exactText, Time } from '../../parts/format.tsx';
import { Hostile } from '../../parts/hostile.tsx';
import { plainText } from '../../parts/plain-text.ts';
import { Queried, Ran, useAsked } from '../../parts/query.tsx';
import { Await, Empty, Failed, TooLarge } from '../../parts/states.tsx';
import { Table } from '../../parts/table.tsx';
import { setTimeRange, TimeRangePicker, useTimeRange } from '../../parts/time-range.tsx';
import { href, setQuery, useAddress } from '../../shell/router.ts';
import { isFound } from '../owners/figures.ts';
import { sources } from '../owners/owner.ts';
import { useOwners } from '../owners/search.ts';
import { Filters, Names } from './choices.tsx';
import {
  aggregates,
  filtersMax,
  groupsMax,
  isEmpty,
  metricsMax,
  noPoint,
  type Points,
  queryOf,
  sentenceOf,
  seriesOf,
} from './query.ts';

const steps = [
  ['10', '10 s'],
  ['60', '1 min'],
  ['300', '5 min'],
  ['900', '15 min'],
  ['3600', '1 h'],
  ['86400', '1 day'],
] as const;

/** The data id of a source that is given by it, or by its table. */
const dataIdOf = (source: string): number | undefined => {
  const [, id] = /(?:^|_)(\d{1,15})(?:\.__default__)?$/.exec(source) ?? [];
  return id === undefined ? undefined : Number(id);
};

/** The names that a source has sent. */
const useNames = (dataId: number | undefined) =>
  useLoad(`names ${dataId}`, async (signal) => {
    if (dataId === undefined) return { metrics: [], dimensions: [] };
    const query = { mon_data_id: dataId };
    const [group] = (await get('/api/v1/time-series-groups', { query, signal })).items;
    if (group === undefined) return { metrics: [], dimensions: [] };
    const path = { id: group.time_series_group_id };
    const { items } = await get('/api/v1/time-series-groups/{id}/columns', { path, signal });
    const named = (kind: string): string[] =>
      items.filter((each) => each.kind === kind).map(({ name }) => name);
    return { metrics: named('metric'), dimensions: [...new Set(['target', ...named('dimension')])] };
  });

type AskedProps = { dataId: number; metrics: readonly string[]; dimensions: readonly string[] };

/** What is asked of a source. */
const Asked = ({ dataId, metrics, dimensions }: AskedProps) => {
  const { query } = useAddress();
  if (metrics.length === 0)
    return (
      <Empty>
        This source has no metric yet, or any more. <a href={href(`/sources/${dataId}/set-up`)}>Set it up</a>
      </Empty>
    );
  return (
    <>
      <div class="row">
        <Names
          label="Metrics"
          name="metric"
          chosen={query.getAll('metric')}
          options={metrics}
          max={metricsMax}
        />
        <Choice label="as" name="agg" any="avg" options={aggregates.filter((each) => each !== 'avg')} />
        <Names label="Group by" name="by" chosen={query.getAll('by')} options={dimensions} max={groupsMax} />
      </div>
      <Filters source={dataId} given={query.getAll('where')} dimensions={dimensions} max={filtersMax} />
    </>
  );
};

/** What is asked; all of it is in the address. */
const Controls = () => {
  const { query } = useAddress();
  const [search, setSearch] = useState('');
  const listed = useOwners(sources, search);
  const source = query.get('source') ?? '';
  const dataId = dataIdOf(source);
  const names = useNames(dataId);
  const owners = listed.data?.owners ?? [];
  const isLong = listed.isMany || owners.length >= 50;
  const found = owners.filter((owner) => isFound(owner, search.trim()));
  const listedOf = found.map(({ id, name }) => [String(id), `${id} ${plainText(name, 60)}`] as const);
  const none = source === '' ? [['', 'choose …'] as const] : [];
  const choose = (next: string): void =>
    setQuery({ source: next, metric: undefined, by: undefined, where: undefined }, { replace: false });
  return (
    <div class="query">
      {listed.error !== undefined && <Failed error={listed.error} onRetry={listed.reload} />}
      <div class="row">
        <Select label="Source" value={source} isSearch options={[...none, ...listedOf]} onValue={choose} />
        {isLong && <Search value={search} onValue={setSearch} placeholder="name, id or biz:2" />}
        {listed.data?.isCut && (
          <TooLarge shown={owners.length} how="A search finds the others by name, id or business." />
        )}
        <TimeRangePicker />
        <Choice label="Step" name="step" any="automatic" options={steps} />
        <Choice label="Show" name="show" any="series" options={[['rows', 'last 50 rows']]} />
      </div>
      <Await of={names} what="Loading the names">
        {({ metrics, dimensions }) => dataId !== undefined && <Asked {...{ dataId, metrics, dimensions }} />}
      </Await>
    </div>
  );
};

type RawRow = { readonly cells: NonNullable<Points['raw']>['rows'][number]; readonly index: number };

const Cell = ({ value }: { value: string | number | null | undefined }) => {
  if (value == null) return <span class="quiet">–</span>;
  return typeof value === 'number' ? <span>{value}</span> : <Hostile text={value} max={80} />;
};

const Rows = ({ raw }: { raw: NonNullable<Points['raw']> }) => (
  <Table
    caption="The last 50 rows, the newest first"
    rows={raw.rows.map((cells, index): RawRow => ({ cells, index }))}
    keyOf={({ index }) => index}
    empty="No row of this time has these metrics and fulfils all filters. Take a longer time, or remove a filter."
    columns={raw.columns.map((name, place) => ({
      key: `c${place}`,
      title: plainText(name, 40),
      isNumber: raw.rows.some(({ [place]: cell }) => typeof cell === 'number'),
      cell: ({ cells: { [place]: value } }: RawRow) =>
        place === 0 ? <Time at={Date.parse(String(value))} ms /> : <Cell value={value} />,
    }))}
  />
);

const Found = ({ points, isCount }: { points: Points; isCount: boolean }) => {
  const { query } = useAddress();
  if (points.raw !== null) return <Rows raw={points.raw} />;
  if (isEmpty(points, isCount)) return <Empty>{noPoint}</Empty>;
  return (
    <>
      <Chart
        name="points"
        title="Values over time"
        kind="lines"
        summary={sentenceOf(points, query.get('step'))}
        times={points.buckets}
        step={points.step ?? 60}
        series={seriesOf(points)}
        text={exactText}
        heightPx={300}
        onZoom={setTimeRange}
      />
      {points.truncated && (
        <TooLarge
          shown={points.series.length}
          total={points.series_total}
          how="They are the series with most rows. Add a filter, or group by less."
        />
      )}
    </>
  );
};

/** Stored points: a query of one table, its series or its last rows. */
const Page = () => {
  const { query } = useAddress();
  const range = useTimeRange();
  const body = queryOf(query, range);
  const asked = typeof body === 'string' ? undefined : body;
  const found = useAsked('/api/v1/query/points', asked, range.key);
  return (
    <>
      <h1>Explore points</h1>
      <Controls />
      {typeof body === 'string' ? (
        <Empty>{body}</Empty>
      ) : (
        <Queried of={found}>
          {(points) => (
            <>
              <Found points={points} isCount={body.aggregate === 'count'} />
              <p class="quiet">
                Table <code>{points.table_id}</code> on QuestDB <code>{points.questdb}</code>
              </p>
              <Ran of={points} onAgain={found.reload} store="questdb" />
            </>
          )}
        </Queried>
      )}
    </>
  );
};

export default Page;
