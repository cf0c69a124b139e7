import { type Answer, get } from '../../api/client.ts';
import { useLoad } from '../../api/use.ts';
import { code, column, figures, number, text, time } from '../../parts/columns.tsx';
import { bytesText, numberText } from '../../parts/format.tsx';
import { Await } from '../../parts/states.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { TimeRangePicker, useTimeRange } from '../../parts/time-range.tsx';
import { refusalsOf } from '../outcomes/series.ts';
import { type Day, type SeenSdk, sdksOf } from './figures.ts';
import { Sum, type TabProps } from './pieces.tsx';

const counted = [
  ['requests', 'Requests', numberText],
  ['items', 'Items', numberText],
  ['wire_bytes', 'Bytes as sent', bytesText],
  ['refused_requests', 'Refused requests', numberText],
  ['repeated_requests', 'Repeated requests', numberText],
] as const;

const dayColumns: readonly Column<Day>[] = [
  text('Day (UTC)', ({ day }) => day ?? ''),
  ...counted.map(([name, title, text]) => figures(text)<Day>(title, (row) => row[name])),
  number('Busiest second', ({ requests_per_second_max }) => requests_per_second_max),
];

const reasonsText = (reasons: ReadonlyMap<string, number>): string =>
  reasons.size === 0 ? 'none' : [...reasons].map(([reason, count]) => `${reason} ${count}`).join(', ');

const sdkColumns: readonly Column<SeenSdk>[] = [
  text('SDK', ({ sdk }) => sdk),
  time('Last seen', ({ lastAt }) => lastAt),
  text('Sender', ({ sender }) => sender),
  column('Samples of what was refused, dropped or changed', ({ reasons }) => reasonsText(reasons)),
];

type Leniency = Answer<'/api/v1/outcomes'>['items'][number]['refusals'][number];

const kinds: Readonly<Record<Leniency['kind'], string>> = {
  value_lost: 'value changed or lost, item kept',
  duplicate: 'repeat, stored once',
  refused: 'request refused',
};

const leniencyColumns = (meanings: ReadonlyMap<string, string>): readonly Column<Leniency>[] => [
  text('What happened', ({ kind }) => kinds[kind]),
  code('Reason', ({ reason }) => reason),
  column('Meaning', ({ reason }) => meanings.get(reason)),
  number('Requests', ({ requests }) => requests),
  number('Items or values', ({ items }) => items),
];

/** Requests, items and bytes by day, and the SDKs of the senders. */
export const UsageTab = ({ kind, owner }: TabProps) => {
  const { since, until, key } = useTimeRange('30d');
  const query = { ...kind.queryOf(owner.id), since, until };
  const loaded = useLoad(`usage ${owner.id} ${key}`, (signal) =>
    Promise.all([
      get('/api/v1/usage', { query: { ...query, by: 'day' }, signal }),
      get('/api/v1/drops', { query: { ...query, limit: 1000 }, signal }),
      get('/api/v1/outcomes', { query, signal }),
      get('/api/v1/reasons', { signal }),
    ]),
  );
  return (
    <>
      <div class="row list-filters">
        <TimeRangePicker fallback="30d" />
      </div>
      <Await of={loaded}>
        {([{ items: days }, { items: samples }, { items: accounts }, { items: reasons }]) => (
          <>
            <ul class="figures">
              {counted.map(([name, title, text]) => (
                <Sum key={name} title={title} by="day" values={days.map((day) => day[name])} text={text} />
              ))}
            </ul>
            <Table
              caption="Usage by day"
              rows={days}
              keyOf={({ day }) => day ?? ''}
              empty="No request in this time."
              columns={dayColumns}
            />
            <h2>SDKs</h2>
            <Table
              caption="SDKs"
              sortName="sdks"
              rows={sdksOf(days, samples)}
              keyOf={({ sdk }) => sdk}
              empty="No sender in this time."
              columns={sdkColumns}
            />
            <h2>Changed, repeated and refused</h2>
            <Table
              caption="Changed, repeated and refused"
              sortName="leniencies"
              rows={refusalsOf(accounts)}
              keyOf={(row) => `${row.kind} ${row.reason}`}
              empty="Every request was taken as it was sent."
              columns={leniencyColumns(new Map(reasons.map(({ code, meaning }) => [code, meaning])))}
            />
          </>
        )}
      </Await>
    </>
  );
};
