import type { Answer } from '../../api/client.ts';
import { Chart } from '../../charts/chart.tsx';
import { marks, ratesOf, type Series } from '../../charts/model.ts';
import { column, duration, number, share } from '../../parts/columns.tsx';
import { Choice } from '../../parts/filters.tsx';
import { durationText, percentText } from '../../parts/format.tsx';
import { plainText } from '../../parts/plain-text.ts';
import { Queried, Ran, useAsked } from '../../parts/query.tsx';
import { TooLarge } from '../../parts/states.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { setTimeRange, TimeRangePicker, useTimeRange } from '../../parts/time-range.tsx';
import { href, useAddress } from '../../shell/router.ts';
import { ApplicationFilter } from '../owners/application-filter.tsx';
import { isWide } from '../traces/search.ts';

type Red = Answer<'/api/v1/query/red', 'post'>;
type Item = Red['items'][number];

const itemsMax = 200;

const calls = ['client', 'producer'] as const;
const requests = ['server', 'consumer'] as const;

const kindsOf = (choice: string | null) => {
  if (choice === 'client') return calls;
  return choice === 'all' ? ([...requests, ...calls, 'internal', 'unspecified'] as const) : requests;
};

const Filters = () => (
  <search class="row list-filters">
    <TimeRangePicker />
    <ApplicationFilter />
    <Choice
      label="Kinds"
      name="kinds"
      any="server and consumer"
      options={['all', ['client', 'client and producer']]}
    />
  </search>
);

const nameOf = ({ service, operation }: Item): string => plainText(operation ?? service, 80) || '–';

const insideOf = ({ app_id, service, operation }: Item, query: URLSearchParams): string => {
  const given = (name: string) => query.get(name) ?? undefined;
  return href(operation === null ? '/services' : '/traces', {
    range: given('range'),
    since: given('since'),
    until: given('until'),
    app: String(app_id),
    service,
    name: operation ?? undefined,
    kinds: operation === null ? given('kinds') : undefined,
  });
};

const columnsOf = (query: URLSearchParams, isOfService: boolean): readonly Column<Item>[] => [
  column(
    isOfService ? 'Operation' : 'Service',
    (item) => (
      <a href={insideOf(item, query)}>
        <bdi>{nameOf(item)}</bdi>
      </a>
    ),
    nameOf,
  ),
  number('Application', ({ app_id }) => app_id),
  number('Requests', ({ requests }) => requests),
  number('Per second', ({ per_second }) => per_second),
  number('Errors', ({ errors }) => errors),
  share('Errors of all', ({ error_ratio }) => error_ratio),
  duration('P50', ({ p50_ms }) => p50_ms),
  duration('P95', ({ p95_ms }) => p95_ms),
  duration('P99', ({ p99_ms }) => p99_ms),
];

type Figures = NonNullable<Item['series']>;

/** One series for each of the first items; keys are places, since names are a sender's. */
const seriesOf = (
  { items }: Red,
  valuesOf: (figures: Figures) => readonly (number | null)[],
): readonly Series[] =>
  items
    .flatMap((item) => (item.series === null ? [] : [{ item, series: item.series }]))
    .slice(0, marks)
    .map(({ item, series }, index) => ({
      key: `s${index}`,
      label: nameOf(item),
      mark: index,
      values: valuesOf(series),
    }));

const Charts = ({ red }: { red: Red }) => {
  const shared = {
    kind: 'lines',
    times: red.buckets,
    step: red.step ?? 60,
    heightPx: 180,
    onZoom: setTimeRange,
    summary: `The first ${Math.min(marks, red.items.length)}`,
  } as const;
  const rates = seriesOf(red, ({ requests }) => ratesOf(requests, red));
  const ratios = seriesOf(red, ({ requests, errors }) =>
    requests.map((count, index) => (count === 0 ? null : (errors[index] ?? 0) / count)),
  );
  const durations = seriesOf(red, ({ p99_ms }) => p99_ms);
  return (
    <div class="columns">
      <Chart {...shared} name="rate" title="Per second" series={rates} />
      <Chart {...shared} name="errors" title="Errors of all" text={percentText} series={ratios} />
      <Chart {...shared} name="p99" title="P99" text={durationText} series={durations} />
    </div>
  );
};

const Found = () => {
  const { query } = useAddress();
  const range = useTimeRange();
  const service = query.get('service') ?? undefined;
  const app = Number(query.get('app') ?? '') || undefined;
  const body = {
    app_id: app,
    service,
    kinds: [...kindsOf(query.get('kinds'))],
    by: service === undefined ? ('service' as const) : ('operation' as const),
    since: range.since,
    until: range.until,
    wide: isWide(range),
    series: true,
    limit: itemsMax,
  };
  const found = useAsked('/api/v1/query/red', body, range.key);
  return (
    <Queried of={found}>
      {(red) => (
        <>
          {red.items.length > 0 && <Charts red={red} />}
          <Table
            caption={`${service === undefined ? 'Services' : 'Operations'}, those with most requests first`}
            columns={columnsOf(query, service !== undefined)}
            rows={red.items}
            keyOf={(item) => JSON.stringify([item.app_id, item.service, item.operation])}
            empty="No span of these kinds began in this time."
          />
          {red.truncated && <TooLarge shown={red.items.length} how="Take a shorter time." />}
          <Ran of={red} onAgain={found.reload} store="clickhouse" />
        </>
      )}
    </Queried>
  );
};

/** Requests, errors and durations, computed from spans: of each service, and of the operations of one. */
const Page = () => {
  const { query } = useAddress();
  const service = query.get('service');
  return (
    <>
      <h1>Services</h1>
      {service !== null && (
        <p>
          <a href={href('/services')}>Services</a> / <bdi>{plainText(service, 80) || '–'}</bdi>
        </p>
      )}
      <Filters />
      <Found />
    </>
  );
};

export default Page;
