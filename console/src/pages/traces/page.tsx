import './traces.css';
import { useState } from 'preact/hooks';
import { type Answer, get } from '../../api/client.ts';
import { useLoad } from '../../api/use.ts';
import { Button } from '../../parts/button.tsx';
import { column, number, time } from '../../parts/columns.tsx';
import { Chip, Choice, Input, Pager, Select, TextFilter } from '../../parts/filters.tsx';
import { durationText, numberText } from '../../parts/format.tsx';
import { Hostile } from '../../parts/hostile.tsx';
import { plainText } from '../../parts/plain-text.ts';
import { Queried, Ran, useAsked } from '../../parts/query.tsx';
import { Badge, Empty, Unreadable } from '../../parts/states.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { TimeRangePicker, useTimeRange } from '../../parts/time-range.tsx';
import { href, navigate, setQuery, useAddress } from '../../shell/router.ts';
import { ApplicationFilter } from '../owners/application-filter.tsx';
import type { PageProps } from '../page-props.ts';
import { attributeText, isWide, parseAttribute, searchOf, statuses, traceIdOf } from './search.ts';
import { Trace } from './trace.tsx';

type Listed = Answer<'/api/v1/query/traces', 'post'>['items'][number];

const setAttributes = (attr: readonly string[]): void =>
  setQuery({ attr, cursor: undefined }, { replace: false });

/** The attributes of the search, and one more. */
const Attributes = ({ given }: { given: readonly string[] }) => {
  const [scope, setScope] = useState<'span' | 'resource'>('span');
  const [key, setKey] = useState('');
  const [value, setValue] = useState('');
  const add = (event: Event): void => {
    event.preventDefault();
    if (key === '') return;
    setAttributes([...new Set([...given, attributeText({ scope, key, value })])]);
    setKey('');
    setValue('');
  };
  return (
    <form class="row list-filters inline" onSubmit={add}>
      {given.map((text) => {
        const { scope: of = 'span', key: name = text, value: is } = parseAttribute(text) ?? {};
        const words = `${of === 'span' ? '' : 'resource '}${plainText(name)}${is === undefined ? '' : ` = ${plainText(is)}`}`;
        const remove = () => setAttributes(given.filter((each) => each !== text));
        return <Chip key={text} words={words} onRemove={remove} />;
      })}
      <Select
        label="Attribute of"
        value={scope}
        options={[
          ['span', 'the span'],
          ['resource', 'its resource'],
        ]}
        onValue={setScope}
      />
      <Input label="Key" value={key} placeholder="http.route" onValue={setKey} />
      <Input label="equals" value={value} onValue={setValue} />
      <button type="submit" disabled={key === '' || given.length >= 5}>
        Add condition
      </button>
    </form>
  );
};

/** What is proposed for services and names of spans, asked for when the reader comes to the form. */
const useServices = (isWanted: boolean) => {
  const { query } = useAddress();
  const range = useTimeRange();
  const app = Number(query.get('app') ?? '') || undefined;
  const loaded = useLoad(`${isWanted} ${app} ${range.key}`, async (signal) => {
    if (!isWanted) return undefined;
    const { since, until } = range;
    const asked = { app_id: app, since, until, wide: isWide(range) || undefined };
    return (await get('/api/v1/traces/services', { query: asked, signal })).items;
  });
  const items = loaded.data ?? [];
  const service = query.get('service');
  const named = items.filter((each) => service === null || each.service === service);
  return {
    services: items.slice(0, 200).map((each) => each.service),
    names: [...new Set(named.flatMap((each) => each.span_names.map(({ name }) => name)))].slice(0, 200),
  };
};

/** A filter that may be of the empty name, which is taken away apart. */
const NameFilter = (props: { label: string; name: 'service' | 'name'; options: readonly string[] }) => {
  const isNone = useAddress().query.get(props.name) === '';
  const clear = (): void => setQuery({ [props.name]: undefined, cursor: undefined });
  return (
    <>
      <TextFilter {...props} hint={isNone ? '–' : undefined} />
      {isNone && <Button onClick={clear}>{`Any ${props.name}`}</Button>}
    </>
  );
};

