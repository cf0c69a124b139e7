import { useState } from 'preact/hooks';
import { call, get } from '../../api/client.ts';
import { useLoad } from '../../api/use.ts';
import { Button } from '../../parts/button.tsx';
import { text } from '../../parts/columns.tsx';
import { type Field, FormDialog } from '../../parts/form.tsx';
import { bytesText, numberText } from '../../parts/format.tsx';
import { Await } from '../../parts/states.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { useAllows } from '../../shell/session.ts';
import { fieldsOf, type Policy, type PolicyValue, policyChange } from './figures.ts';
import { changing, isAlive } from './owner.ts';
import type { TabProps } from './pieces.tsx';

const meanings: Readonly<Record<string, string>> = {
  ahead_seconds_max: 'largest time after the arrival, seconds or off',
  age_seconds_max: 'largest age of a time, seconds or off',
  points_max: 'largest number of points in a request',
  metric_columns_max: 'largest number of metrics in the table',
  dimension_columns_max: 'largest number of dimensions with their own column',
  retention_days: 'days that rows are kept, or off; older ones are removed for good',
  spans_max: 'largest number of spans in a request',
  records_max: 'largest number of log records in a request',
  data_points_max: 'largest number of data points in a request',
  series_max: 'largest number of series of data points within an hour, or off',
  attributes_max: 'largest number of attributes of an item',
  events_max: 'largest number of events of a span',
  links_max: 'largest number of links of a span',
  value_bytes_max: 'largest number of bytes in an attribute value or a body',
  deduplicate: 'a byte-identical request is stored once',
  fill_dimensions: "an empty net.host.ip becomes the sender's address",
};

const valueText = (value: PolicyValue): string =>
  typeof value === 'number' ? numberText(value) : String(value);

/** The value of a field; where the signals of an application differ, that of each. */
const heldText = ({ signals = {} }: Policy, name: string, value: PolicyValue): string =>
  value === 'by_signal'
    ? Object.entries(signals)
        .flatMap(([pipeline, { [name]: own }]) =>
          own === undefined ? [] : [`${pipeline} ${valueText(own)}`],
        )
        .join(', ')
    : valueText(value);

const byDefault = 'the value of the pipeline file';

const fieldOf = (policy: Policy, name: string, now: PolicyValue): Field => {
  const isOwn = policy.own.includes(name);
  const common = { name, label: name, value: isOwn ? String(now) : '' };
  const options = [['', byDefault] as const, 'true', 'false'];
  if (typeof now === 'boolean') return { ...common, kind: 'select', options, hint: meanings[name] ?? '' };
  return {
    ...common,
    hint: `${meanings[name]}. Empty: ${byDefault}${isOwn ? '' : `, now ${heldText(policy, name, now)}`}.`,
  };
};

const columnsOf = (policy: Policy): Column<[string, PolicyValue]>[] => [
  { key: 'field', title: 'Field', cell: ([name]) => <code>{name}</code>, sortBy: ([name]) => name },
  { key: 'value', title: 'Value', isNumber: true, cell: ([name, value]) => heldText(policy, name, value) },
  text('Set', ([name]) => (policy.own.includes(name) ? 'here' : 'by default')),
  { key: 'meaning', title: 'Meaning', cell: ([name]) => meanings[name] },
];

/** What a change of the retention removes for ever, in the words of the CLI; nothing where it removes nothing. */
const removedText = async (
  { kind, owner }: TabProps,
  days: PolicyValue | null,
): Promise<string | undefined> => {
  const input = { path: { id: owner.id }, query: { days: String(days ?? 'default') } };
  const { change } = await get(`/api/v1/${kind.base}/{id}/retention`, input);
  if (change === null || change.rows === 0) return undefined;
  const stored = `${numberText(change.rows)} rows of ${numberText(change.days)} days, ${bytesText(change.bytes)}`;
  return `${stored}, all before ${change.kept_from}, are removed for ever.`;
};

/** Windows of time, limits and retention; those that were set here can be changed, and returned to the default. */
export const PolicyTab = (props: TabProps) => {
  const { kind, owner } = props;
  const [isChanging, setIsChanging] = useState(false);
  const isEditor = useAllows('editor');
  const path = { id: owner.id };
  const loaded = useLoad(`policy ${owner.id}`, (signal) =>
    call('get', `/api/v1/${kind.base}/{id}/policy`, { path, signal }),
  );
  return (
    <Await of={loaded}>
      {({ data, etag }) => (
        <>
          <p class="row">
            {isEditor && isAlive(owner) && <Button onClick={() => setIsChanging(true)}>Change …</Button>}
            <span class="quiet">Receivers apply a change within a second.</span>
          </p>
          <Table
            caption="Policy"
            rows={fieldsOf(data)}
            keyOf={([name]) => name}
            empty="There is no policy."
            columns={columnsOf(data)}
          />
          {isChanging && (
            <FormDialog
              title="Policy"
              verb="Save"
              fields={fieldsOf(data).map(([name, value]) => fieldOf(data, name, value))}
              onClose={() => setIsChanging(false)}
              act={async (filled, warn) => {
                const body = policyChange(data, filled);
                const { retention_days: days } = body;
                const removed = days === undefined ? days : await removedText(props, days);
                if (removed !== undefined) warn(removed);
                await changing(loaded.reload, 'The policy is changed', () =>
                  call('patch', `/api/v1/${kind.base}/{id}/policy`, { path, body, etag }),
                );
              }}
            />
          )}
        </>
      )}
    </Await>
  );
};
