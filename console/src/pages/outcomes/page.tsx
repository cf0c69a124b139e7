import './outcomes.css';
import { addressOf, get } from '../../api/client.ts';
import { nowSeconds } from '../../api/clock.ts';
import { useLoad } from '../../api/use.ts';
import { Chart, sumOf } from '../../charts/chart.tsx';
import { BarList } from '../../charts/small.tsx';
import { Button } from '../../parts/button.tsx';
import { Download } from '../../parts/download.tsx';
import { Choice, OwnerFilter } from '../../parts/filters.tsx';
import { numberText, Time } from '../../parts/format.tsx';
import { ownerName, ownerPath, ownerQuery } from '../../parts/owners.tsx';
import { plainText } from '../../parts/plain-text.ts';
import { itemsOf, pipelines } from '../../parts/signals.ts';
import { Await, Empty, NotKnown, TooLarge, Unreadable, unreadableOwner } from '../../parts/states.tsx';
import { setTimeRange, TimeRangePicker, useTimeRange } from '../../parts/time-range.tsx';
import { href, setQuery, useAddress } from '../../shell/router.ts';
import { Samples } from '../drops/samples.tsx';
import { Owners, useNames } from './owners.tsx';
import { Explanation } from './reasons.tsx';
import {
  besideText,
  type Charts,
  chartsOf,
  daysMax,
  otherKey,
  reasonCounts,
  type Step,
  sentenceOf,
  stepOf,
  stepSeconds,
} from './series.ts';

const againMs = 30_000;

/** The state of the page: all of it is in the address. */
const useChosen = () => {
  const { query } = useAddress();
  const at = Number(query.get('at') ?? '');
  return {
    range: useTimeRange(),
    by: query.get('by') ?? '',
    owner: query.get('owner') ?? '',
    which: pipelines.find((name) => name === query.get('items')) ?? ('' as const),
    isShare: query.get('show') === 'percent',
    reason: query.get('reason') ?? '',
    at: at > 0 ? at : undefined,
  };
};

type Chosen = ReturnType<typeof useChosen>;
type Shown = Chosen & { readonly step: Step };

/** What is asked at this moment: a range that ends now moves on while the page is open. */
const askedOf = ({ range, by, owner }: Chosen) => {
  const { since, until } = range.current();
  const end = until ?? nowSeconds();
  return {
    query: { since, until, ...ownerQuery(owner) },
    step: stepOf(since, end, by),
    isTooLong: end - since > daysMax * stepSeconds.day,
  };
};

const csvOf = (choice: Chosen) => {
  const { query, step, isTooLong } = askedOf(choice);
  const by = isTooLong ? undefined : step;
  return addressOf('/api/v1/outcomes', { query: { ...query, by, format: 'csv' } });
};

const Controls = ({ choice }: { choice: Chosen }) => (
  <div class="row list-filters">
    <TimeRangePicker />
    <Choice name="by" label="Step" any="automatic" options={['minute', 'hour', ['day', 'day (UTC)']]} />
    <Choice
      name="items"
      label="Items"
      any="all"
      options={pipelines.map((pipeline) => [pipeline, itemsOf(pipeline)] as const)}
    />
    <Choice name="show" label="Show" any="count" options={['percent']} />
    <OwnerFilter />
    {ownerQuery(choice.owner) && (
      <Download label={choice.which === '' ? 'CSV' : 'CSV of all items'} of={() => csvOf(choice)} />
    )}
  </div>
);

/** What a click on a bar chooses: its time and, of a reason, the reason; a key press takes the largest reason of that time. */
const pick = (charts: Charts, list: Charts['outcomes'], index: number, key: string | undefined): void => {
  const reasons = list
    .filter(
      (each) =>
        !['stored', 'dead_lettered', otherKey, 'duplicate'].includes(each.key) &&
        (each.values[index] ?? 0) > 0,
    )
    .toSorted((left, right) => (right.values[index] ?? 0) - (left.values[index] ?? 0));
  const chosen = key === undefined ? reasons[0]?.key : reasons.find((each) => each.key === key)?.key;
  setQuery({ at: String(charts.times[index] ?? 0), reason: chosen?.split(' ').at(-1) }, { replace: false });
};

type ChartsProps = { charts: Charts; choice: Shown; accounts: Parameters<typeof sentenceOf>[1] };
const OutcomeCharts = ({ charts, choice, accounts }: ChartsProps) => {
  const size = stepSeconds[choice.step];
  const picked = choice.at === undefined ? -1 : charts.times.indexOf(choice.at);
  const refused = charts.refusals.reduce((sum, each) => sum + sumOf(each), 0);
  const shared = {
    ...({ kind: 'bars', times: charts.times, step: size } as const),
    // A minute that is cut counts whole: the end would begin another bar.
    onZoom: (since: number, until: number) => setTimeRange(since, until - 1),
    ...(picked < 0 ? {} : { picked }),
  };
  return (
    <>
      <Chart
        {...shared}
        name="main"
        title={`Items by outcome and ${choice.step}`}
        summary={sentenceOf(charts.sums, accounts, charts.bucketsAt(undefined))}
        series={charts.outcomes}
        isShare={choice.isShare}
        heightPx={260}
        onPick={(index, key) => pick(charts, charts.outcomes, index, key)}
      />
      {charts.refusals.length > 0 && (
        <Chart
          {...shared}
          name="beside"
          title="Beside the account"
          summary={`${numberText(refused)} refused and repeated requests and lost values; best effort.`}
          series={charts.refusals}
          heightPx={130}
          onPick={(index, key) => pick(charts, charts.refusals, index, key)}
        />
      )}
    </>
  );
};

