import { number, text, time } from '../../parts/columns.tsx';
import { numberText, Time } from '../../parts/format.tsx';
import { Hostile } from '../../parts/hostile.tsx';
import { itemsOf, pipelines } from '../../parts/signals.ts';
import { Badge } from '../../parts/states.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { href } from '../../shell/router.ts';
import type { Line } from './layout.ts';
import { differenceWords, termsOf } from './words.ts';

type HourAccount = NonNullable<Line['account']>;

const links: Readonly<Record<string, string | undefined>> = {
  dropped: href('/outcomes', { main_hide: 'stored' }),
  dead_lettered: href('/dead-letters'),
};

const Equation = ({ name, terms }: { name: string; terms: HourAccount['metrics'] }) => (
  <div class="equation">
    <span class="of">{name}</span>
    <span class="term">
      <span class="figure">{numberText(terms.received)}</span> received
    </span>
    {termsOf(terms).map(({ key, label, items }, index) => (
      <span key={key} class="term">
        <span aria-hidden="true">{index === 0 ? '= ' : '+ '}</span>
        <span class="unseen">{index === 0 ? 'equals' : 'plus'} </span>
        <span class={items === 0 ? 'figure quiet' : 'figure'}>{numberText(items)}</span>{' '}
        {links[key] === undefined || items === 0 ? label : <a href={links[key]}>{label}</a>}
      </span>
    ))}
  </div>
);

const notKnown =
  'not known: the books, or rows in a store, cannot be read now, or lines still wait in LEDGER';

/** `isOld`: the books were read before, and could not be read now. */
const Verdict = ({ account, isOld }: { account: HourAccount; isOld: boolean }) => {
  if (isOld) return <Badge tone="warn">not known now</Badge>;
  if (account.adds_up === true) return <Badge tone="good">adds up</Badge>;
  if (account.adds_up === null) return <Badge tone="warn">{notKnown}</Badge>;
  const owners = account.wrong_owners;
  return <Badge tone="bad">does not add up for {owners === 1 ? '1 owner' : `${owners} owners`}</Badge>;
};

const differenceColumns: readonly Column<HourAccount['differences'][number]>[] = [
  text('Kind', ({ kind }) => kind),
  number('Items', ({ items }) => items),
  number('Messages', ({ messages }) => messages),
  text('Owner', ({ owners }) => owners.join(', ') || 'not known'),
  text('Stream', ({ stream }) => stream || '–'),
  time('Arrived', ({ from }) => from),
  text('Meaning and what to do', ({ kind }) => differenceWords[kind].join('; '), 300),
];

/** The last hour of both books as an equation, and what they do not agree in. */
export const Account = ({ account, why }: { account: Line['account']; why: Line['account_why'] }) => (
  <>
    <h2 class="row">
      Account of the last hour {account !== null && <Verdict account={account} isOld={why !== null} />}
    </h2>
    {why !== null && (
      <p class="state failed">
        The books could not be read{account === null ? '' : '; this is the last reading'}:{' '}
        <Hostile text={why} max={300} /> Check ClickHouse; nothing is lost by it.
      </p>
    )}
    {account === null ? (
      why === null && <p class="state">The books are being read …</p>
    ) : (
      <>
        {/* A metadata process of before a signal was added says nothing of it. */}
        {pipelines
          .filter((pipeline) => Object.hasOwn(account, pipeline))
          .map((pipeline) => (
            <Equation key={pipeline} name={itemsOf(pipeline)} terms={account[pipeline]} />
          ))}
        <p class="quiet">
          {account.adds_up === null || why !== null
            ? 'Not complete now'
            : `${account.adds_up ? 'Exact, up' : 'Up'} to half a minute late`}
          , from two books that different processes keep: what NATS confirmed to receivers, and what transfer
          settled. From <Time at={account.since} seconds /> to <Time at={account.until} seconds />. The rates
          above are best effort.
        </p>
        {account.differences.length > 0 && (
          <Table
            caption="Open differences of the last hour"
            sortName="differences"
            rows={account.differences}
            keyOf={({ kind, stream, owners, from }) => `${kind} ${stream} ${owners} ${from}`}
            empty=""
            columns={differenceColumns}
          />
        )}
      </>
    )}
  </>
);
