import { Hostile } from '../../parts/hostile.tsx';
import { type Column, numberColumn, Table, timeColumn } from '../../parts/table.tsx';
import type { Activity } from './owner.ts';

type Refusal = Activity['refusals'][number];
type Group = Refusal & { readonly times: number };

const keyOfRefusal = ({ reason, field, detail, sender, sdk }: Refusal): string =>
  JSON.stringify([reason, field, detail, sender, sdk]);

/** Refusals for the same reason and the same field as one, with the newest of them; the newest first. */
export const groupedRefusals = (items: readonly Refusal[]): Group[] => {
  const groups = new Map<string, Group>();
  for (const item of items) {
    const key = keyOfRefusal(item);
    const known = groups.get(key);
    const newest = known !== undefined && known.at > item.at ? known : item;
    groups.set(key, { ...newest, times: (known?.times ?? 0) + 1 });
  }
  return [...groups.values()].toSorted((left, right) => right.at - left.at);
};

const What = ({ field, value, detail, sampled }: Refusal) => (
  <>
    {field !== '' && (
      <code>
        <Hostile text={field} max={60} /> = <Hostile text={value} max={80} />
      </code>
    )}{' '}
    {detail !== '' && <Hostile text={detail} max={120} />}
    {!sampled && <span class="quiet">no sample: too many came at once</span>}
  </>
);

const columns: readonly Column<Group>[] = [
  timeColumn('at', 'Newest', ({ at }) => at),
  numberColumn('times', 'Times', ({ times }) => times),
  {
    key: 'reason',
    title: 'Reason',
    sortBy: ({ reason }) => reason,
    cell: ({ reason, meaning }) => (
      <>
        <code>{reason}</code>
        <br />
        <span class="quiet">{meaning}</span>
      </>
    ),
  },
  { key: 'what', title: 'What came', cell: (item) => <What {...item} /> },
  { key: 'remedy', title: 'What to do', cell: ({ remedy }) => remedy },
  {
    key: 'sender',
    title: 'Sender',
    cell: ({ sender, sdk }) => (
      <>
        <Hostile text={sender} max={60} /> {sdk !== '' && <Hostile text={sdk} max={60} />}
      </>
    ),
  },
];

/** Refused and dropped items with what to do, the newest first. */
export const Refusals = ({ items, empty }: { items: readonly Refusal[]; empty: string }) => (
  <Table
    caption="Refused and dropped"
    sortName="refusals"
    rows={groupedRefusals(items)}
    keyOf={keyOfRefusal}
    empty={empty}
    columns={columns}
  />
);