/** The reasons of the time, or of the bar that was chosen; then what one of them means, with samples. */
const Reasons = ({ charts, choice }: { charts: Charts; choice: Shown }) => {
  const { at, reason } = choice;
  const size = stepSeconds[choice.step];
  const sums = charts.sumsAt(at).filter(([key, items]) => key !== 'stored' && items > 0);
  const buckets = charts.bucketsAt(at);
  return (
    <>
      <h2 class="row">
        Why{' '}
        {at === undefined ? (
          'in this time'
        ) : (
          <span>
            at <Time at={at} seconds />
          </span>
        )}
        {(at !== undefined || reason !== '') && (
          <Button onClick={() => setQuery({ at: undefined, reason: undefined })}>Show all</Button>
        )}
      </h2>
      {sums.length === 0 ? (
        <Empty>
          Nothing was dropped or dead-lettered {at === undefined ? 'in this time' : 'then'}
          {besideText(buckets)}.
        </Empty>
      ) : (
        <BarList
          label="Items by reason"
          rows={sums.map(([key, value]) => ({
            ...{ key, value },
            label:
              key === 'dead_lettered' ? (
                <a href={href('/dead-letters', choice.owner === '' ? {} : { owner: choice.owner })}>
                  dead-lettered
                </a>
              ) : (
                <Button
                  class="more"
                  aria-pressed={key === reason}
                  onClick={() => setQuery({ reason: key }, { replace: false })}
                >
                  {key}
                </Button>
              ),
          }))}
        />
      )}
      {reason !== '' && (
        <div class="why">
          <h3>{plainText(reason)}</h3>
          <Explanation
            code={reason}
            count={reasonCounts(buckets).get(reason)}
            span={at === undefined ? 'this time' : `this ${choice.step}`}
          />
          <Samples
            key={`${reason} ${at} ${choice.range.key} ${choice.step} ${choice.owner}`}
            query={{
              ...ownerQuery(choice.owner),
              reason,
              limit: 10,
              since: at ?? choice.range.current().since,
              until: at === undefined ? choice.range.until : at + size,
            }}
          />
        </div>
      )}
    </>
  );
};

const Found = ({ choice }: { choice: Chosen }) => {
  const { range, by, owner, which } = choice;
  const names = useNames();
  const loaded = useLoad(
    `${range.key} ${by} ${owner}`,
    async (signal) => {
      const { query, step, isTooLong } = askedOf(choice);
      const [grouped, owners] = await Promise.all([
        isTooLong
          ? undefined
          : get('/api/v1/outcomes', { query: { ...query, by: step, group: 'reason' }, signal }),
        get('/api/v1/outcomes', { query, signal }),
      ]);
      return { grouped, owners, step, isTooLong };
    },
    range.until === undefined ? againMs : undefined,
  );
  return (
    <>
      {owner !== '' && (
        <p>
          Only <a href={href(ownerPath(owner))}>{ownerName(owner)}</a>.{' '}
          <Button class="more" onClick={() => setQuery({ owner: undefined })}>
            All owners
          </Button>
        </p>
      )}
      <Await of={loaded}>
        {({ grouped, owners, step, isTooLong }) => {
          const items = owners.items.filter(({ pipeline }) => which === '' || pipeline === which);
          const charts = grouped && chartsOf(grouped.buckets, grouped.since, grouped.until, step, which);
          const shown = { ...choice, step };
          return (
            <>
              {isTooLong && (
                <Empty>The charts have room for {daysMax} days. Choose a shorter time to see them.</Empty>
              )}
              <NotKnown since={owners.not_known_since} />
              {charts && <OutcomeCharts charts={charts} choice={shown} accounts={items} />}
              {charts && <Reasons charts={charts} choice={shown} />}
              {owners.truncated && <TooLarge shown={owners.items.length} how="Take a shorter time." />}
              <Owners
                items={items}
                removed={owners.removed}
                names={names}
                onChoose={(chosen, reason) => setQuery({ owner: chosen, reason }, { replace: false })}
              />
            </>
          );
        }}
      </Await>
    </>
  );
};

const Page = () => {
  const choice = useChosen();
  return (
    <>
      <h1>Outcomes</h1>
      <Controls choice={choice} />
      {ownerQuery(choice.owner) ? <Found choice={choice} /> : <Unreadable>{unreadableOwner}</Unreadable>}
    </>
  );
};

export default Page;
