import type { Answer } from '../../api/client.ts';
import { useLoad } from '../../api/use.ts';
import { Button } from '../../parts/button.tsx';
import { number, text } from '../../parts/columns.tsx';
import { numberText } from '../../parts/format.tsx';
import { Hostile } from '../../parts/hostile.tsx';
import { ownerName, ownerText } from '../../parts/owners.tsx';
import { furtherTerms, itemsOf } from '../../parts/signals.ts';
import { Badge } from '../../parts/states.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { href } from '../../shell/router.ts';
import { applications, sources } from '../owners/owner.ts';
import { refusedOf, removedText } from './series.ts';

type Outcomes = Answer<'/api/v1/outcomes'>;
type Account = Outcomes['items'][number];
type Owned = Pick<Account, 'pipeline' | 'data_id' | 'app_id'>;
type Gone = ReadonlyMap<string, Outcomes['removed']>;
type Names = ReadonlyMap<string, string>;

const droppedOf = ({ dropped }: Account): number =>
  Object.values(dropped).reduce((sum, items) => sum + items, 0);

const topReason = ({ dropped }: Account): [string, number] | undefined =>
  Object.entries(dropped).toSorted(([, left], [, right]) => right - left)[0];

const verdicts = { true: ['good', 'yes'], false: ['bad', 'no'], null: ['warn', 'not known'] } as const;
/** The verdict; one that is wrong leads to the differences of its owner. */
const verdict = (row: Account) => {
  const [tone, word] = verdicts[`${row.adds_up}`];
  const badge = <Badge tone={tone}>{word}</Badge>;
  if (row.adds_up !== false) return badge;
  const owner = ownerText(row);
  return <a href={href('/system/account', owner === '' ? {} : { owner })}>{badge}</a>;
};

type OwnersProps = {
  items: readonly Account[];
  removed: Outcomes['removed'];
  names: Names;
  onChoose: (owner: string, reason?: string) => void;
};

/** The names of owners as far as their lists go, by the text that stands for an owner. */
export const useNames = (): Names => {
  const lists = [useLoad('sources', sources.list), useLoad('applications', applications.list)];
  const named = lists.flatMap(({ data }, kind) => (data?.owners ?? []).map((owner) => ({ ...owner, kind })));
  return new Map(named.map(({ id, name, kind }) => [kind === 0 ? String(id) : `app:${id}`, name]));
};

const keyOf = ({ pipeline, data_id: dataId, app_id: appId }: Owned) => `${pipeline} ${dataId} ${appId}`;
const columnsOf = ({ items, names, onChoose }: OwnersProps, gone: Gone): Column<Account>[] => [
  {
    ...{ key: 'owner', title: 'Owner', sortBy: ownerText },
    cell: (row) =>
      ownerText(row) === '' ? (
        <span class="quiet">none known</span>
      ) : (
        <>
          <Button class="more" onClick={() => onChoose(ownerText(row))}>
            {ownerName(ownerText(row))}
          </Button>{' '}
          {names.has(ownerText(row)) && <Hostile text={names.get(ownerText(row)) ?? ''} max={40} />}
        </>
      ),
  },
  text('Items', ({ pipeline }) => itemsOf(pipeline)),
  number('Received', ({ received }) => received),
  {
    ...number('Stored', ({ stored }) => stored),
    cell: (row) => [numberText(row.stored), <div key="gone">{removedText(gone.get(keyOf(row)) ?? [])}</div>],
  },
  number('Dropped', droppedOf),
  {
    ...{ key: 'reason', title: 'Most by', sortBy: (row) => topReason(row)?.[0] ?? '' },
    cell: (row) => {
      const [code, items] = topReason(row) ?? [];
      if (code === undefined) return '–';
      return (
        <Button class="more" onClick={() => onChoose(ownerText(row), code)}>
          {code} ({numberText(items ?? 0)})
        </Button>
      );
    },
  },
  number('Dead-lettered', (row) => row.dead_lettered),
  // Each has a column where an owner has some, so that a row adds up as it is shown.
  ...furtherTerms
    .filter((term) => items.some((row) => row[term] !== 0))
    .map((term) => number(`${term[0]?.toUpperCase()}${term.slice(1)}`, (row: Account) => row[term])),
  number('In flight', (row) => row.in_flight),
  number('Refused requests', (row) => refusedOf([row]).requests),
  number('Their items', (row) => refusedOf([row]).items),
  { key: 'adds', title: 'Adds up', cell: verdict, sortBy: (row) => String(row.adds_up) },
];

/** What became of the items of each owner. */
export const Owners = (props: OwnersProps) => (
  <>
    <h2>Owners</h2>
    <Table
      caption="Outcomes by owner"
      sortName="owners"
      rows={props.items}
      keyOf={keyOf}
      empty="No owner has items or refused requests in this time."
      columns={columnsOf(props, Map.groupBy(props.removed, keyOf))}
    />
  </>
);
