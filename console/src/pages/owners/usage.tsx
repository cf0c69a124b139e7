import { get } from '../../api/client.ts';
import { useLoad } from '../../api/use.ts';
import { Sparkline } from '../../charts/small.tsx';
import { bytesText, Figure, Time } from '../../parts/format.tsx';
import { Hostile } from '../../parts/hostile.tsx';
import { Await } from '../../parts/states.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { TimeRangePicker, useTimeRange } from '../../parts/time-range.tsx';
import type { TabProps } from './one.tsx';
import type { UsageRow } from './owner.ts';

type Counted = 'requests' | 'items' | 'wire_bytes' | 'refused_requests' | 'repeated_requests';

const number = (key: Counted | 'requests_per_second_max', title: string): Column<UsageRow> => ({
  key,
  title,
  isNumber: true,
  sortBy: (row) => row[key],
  cell: (row) => <Figure value={row[key]} as={key === 'wire_bytes' ? 'bytes' : 'number'} />,
});

const columns: readonly Column<UsageRow>[] = [
  { key: 'day', title: 'Day (UTC)', cell: ({ day }) => day, sortBy: ({ day }) => day ?? '' },
  number('requests', 'Requests'),
  number('items', 'Items'),
  number('wire_bytes', 'Bytes as sent'),
  number('requests_per_second_max', 'Busiest second'),
  number('refused_requests', 'Refused'),
  number('repeated_requests', 'Repeated'),
  {
    key: 'sdk',
    title: 'Last SDK',
    cell: ({ last_sdk }) => <Hostile text={last_sdk} max={60} />,
    sortBy: ({ last_sdk }) => last_sdk,
  },
];

export type SeenSdk = {
  readonly sdk: string;
  readonly lastAt: number;
  readonly sender: string;
  readonly reasons: ReadonlyMap<string, number>;
};
type Sample = { readonly at: number; readonly sdk: string; readonly sender: string; readonly reason: string };

/** The SDKs that the days of usage and the samples name, the newest first, with the reasons of their samples. */
export const sdksOf = (days: readonly UsageRow[], samples: readonly Sample[]): SeenSdk[] => {
  const seen = new Map<
    string,
    { sdk: string; lastAt: number; sender: string; reasons: Map<string, number> }
  >();
  const note = (sdk: string, at: number, sender: string) => {
    const known = seen.get(sdk) ?? { sdk, lastAt: 0, sender, reasons: new Map<string, number>() };
    seen.set(sdk, known);
    if (at >= known.lastAt) Object.assign(known, { lastAt: at, sender });
    return known.reasons;
  };
  for (const { last_sdk, last_seen, last_sender } of days) note(last_sdk, last_seen ?? 0, last_sender);
  for (const { sdk, at, sender, reason } of samples) {
    const reasons = note(sdk, at, sender);
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  }
  return [...seen.values()].toSorted((left, right) => right.lastAt - left.lastAt);
};

const Sdks = ({ kind, owner, days }: Pick<TabProps, 'kind' | 'owner'> & { days: readonly UsageRow[] }) => {
  const { since, until, key } = useTimeRange('30d');
  const samples = useLoad(`samples ${owner.id} ${key}`, (signal) =>
    get('/api/v1/drops', { query: { ...kind.queryOf(owner.id), since, until, limit: 1000 }, signal }),
  );
  return (
    <Await of={samples}>
      {({ items }) => (
        <Table
          caption="SDKs and what was lenient about them"
          sortName="sdks"
          rows={sdksOf(days, items)}
          keyOf={({ sdk }) => sdk}
          empty="No sender in this time."
          columns={[
            {
              key: 'sdk',
              title: 'SDK',
              cell: ({ sdk }) =>
                sdk === '' ? <span class="quiet">does not name itself</span> : <Hostile text={sdk} />,
              sortBy: ({ sdk }) => sdk,
            },
            {
              key: 'seen',
              title: 'Last seen',
              cell: ({ lastAt }) => <Time at={lastAt} seconds />,
              sortBy: ({ lastAt }) => lastAt,
              isNumber: true,
            },
            { key: 'sender', title: 'Sender', cell: ({ sender }) => <Hostile text={sender} max={60} /> },
            {
              key: 'reasons',
              title: 'Samples of drops, refusals and truncated values',
              cell: ({ reasons }) =>
                reasons.size === 0
                  ? '–'
                  : [...reasons].map(([reason, count]) => `${reason} ${count}`).join(', '),
            },
          ]}
        />
      )}
    </Await>
  );
};

/** Requests, items and bytes by day, and the SDKs of the senders. */
export const UsageTab = ({ kind, owner }: TabProps) => {
  const { since, until, key } = useTimeRange('30d');
  const usage = useLoad(`usage ${kind.path} ${owner.id} ${key}`, (signal) =>
    get('/api/v1/usage', { query: { ...kind.queryOf(owner.id), by: 'day', since, until }, signal }),
  );
  return (
    <>
      <TimeRangePicker fallback="30d" />
      <Await of={usage}>
        {({ items: days }) => (
          <>
            <ul class="tiles">
              {(['requests', 'items', 'wire_bytes', 'refused_requests', 'repeated_requests'] as const).map(
                (name) => {
                  const values = days.map((day) => day[name]);
                  const sum = values.reduce((total, value) => total + value, 0);
                  return (
                    <li key={name}>
                      <span>{name.replace('_', ' ')}</span>
                      <strong class="figure">
                        {name === 'wire_bytes' ? bytesText(sum) : <Figure value={sum} />}
                      </strong>
                      {days.length > 1 && <Sparkline values={values} label={`${name} a day`} />}
                    </li>
                  );
                },
              )}
            </ul>
            <Table
              caption="Usage by day"
              columns={columns}
              rows={days}
              keyOf={({ day }) => day ?? ''}
              empty="No request in this time."
            />
            <h2>SDKs</h2>
            <Sdks kind={kind} owner={owner} days={days} />
          </>
        )}
      </Await>
    </>
  );
};
