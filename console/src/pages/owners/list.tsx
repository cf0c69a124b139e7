import './owners.css';
import { useState } from 'preact/hooks';
import { get } from '../../api/client.ts';
import { nowSeconds } from '../../api/clock.ts';
import { useGet, useLoad } from '../../api/use.ts';
import { Sparkline } from '../../charts/small.tsx';
import { Button } from '../../parts/button.tsx';
import { badge, column, id, number } from '../../parts/columns.tsx';
import { Search, Select } from '../../parts/filters.tsx';
import { numberText, Time } from '../../parts/format.tsx';
import { Hostile } from '../../parts/hostile.tsx';
import { Await, Failed, NotKnown, TooLarge } from '../../parts/states.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { href, useQueryState } from '../../shell/router.ts';
import { useAllows } from '../../shell/session.ts';
import { CreateForm } from './create.tsx';
import { type Counts, type Hour, hoursOf, isFound, type Term } from './figures.ts';
import { itemsOfKind, type Kind, type Owner, toneOfState } from './owner.ts';
import { useOwners } from './search.ts';

const daysOfUsage = 30;

const stateChoices = new Map<string, (owner: Owner) => boolean>([
  ['not deleted', ({ state }) => state !== 'deleted' && state !== 'purged'],
  ['enabled', ({ state }) => state === 'enabled'],
  ['disabled', ({ state }) => state === 'disabled'],
  ['deleted', ({ state }) => state === 'deleted' || state === 'purged' || state === 'purging'],
  ['all', () => true],
]);
const usualChoice = 'not deleted';

/** When an owner was last seen; `isKnown` false: the usage was not read. */
const Seen = ({ at, isKnown }: { at: number | undefined; isKnown: boolean }) => {
  if (at !== undefined) return <Time at={at} seconds />;
  return <span class="quiet">{isKnown ? `not in ${daysOfUsage} days` : '–'}</span>;
};

const Count = ({ hour, isKnown, title }: { hour: Counts | undefined; isKnown: boolean; title: string }) => (
  <span class="with-spark">
    {hour !== undefined && hour.sum > 0 && hour.minutes.length > 0 && (
      <Sparkline values={hour.minutes} label={`${title} by minute`} width={72} />
    )}
    {isKnown ? numberText(hour?.sum ?? 0) : '–'}
  </span>
);

/** Shown where an owner has some, so that a row adds up as it is shown. */
const rareTerms = [
  ['dead_lettered', 'Dead-lettered'],
  ['repeated', 'Repeated'],
  ['lost', 'Lost or stuck'],
  ['in_flight', 'In flight'],
] as const;

const columnsOf = (
  kind: Kind,
  hours: ReadonlyMap<number, Hour> | undefined,
  seen: ReadonlyMap<number, number> | undefined,
): Column<Owner>[] => {
  const counts = (term: Term, title: string): Column<Owner> => ({
    ...number(title, ({ id }) => (hours === undefined ? null : (hours.get(id)?.get(term)?.sum ?? 0))),
    cell: ({ id }) => <Count hour={hours?.get(id)?.get(term)} isKnown={hours !== undefined} title={title} />,
  });
  return [
    id('Id', ({ id }) => id),
    column(
      'Name',
      ({ id, name }) => (
        <a href={href(`${kind.path}/${id}`)}>
          <Hostile text={name} />
        </a>
      ),
      ({ name }) => name,
    ),
    id('Business', ({ biz }) => biz),
    badge('State', ({ state }) => toneOfState(state)),
    counts('received', 'Received'),
    counts('stored', 'Stored'),
    counts('dropped', 'Dropped'),
    ...rareTerms
      .filter(([term]) => hours?.values().some((hour) => (hour.get(term)?.sum ?? 0) > 0))
      .map(([term, title]) => counts(term, title)),
    {
      key: 'seen',
      title: 'Last seen',
      sortBy: ({ id }) => seen?.get(id) ?? 0,
      cell: ({ id }) => <Seen at={seen?.get(id)} isKnown={seen !== undefined} />,
    },
  ];
};

/** The list of all owners of a kind, with what became of their items in the last hour. */
export const OwnerList = ({ kind }: { kind: Kind }) => {
  const [search, setSearch] = useQueryState('q');
  const [state, setState] = useQueryState('state', usualChoice);
  const [isCreating, setIsCreating] = useState(false);
  const mayCreate = useAllows('editor');
  const list = useOwners(kind, search, 15_000);
  const sums = useGet('/api/v1/outcomes', {}, 15_000);
  const minutes = useGet('/api/v1/outcomes', { query: { by: 'minute' } }, 15_000, (read) => read.truncated);
  const usage = useLoad(
    'usage',
    (signal) => {
      const since = nowSeconds() - daysOfUsage * 86_400;
      return get('/api/v1/usage', { query: { since }, signal });
    },
    60_000,
  );
  const isOwn = ({ pipeline }: { pipeline: Kind['pipelines'][number] }) => kind.pipelines.includes(pipeline);
  // Where an answer is cut, an owner or a minute without a count may have some.
  const [rows, byMinute = []] = [sums, minutes].map(({ data }) =>
    data?.truncated === false ? data.items.filter(isOwn) : undefined,
  );
  const hours = rows && hoursOf(rows, byMinute, kind.idOf, sums.data?.until ?? 0);
  const days = usage.data?.items.filter((row) => kind.idOf(row) !== 0);
  const seen =
    days && new Map(days.flatMap((row) => (row.last_seen === null ? [] : [[kind.idOf(row), row.last_seen]])));
  const failed = sums.error ?? minutes.error ?? usage.error;
  return (
    <>
      <h1>{kind.path === '/sources' ? 'Sources' : 'Applications'}</h1>
      <div class="row list-filters">
        <Search value={search} onValue={setSearch} placeholder="name, id or biz:2" />
        <Select label="State" value={state} options={[...stateChoices.keys()]} onValue={setState} />
        {mayCreate && (
          <Button onClick={() => setIsCreating(true)}>
            Create {kind.noun === 'source' ? 'a report' : 'an application'}
          </Button>
        )}
      </div>
      {failed !== undefined && <Failed error={failed} />}
      <NotKnown since={sums.data?.not_known_since} />
      {sums.data?.truncated && (
        <p class="state">Too many owners sent in the last hour to show their counts here; see Outcomes.</p>
      )}
      <Await of={list}>
        {({ owners, isCut }) => {
          const isWanted = stateChoices.get(state) ?? (() => true);
          const found = owners.filter((owner) => isWanted(owner) && isFound(owner, search.trim()));
          return (
            <>
              <p class="quiet">
                {found.length} of {isCut && 'the first '}
                {owners.length}; counts are {itemsOfKind(kind)} that arrived in the last hour.
              </p>
              <Table
                caption={`The ${kind.noun}s`}
                columns={columnsOf(kind, hours, seen)}
                rows={found}
                keyOf={({ id }) => id}
                empty={
                  owners.length === 0 && search.trim() === ''
                    ? `There is no ${kind.noun} yet. Create one; its page shows how to send to it.`
                    : `No ${kind.noun}${isCut ? ` of the first ${owners.length}` : ''} matches. Change the search, or choose another state.`
                }
              />
              {isCut && (
                <TooLarge shown={owners.length} how="A search finds the others by name, id or business." />
              )}
            </>
          );
        }}
      </Await>
      {isCreating && <CreateForm kind={kind} onClose={() => setIsCreating(false)} />}
    </>
  );
};
