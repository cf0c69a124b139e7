import { column, numberColumn, timeColumn } from '../../parts/columns.tsx';
import { Hostile } from '../../parts/hostile.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { type GroupedRefusal, groupedRefusals, keyOfRefusal, type Refusal } from './figures.ts';

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

const columns: readonly Column<GroupedRefusal>[] = [
  timeColumn('at', 'Newest', ({ at }) => at),
  numberColumn('times', 'Times', ({ times }) => times),
  column(
    'Reason',
    ({ reason, meaning }) => (
      <>
        <code>{reason}</code>
        <br />
        <span class="quiet">{meaning}</span>
      </>
    ),
    ({ reason }) => reason,
  ),
  column('What came', (item) => <What {...item} />),
  column('What to do', ({ remedy }) => remedy),
  column('Sender', ({ sender, sdk }) => (
    <>
      {sender === '' ? '–' : <Hostile text={sender} max={60} />}{' '}
      {sdk !== '' && <Hostile text={sdk} max={60} />}
    </>
  )),
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
