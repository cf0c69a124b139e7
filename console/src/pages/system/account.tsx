import { useState } from 'preact/hooks';
import { type Answer, call } from '../../api/client.ts';
import { useGet } from '../../api/use.ts';
import { Button } from '../../parts/button.tsx';
import { badge, column, number, text, time, word } from '../../parts/columns.tsx';
import { Choice, OwnerFilter } from '../../parts/filters.tsx';
import { type Filled, FormDialog } from '../../parts/form.tsx';
import { counted, Figure } from '../../parts/format.tsx';
import { Hostile } from '../../parts/hostile.tsx';
import { Listing } from '../../parts/listing.tsx';
import { OwnerLink, ownerName, ownerQuery, ownerText } from '../../parts/owners.tsx';
import { itemsOf } from '../../parts/signals.ts';
import { Await, Loading, Unreadable, unreadableOwner } from '../../parts/states.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { announce } from '../../shell/announce.tsx';
import { useAddress, useQueryState } from '../../shell/router.ts';
import { useAllows } from '../../shell/session.ts';

import { closedWith, type Difference, kindText, ownerOf, ownerWords } from './differences.ts';

const columnsOf = (close: ((difference: Difference) => void) | undefined): readonly Column<Difference>[] => [
  badge('State', (each) => (each.is_open ? ['bad', 'open'] : ['neutral', 'closed'])),
  word('Difference', ({ kind }) => kindText(kind)),
  column('Owner', (each) => <OwnerLink of={ownerOf(each)} none="not known" />, ownerWords),
  word('Stream', ({ stream }) => stream),
  number('Items', ({ items }) => items),
  number('Messages', ({ messages }) => messages),
  time('Arrived from', ({ from }) => from),
  time('To', ({ until }) => until),
  column('Closed because', (each) => {
    if (!each.is_open) return <Hostile text={each.reason} />;
    const label = `Close: ${kindText(each.kind)} of ${ownerWords(each)} …`;
    return (
      close !== undefined &&
      each.kind !== 'not_known' && (
        <Button onClick={() => close(each)} aria-label={label}>
          Close …
        </Button>
      )
    );
  }),
];

type CloseProps = {
  readonly one: Difference;
  readonly all: readonly Difference[];
  readonly onClose: () => void;
  readonly onClosed: () => void;
};

const Close = ({ one, all, onClose, onClosed }: CloseProps) => {
  const own = closedWith(all, one);
  const items = own.reduce((sum, each) => sum + each.items, 0);
  const act = async (filled: Filled): Promise<void> => {
    const body = { ...ownerOf(one), kind: one.kind, reason: filled.text('reason')?.trim() ?? '' };
    const { data } = await call('post', '/api/v1/account/differences/close', { body });
    announce(`${data.closed.length} closed`);
    onClosed();
  };
  return (
    <FormDialog
      title={`Close: ${kindText(one.kind)}`}
      fields={[
        {
          name: 'reason',
          label: 'Reason',
          isRequired: true,
          hint: 'It stays visible; at most 500 characters',
        },
      ]}
      verb="Close"
      act={act}
      onClose={onClose}
    >
      <p>
        All open differences of this kind, <strong>{ownerWords(one)}</strong>: {own.length} with{' '}
        {counted(items, 'item')}. They stay visible; a larger figure opens one again.
      </p>
    </FormDialog>
  );
};

const verdicts = {
  true: ['good', 'adds up'],
  false: ['bad', 'does not add up'],
  null: ['neutral', 'not known'],
} as const;

const comparedColumns: readonly Column<Answer<'/api/v1/account/stores'>['items'][number]>[] = [
  word('Owner', (each) => ownerName(ownerText(each))),
  word('Items', ({ pipeline }) => itemsOf(pipeline)),
  badge('Store', (each) => verdicts[`${each.adds_up}`]),
  text('Why', ({ why, differences }) =>
    why === '' ? differences.map(({ kind, items: n }) => `${kindText(kind)}: ${n}`).join('; ') : why,
  ),
];

type OwnerQuery = NonNullable<ReturnType<typeof ownerQuery>>;

/** QuestDB and ClickHouse against the records, on demand: it reads all records of the owners. */
const StoreComparison = ({ owner }: { owner: OwnerQuery }) => {
  const loaded = useGet('/api/v1/account/stores', { query: owner });
  if (loaded.isLoading) return <Loading what="The stores are compared; this may take minutes" />;
  return (
    <Await of={loaded}>
      {({ compared, items }) => (
        <>
          <p>
            Compared: <Figure value={compared.rows} /> recorded rows of <Figure value={compared.days} />{' '}
            owners and event days. <Button onClick={loaded.reload}>Compare again</Button>
          </p>
          <Table
            caption="Owners, compared with their stores"
            sortName="stores"
            columns={comparedColumns}
            rows={items}
            keyOf={(each) => `${each.pipeline}-${each.data_id}-${each.app_id}`}
            empty="No owner has recorded rows."
          />
        </>
      )}
    </Await>
  );
};

const Differences = ({ owner }: { owner: OwnerQuery }) => {
  const [state] = useQueryState('state');
  const loaded = useGet('/api/v1/account/differences', { query: owner });
  const [compare, setCompare] = useQueryState('compare');
  const [closing, setClosing] = useState<Difference>();
  const mayClose = useAllows('editor');
  return (
    <>
      <h2>Differences</h2>
      <Listing
        of={loaded}
        caption="Differences, newest first"
        columns={columnsOf(mayClose ? setClosing : undefined)}
        has={(each) => state === '' || each.is_open === (state === 'open')}
        keyOf={(each) =>
          `${each.kind}-${each.stream}-${each.owners}-${each.from}-${each.is_open}-${each.reason}`
        }
        empty={state === '' ? 'No differences: the books agree.' : 'No difference has this state.'}
      />
      <h2>Stores</h2>
      {compare === '1' ? (
        <StoreComparison owner={owner} />
      ) : (
        <Button onClick={() => setCompare('1')}>Compare the stores with the records</Button>
      )}
      {closing !== undefined && (
        <Close
          one={closing}
          all={loaded.data?.items ?? []}
          onClose={() => setClosing(undefined)}
          onClosed={loaded.reload}
        />
      )}
    </>
  );
};

/** What the books, and the books and the stores, do not agree in. */
export const AccountDifferences = () => {
  const owner = ownerQuery(useAddress().query.get('owner') ?? '');
  return (
    <>
      <div class="row list-filters">
        <OwnerFilter />
        <Choice label="State" name="state" any="all" options={['open', 'closed']} />
      </div>
      {owner === undefined ? <Unreadable>{unreadableOwner}</Unreadable> : <Differences owner={owner} />}
    </>
  );
};
