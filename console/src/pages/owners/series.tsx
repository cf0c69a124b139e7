import type { Answer } from '../../api/client.ts';
import { column, number, text } from '../../parts/columns.tsx';
import { plainText } from '../../parts/plain-text.ts';
import { Queried, Ran, useAsked } from '../../parts/query.tsx';
import { TooLarge } from '../../parts/states.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { TimeRangePicker, useTimeRange } from '../../parts/time-range.tsx';
import { isWide } from '../traces/search.ts';
import type { TabProps } from './pieces.tsx';

type Metric = Answer<'/api/v1/query/metrics', 'post'>['items'][number];

const metricsMax = 200;

const columns: readonly Column<Metric>[] = [
  text('Metric', ({ name }) => name),
  text('Service', ({ service }) => service),
  column(
    'Kind',
    ({ kind, temporality }) => (temporality === null ? kind : `${kind}, ${temporality}`),
    ({ kind }) => kind,
  ),
  text('Unit', ({ unit }) => unit),
  number('Series', ({ series }) => series),
  column('Distinct values', ({ attributes }) => (
    <bdi>{attributes.map(({ key, values }) => `${plainText(key, 40)} ${values}`).join(', ') || '–'}</bdi>
  )),
];

/** The metrics of an application, those with most series first, and which attributes make them many. */
export const SeriesTab = ({ owner }: TabProps) => {
  const range = useTimeRange();
  const { since, until, key } = range;
  const body = { app_id: owner.id, since, until, wide: isWide(range), limit: metricsMax };
  const found = useAsked('/api/v1/query/metrics', body, key);
  return (
    <>
      <div class="row list-filters">
        <TimeRangePicker />
      </div>
      <Queried of={found}>
        {({ items, truncated, ...ran }) => (
          <>
            <Table
              caption="Metrics of OpenTelemetry, those with most series first"
              columns={columns}
              rows={items}
              keyOf={(each) => JSON.stringify([each.service, each.name, each.kind, each.temporality])}
              empty="No data point came in this time."
            />
            {truncated && <TooLarge shown={items.length} how="Take a shorter time." />}
            <Ran of={ran} onAgain={found.reload} store="clickhouse" />
          </>
        )}
      </Queried>
    </>
  );
};
