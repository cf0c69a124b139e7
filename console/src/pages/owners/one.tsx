import './owners.css';
import type { ComponentChildren } from 'preact';
import { useLoad } from '../../api/use.ts';
import { Facts } from '../../parts/facts.tsx';
import { Time } from '../../parts/format.tsx';
import { Hostile } from '../../parts/hostile.tsx';
import { Await, Badge } from '../../parts/states.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { href } from '../../shell/router.ts';
import { Actions } from './actions.tsx';
import { Columns } from './columns.tsx';
import { Overview } from './overview.tsx';
import { type Kind, toneOfState } from './owner.ts';
import type { TabProps } from './pieces.tsx';
import { PolicyTab } from './policy.tsx';
import { SeriesTab } from './series.tsx';
import { SetUp } from './set-up.tsx';
import { UsageTab } from './usage.tsx';

const fieldValue = (name: string, value: unknown): ComponentChildren => {
  if (name.endsWith('_time') && typeof value === 'number') return <Time at={value} seconds />;
  return value === null ? <span class="quiet">null</span> : <Hostile text={String(value)} />;
};

const Records = ({ owner }: TabProps) => (
  <div class="columns">
    {owner.records.map(([name, fields]) => (
      <section key={name}>
        <h2>{name}</h2>
        <Facts
          of={Object.fromEntries(
            Object.entries(fields).map(([field, value]) => [field, fieldValue(field, value)]),
          )}
        />
      </section>
    ))}
  </div>
);

const tabs: readonly {
  readonly path: string;
  readonly title: string;
  readonly of?: Kind['path'];
  readonly Tab: (props: TabProps) => ComponentChildren;
}[] = [
  { path: '', title: 'Overview', Tab: Overview },
  { path: 'set-up', title: 'Set-up', Tab: SetUp },
  { path: 'columns', title: 'Columns', of: '/sources', Tab: Columns },
  { path: 'series', title: 'Series', of: '/applications', Tab: SeriesTab },
  { path: 'policy', title: 'Policy', Tab: PolicyTab },
  { path: 'usage', title: 'Usage', Tab: UsageTab },
  { path: 'records', title: 'Records', Tab: Records },
];

/** One owner: what it sends, what became of it, and what can be changed. */
export const OwnerPage = ({ kind, rest }: { kind: Kind; rest: readonly string[] }) => {
  const id = Number(rest[0]);
  const offered = tabs.filter(({ of = kind.path }) => of === kind.path);
  const tab = offered.find(({ path }) => path === (rest[1] ?? ''));
  const loaded = useLoad(`${kind.path}/${id}`, (signal) => kind.read(id, signal), 5_000);
  const { data: owner, reload } = loaded;
  if (!Number.isSafeInteger(id) || id < 1 || tab === undefined) {
    return (
      <>
        <h1>No such page</h1>
        <a href={href(kind.path)}>All {kind.noun}s</a>
      </>
    );
  }
  const [tone, state] = owner === undefined ? (['neutral', '…'] as const) : toneOfState(owner.state);
  return (
    <>
      <p class="crumb">
        <a href={href(kind.path)}>All {kind.noun}s</a>
      </p>
      <h1>{owner === undefined ? `${kind.noun} ${id}` : <Hostile text={owner.name} max={80} />}</h1>
      <div class="row list-filters">
        <Badge tone={tone}>{state}</Badge>
        <span class="quiet">
          {kind.noun === 'source' ? 'data id' : 'application'} {id}
          {owner !== undefined && `, business ${owner.biz}`}
        </span>
        {owner !== undefined && <Actions kind={kind} owner={owner} reload={reload} />}
      </div>
      <Tabs
        label={`Parts of the ${kind.noun}`}
        base={`${kind.path}/${id}`}
        tabs={offered}
        current={tab.path}
      />
      <Await of={loaded}>{(data) => <tab.Tab key={id} kind={kind} owner={data} reload={reload} />}</Await>
    </>
  );
};
