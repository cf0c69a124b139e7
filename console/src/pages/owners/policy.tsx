import { useState } from 'preact/hooks';
import { ApiError, call } from '../../api/client.ts';
import { useLoad } from '../../api/use.ts';
import { type Field, type Filled, FormDialog } from '../../parts/form.tsx';
import { numberText } from '../../parts/format.tsx';
import { Await } from '../../parts/states.tsx';
import { type Column, Table, textColumn } from '../../parts/table.tsx';
import { announce } from '../../shell/announce.tsx';
import { useAllows } from '../../shell/session.ts';
import type { TabProps } from './one.tsx';
import { changing, isAlive, type Policy } from './owner.ts';

const meanings: Readonly<Record<string, string>> = {
  ahead_seconds_max: 'largest time after the arrival, seconds or off',
  age_seconds_max: 'largest age of a time, seconds or off',
  points_max: 'largest number of points in a request',
  metric_columns_max: 'largest number of metrics in the table',
  dimension_columns_max: 'largest number of dimensions with their own column',
  retention_days: 'days that rows are kept, or off; QuestDB drops older ones',
  spans_max: 'largest number of spans in a request',
  attributes_max: 'largest number of attributes of a span',
  events_max: 'largest number of events of a span',
  links_max: 'largest number of links of a span',
  value_bytes_max: 'largest number of bytes in an attribute value',
  deduplicate: 'a byte-identical request is stored once',
  fill_dimensions: "an empty net.host.ip becomes the sender's address",
};

type Value = Policy['policy'][string];
/** A merge patch: a value, `off` for no limit, null for the value of the pipeline file. */
type PolicyChange = Record<string, Value | null>;

const valueText = (value: Value): string => (typeof value === 'number' ? numberText(value) : String(value));

const byDefault = 'the value of the pipeline file';

const fieldOf = (name: string, now: Value, isOwn: boolean): Field => {
  const common = { name, label: name, value: isOwn ? String(now) : '' };
  const options = [
    ['', byDefault],
    ['true', 'true'],
    ['false', 'false'],
  ] as const;
  if (typeof now === 'boolean') return { ...common, kind: 'select', options, hint: meanings[name] ?? '' };
  return { ...common, hint: `${meanings[name]}. Empty: ${byDefault}${isOwn ? '' : `, now ${now}`}.` };
};

const readValue = (name: string, text: string | undefined): Value | null => {
  if (text === undefined) return null;
  if (text === 'off') return text;
  if (text === 'true' || text === 'false') return text === 'true';
  if (/^-?\d{1,15}$/.test(text)) return Number(text);
  throw new ApiError(422, {
    code: 'invalid_value',
    field: name,
    detail: 'must be a whole number, off or empty',
  });
};

const fieldsOf = ({ policy }: Policy): [string, Value][] =>
  Object.entries(policy).filter(([name]) => name !== 'mon_data_id' && name !== 'app_id');

/** The merge patch of what the form has changed. Throws an ApiError with the field that cannot be read. */
export const policyChange = (policy: Policy, { text }: Pick<Filled, 'text'>): PolicyChange =>
  Object.fromEntries(
    fieldsOf(policy).flatMap(([name, now]) => {
      const value = readValue(name, text(name)?.trim());
      return value === (policy.own.includes(name) ? now : null) ? [] : [[name, value]];
    }),
  );

const columnsOf = (own: readonly string[]): Column<[string, Value]>[] => [
  { key: 'field', title: 'Field', cell: ([name]) => <code>{name}</code>, sortBy: ([name]) => name },
  { key: 'value', title: 'Value', isNumber: true, cell: ([, value]) => valueText(value) },
  textColumn('set', 'Set', ([name]) => (own.includes(name) ? 'here' : 'by default')),
  { key: 'meaning', title: 'Meaning', cell: ([name]) => meanings[name] },
];

/** Windows of time, limits and retention; those that were set here can be changed, and returned to the default. */
export const PolicyTab = ({ kind, owner }: TabProps) => {
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
            {isEditor && isAlive(owner) && (
              <button type="button" onClick={() => setIsChanging(true)}>
                Change …
              </button>
            )}
            <span class="quiet">Receivers apply a change within a second.</span>
          </p>
          <Table
            caption="Policy"
            rows={fieldsOf(data)}
            keyOf={([name]) => name}
            empty="There is no policy."
            columns={columnsOf(data.own)}
          />
          {isChanging && (
            <FormDialog
              title="Policy"
              verb="Save"
              fields={fieldsOf(data).map(([name, value]) => fieldOf(name, value, data.own.includes(name)))}
              onClose={() => setIsChanging(false)}
              act={async (filled) => {
                const body = policyChange(data, filled);
                await changing(loaded.reload, () =>
                  call('patch', `/api/v1/${kind.base}/{id}/policy`, { path, body, etag }),
                );
                announce('The policy is changed');
              }}
            />
          )}
        </>
      )}
    </Await>
  );
};
