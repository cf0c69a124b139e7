import './dead-letters.css';
import { useState } from 'preact/hooks';
import { get } from '../../api/client.ts';
import { useLoad } from '../../api/use.ts';
import { Button } from '../../parts/button.tsx';
import { column, number, text, time } from '../../parts/columns.tsx';
import { counted } from '../../parts/figures.ts';
import { Choice, OwnerFilter, TextFilter } from '../../parts/filters.tsx';
import { Listing, useFirstMatches } from '../../parts/listing.tsx';
import { OwnerLink } from '../../parts/owners.tsx';
import { Await, Badge, Empty, TooLarge, Unreadable, unreadableOwner } from '../../parts/states.tsx';
import type { Column } from '../../parts/table.tsx';
import { anyTime, TimeRangePicker, useTimeRange } from '../../parts/time-range.tsx';
import { href, isTooLong, useAddress, useQueryState } from '../../shell/router.ts';
import { useAllows } from '../../shell/session.ts';
import type { PageProps } from '../page-props.ts';
import { ActDialog, RunningActs } from './act-dialog.tsx';
import { type Act, type Filter, filterOf, pickedOf, pipelines, type Target, targetOf } from './bulk.ts';
import { Consumers } from './consumers.tsx';
import { Content, type Listed } from './content.tsx';
import { Letter, OrphanBadge } from './letter.tsx';

const previewsMax = 10;

const Filters = () => (
  <div class="row list-filters">
    <Choice label="Pipeline" name="pipeline" any="all" options={pipelines} />
    <OwnerFilter />
    <TextFilter label="Reason" name="reason" hint="row_refused" />
    <TextFilter label="Table" name="table" />
    <TimeRangePicker fallback={anyTime} />
  </div>
);

const Pick = ({ sequence }: { sequence: number }) => {
  const [text, set] = useQueryState('pick');
  const picked = pickedOf(text) ?? [];
  const isPicked = picked.includes(sequence);
  const next = isPicked ? picked.filter((each) => each !== sequence) : [...picked, sequence];
  return (
    <input
      type="checkbox"
      aria-label={`Select dead letter ${sequence}`}
      checked={isPicked}
      onChange={() => set(next.join(','))}
    />
  );
};

const columns: readonly Column<Listed>[] = [
  column('Select', ({ sequence }) => <Pick sequence={sequence} />),
  column(
    'Id',
    ({ sequence }) => <a href={href(`/dead-letters/${sequence}`)}>{sequence}</a>,
    ({ sequence }) => sequence,
  ),
  time('Time', ({ at }) => at),
  column(
    'Reason',
    ({ reason, orphan }) => (
      <>
        <code>{reason}</code> <OrphanBadge orphan={orphan} />
      </>
    ),
    ({ reason }) => reason,
  ),
  column('Owner', (letter) => <OwnerLink of={letter} none="not known" />),
  number('Items', ({ items }) => items),
  number('Redrives', ({ redrives }) => redrives),
  text('Error', ({ error }) => error, 90),
];

const Previews = ({ sequences }: { sequences: readonly number[] }) => {
  const some = sequences.slice(0, previewsMax);
  const loaded = useLoad(`preview-${some}`, (signal) =>
    Promise.all(some.map((id) => get('/api/v1/dead-letters/{id}', { path: { id }, signal }))),
  );
  return (
    <section aria-label="Preview">
      <h2>Preview</h2>
      {sequences.length > previewsMax && <TooLarge shown={previewsMax} total={sequences.length} how="" />}
      <Await of={loaded}>
        {(letters) =>
          letters.map((letter) => (
            <>
              <h3>
                <a href={href(`/dead-letters/${letter.sequence}`)}>Dead letter {letter.sequence}</a>{' '}
                <code>{letter.reason}</code>{' '}
                {!letter.is_redrivable && <Badge tone="bad">not redrivable</Badge>}
              </h3>
              <Content shown={letter.shown} />
            </>
          ))
        }
      </Await>
    </section>
  );
};

type ActsProps = { filter: Filter; current: () => Filter; listed: readonly Listed[]; onDone: () => void };

