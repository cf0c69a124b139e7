import { column, text, time } from '../../parts/columns.tsx';
import { Hostile } from '../../parts/hostile.tsx';
import { plainText } from '../../parts/plain-text.ts';
import { type Column, Table } from '../../parts/table.tsx';
import { groupedRefusals, keyOfRefusal, type Refusal } from './figures.ts';

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

const columns: readonly Column<Refusal>[] = [
  time('Newest', ({ at }) => at),
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

type RefusalsProps = { items: readonly Refusal[]; counts?: ReadonlyMap<string, string>; empty: string };

/** Refused and dropped items with what to do, the newest first; `counts`: how often each reason came, in words. */
export const Refusals = ({ items, counts, empty }: RefusalsProps) => {
  const times = text<Refusal>('Times', ({ reason }) => counts?.get(reason) ?? '–');
  const rest = [...(counts ?? [])].filter(([reason]) => items.every((item) => item.reason !== reason));
  return (
    <>
      <Table
        caption="Refused and dropped"
        sortName="refusals"
        rows={groupedRefusals(items)}
        keyOf={keyOfRefusal}
        empty={rest.length === 0 ? empty : 'No sample is kept.'}
        columns={counts === undefined ? columns : columns.toSpliced(1, 0, times)}
      />
      {rest.length > 0 && (
        <p>Without a sample: {rest.map(([reason, text]) => `${plainText(reason)}: ${text}`).join('; ')}.</p>
      )}
    </>
  );
};