const Search = () => {
  const { query } = useAddress();
  const [isWanted, setIsWanted] = useState(false);
  const { services, names } = useServices(isWanted);
  const [id, setId] = useState('');
  const open = (event: Event): void => {
    event.preventDefault();
    const trace = traceIdOf(id);
    if (trace !== undefined) navigate(href(`/traces/${trace}`));
  };
  return (
    <search onFocusCapture={() => setIsWanted(true)}>
      <form class="row list-filters inline" onSubmit={open}>
        <Input
          label="Trace id"
          data-search
          class="trace-id"
          value={id}
          placeholder="32 hexadecimal digits"
          onValue={setId}
        />
        <button type="submit" disabled={traceIdOf(id) === undefined}>
          Open
        </button>
      </form>
      <div class="row list-filters">
        <TimeRangePicker />
        <ApplicationFilter />
        <NameFilter label="Service" name="service" options={services} />
        <NameFilter label="Span name" name="name" options={names} />
        <TextFilter label="At least" name="min" hint="250 ms" />
        <TextFilter label="At most" name="max" hint="2 s" />
        <Choice label="Status" name="status" any="any" options={statuses} />
      </div>
      <Attributes given={query.getAll('attr')} />
    </search>
  );
};

const columnsOf = (longestMs: number): readonly Column<Listed>[] => [
  time('Start', ({ start }) => start),
  column(
    'Trace',
    ({ trace_id, root_service, root_name, has_root }) => (
      <>
        <a href={href(`/traces/${trace_id}`)}>
          <bdi>{plainText(root_name)}</bdi>
        </a>{' '}
        {!has_root && <Badge tone="warn">root missing</Badge>}
        <br />
        <span class="quiet">
          <Hostile text={root_service} max={60} />
        </span>
      </>
    ),
    ({ root_name }) => root_name,
  ),
  {
    ...column<Listed>(
      'Duration',
      ({ duration_ms }) => (
        <span class="took">
          <span class="length" aria-hidden="true">
            <span
              style={{ inlineSize: `${Math.max(1, (100 * duration_ms) / Math.max(longestMs, 1e-9))}%` }}
            />
          </span>
          <span class="figure">{durationText(duration_ms)}</span>
        </span>
      ),
      ({ duration_ms }) => duration_ms,
    ),
    isNumber: true,
  },
  number('Spans', ({ spans }) => spans),
  column(
    'Errors',
    ({ errors }) => (errors === 0 ? '–' : <Badge tone="bad">{numberText(errors)}</Badge>),
    ({ errors }) => errors,
  ),
  number('Services', ({ services }) => services),
];

const Found = () => {
  const { query } = useAddress();
  const range = useTimeRange();
  const body = searchOf(query, range);
  const found = useAsked('/api/v1/query/traces', typeof body === 'string' ? undefined : body, range.key);
  if (typeof body === 'string') return <Unreadable>{body}</Unreadable>;
  return (
    <Queried of={found}>
      {(page) => (
        <>
          <Table
            caption="Traces, the newest first"
            columns={columnsOf(Math.max(...page.items.map(({ duration_ms }) => duration_ms), 0))}
            rows={page.items}
            keyOf={({ trace_id }) => trace_id}
            empty="No trace in this time has a span that fulfils all conditions. Take a longer time, or remove a condition."
          />
          <Pager next={page.next_cursor} />
          <Ran of={page} onAgain={found.reload} store="clickhouse" />
        </>
      )}
    </Queried>
  );
};

const Page = ({ rest: [id] }: PageProps) => {
  if (id !== undefined) {
    const trace = traceIdOf(id);
    if (trace !== undefined) return <Trace key={trace} id={trace} />;
  }
  return (
    <>
      <h1>Explore traces</h1>
      {id !== undefined && (
        <Empty>A trace id has 32 hexadecimal digits; the one of this address has not.</Empty>
      )}
      <Search />
      <Found />
    </>
  );
};

export default Page;