/** What can be done with the selected ones, or with all that match. */
const Acts = ({ filter, current, listed, onDone }: ActsProps) => {
  const [text, setPick] = useQueryState('pick');
  const [preview, setPreview] = useQueryState('preview');
  const [act, setAct] = useState<{ act: Act; target: Target; what: string }>();
  const mayRedrive = useAllows('editor');
  const mayPurge = useAllows('admin');
  const picked = pickedOf(text);
  if (picked === undefined)
    return (
      <Unreadable>
        The selection cannot be read: pick is ids of dead letters, such as 12,40.{' '}
        <Button onClick={() => setPick('')}>Select none</Button>
      </Unreadable>
    );
  const count = picked.length;
  const all = `all dead letters${Object.keys(filter).length === 0 ? '' : ' that match the filter'}`;
  const unseen = picked.filter((each) => !listed.some(({ sequence }) => sequence === each));
  const away = unseen.length === 0 ? '' : `, ${unseen.length} of them not on this page: ${unseen.join(', ')}`;
  const what = count === 0 ? all : `${counted(count, 'selected dead letter')}${away}`;
  const begin = (next: Act): void => setAct({ act: next, target: targetOf(current(), picked), what });
  const withPage = [...new Set([...picked, ...listed.map(({ sequence }) => sequence)])].join(',');
  const close = (hasActed: boolean): void => {
    setAct(undefined);
    if (!hasActed) return;
    setPick('');
    setPreview('');
    onDone();
  };
  return (
    <>
      <fieldset class="row">
        <legend class="unseen">Acts</legend>
        <span>{count === 0 ? `Of ${all}:` : `${counted(count, 'dead letter')} selected:`}</span>
        <Button
          disabled={count === 0}
          aria-pressed={preview === '1'}
          onClick={() => setPreview(preview === '1' ? '' : '1')}
        >
          Preview
        </Button>
        {mayRedrive && <Button onClick={() => begin('redrive')}>Redrive …</Button>}
        {mayPurge && (
          <Button class="danger" onClick={() => begin('purge')}>
            Purge …
          </Button>
        )}
        <Button disabled={isTooLong({ pick: withPage })} onClick={() => setPick(withPage)}>
          Select this page
        </Button>
        {count > 0 && <Button onClick={() => setPick('')}>Select none</Button>}
      </fieldset>
      {preview === '1' && count > 0 && <Previews sequences={picked} />}
      {act !== undefined && <ActDialog {...act} onClose={close} />}
    </>
  );
};

const Found = ({ filter }: { filter: Filter }) => {
  const { query } = useAddress();
  const cursor = query.get('cursor') ?? '';
  const range = useTimeRange(anyTime);
  const { since: _, until: __, ...rest } = filter;
  const current = (): Filter => filterOf(query, range.current()) ?? filter;
  const loaded = useFirstMatches(JSON.stringify([rest, range.key]), cursor, (from, signal) =>
    get('/api/v1/dead-letters', { query: { ...current(), cursor: from, limit: 100 }, signal }),
  );
  return (
    <Listing
      of={loaded}
      above={(listed, hasMore) =>
        (listed.length > 0 || hasMore) && <Acts {...{ filter, current, listed }} onDone={loaded.reload} />
      }
      caption="Dead letters, newest first"
      columns={columns}
      keyOf={({ sequence }) => sequence}
      empty={
        Object.keys(filter).length === 0
          ? 'No dead letters: the stores have refused nothing.'
          : 'No dead letter matches the filter.'
      }
    />
  );
};

const List = () => {
  const filter = filterOf(useAddress().query, useTimeRange(anyTime));
  return (
    <>
      <h1>Dead letters</h1>
      <Consumers />
      <RunningActs />
      <Filters />
      {filter === undefined ? <Unreadable>{unreadableOwner}</Unreadable> : <Found filter={filter} />}
    </>
  );
};

/** Items that the stores refused, with their bytes: look at them, redrive them, purge them. */
const Page = ({ rest: [id] }: PageProps) => {
  if (id === undefined) return <List />;
  if (/^\d{1,12}$/.test(id)) return <Letter key={id} sequence={Number(id)} />;
  return (
    <>
      <h1>Dead letters</h1>
      <Empty>
        No dead letter has this id. <a href={href('/dead-letters')}>All dead letters</a>
      </Empty>
    </>
  );
};

export default Page;
