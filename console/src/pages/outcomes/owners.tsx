import type { Answer } from '../../api/client.ts';
import { numberColumn, textColumn } from '../../parts/columns.tsx';
import { numberText } from '../../parts/format.tsx';
import { itemsOf } from '../../parts/signals.ts';
import { Badge } from '../../parts/states.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { ownerName, ownerText, type Which } from './series.ts';

type Account = Answer<'/api/v1/outcomes'>['items'][number];

const droppedOf = ({ dropped }: Account): number =>
  Object.values(dropped).reduce((sum, items) => sum + items, 0);
const refusedOf = ({ refusals }: Account): number =>
  refusals.filter(({ kind }) => kind === 'refused').reduce((sum, { requests }) => sum + requests, 0);

const topReason = ({ dropped }: Account): [string, number] | undefined =>
  Object.entries(dropped).toSorted(([, left], [, right]) => right - left)[0];

const verdicts = { true: ['good', 'yes'], false: ['bad', 'no'], null: ['warn', 'not known'] } as const;
const verdict = ({ adds_up: addsUp }: Account) => {
  const [tone, word] = verdicts[`${addsUp}`];
  return <Badge tone={tone}>{word}</Badge>;
};

const columnsOf = (choose: (owner: string, reason?: string) => void): Column<Account>[] => [
  {
    ...{ key: 'owner', title: 'Owner', sortBy: ownerText },
    cell: (row) =>
      ownerText(row) === '' ? (
        <span class="quiet">none known</span>
      ) : (
        <button type="button" class="more" onClick={() => choose(ownerText(row))}>
          {ownerName(ownerText(row))}
        </button>
      ),
  },
  textColumn('items', 'Items', ({ pipeline }) => itemsOf(pipeline)),
  numberColumn('received', 'Received', ({ received }) => received),
  numberColumn('stored', 'Stored', ({ stored }) => stored),
  numberColumn('dropped', 'Dropped', droppedOf),
  {
    ...{ key: 'reason', title: 'Most by', sortBy: (row) => topReason(row)?.[0] ?? '' },
    cell: (row) => {
      const [code, items] = topReason(row) ?? [];
      if (code === undefined) return '–';
      return (
        <button type="button" class="more" onClick={() => choose(ownerText(row), code)}>
          {code} ({numberText(items ?? 0)})
        </button>
      );
    },
  },
  numberColumn('letters', 'Dead-lettered', (row) => row.dead_lettered),
  numberColumn('flight', 'In flight', (row) => row.in_flight),
  numberColumn('refused', 'Refused', refusedOf),
  { key: 'adds', title: 'Adds up', cell: verdict, sortBy: (row) => String(row.adds_up) },
];

type OwnersProps = {
  items: readonly Account[];
  which: Which;
  onChoose: (owner: string, reason?: string) => void;
};

/** What became of the items of each owner. */
export const Owners = ({ items, which, onChoose }: OwnersProps) => (
  <>
    <h2>Owners</h2>
    <Table
      caption="Outcomes by owner"
      sortName="owners"
      rows={items.filter(({ pipeline }) => which === '' || pipeline === which)}
      keyOf={({ pipeline, data_id: dataId, app_id: appId }) => `${pipeline} ${dataId} ${appId}`}
      empty="No owner has items or refused requests in this time."
      columns={columnsOf(onChoose)}
    />
  </>
);
