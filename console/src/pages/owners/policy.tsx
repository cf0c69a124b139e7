import { useState } from 'preact/hooks';
import { ApiError } from '../../api/client.ts';
import { useLoad } from '../../api/use.ts';
import { type Field, type Filled, FormDialog } from '../../parts/form.tsx';
import { numberText } from '../../parts/format.tsx';
import { Await } from '../../parts/states.tsx';
import { Table } from '../../parts/table.tsx';
import { announce } from '../../shell/announce.tsx';
import { useAllows } from '../../shell/session.ts';
import type { TabProps } from './one.tsx';
import { changing, isAlive, type Policy, type PolicyChange } from './owner.ts';

/** What each field bounds; those with `off` may have no bound. */
const meanings: Readonly<Record<string, { readonly text: string; readonly off?: true }>> = {
  ahead_seconds_max: { text: 'largest time after the arrival, seconds', off: true },
  age_seconds_max: { text: 'largest age of a time, seconds', off: true },
  points_max: { text: 'largest number of points in a request' },
  metric_columns_max: { text: 'largest number of metrics in the table' },
  dimension_columns_max: { text: 'largest number of dimensions with their own column' },
  retention_days: { text: 'days that rows are kept; QuestDB drops older ones', off: true },
  spans_max: { text: 'largest number of spans in a request' },
  attributes_max: { text: 'largest number of attributes of a span' },
  events_max: { text: 'largest number of events of a span' },
  links_max: { text: 'largest number of links of a span' },
  value_bytes_max: { text: 'largest number of bytes in an attribute value' },
  deduplicate: { text: 'a byte-identical request is stored once' },
  fill_dimensions: { text: "an empty net.host.ip is filled with the sender's address" },
};

type Value = Policy['policy'][string];
const isOwnerId = (name: string): boolean => name === 'mon_data_id' || name === 'app_id';

const fieldOf = (name: string, value: Value, isOwn: boolean): Field => {
  const { text = '', off } = meanings[name] ?? {};
  const common = { name, label: name, value: isOwn ? String(value) : '' };
  if (typeof value === 'boolean')
    return {
      ...common,
      kind: 'select',
      options: [
        ['', 'the value of the pipeline file'],
        ['true', 'true'],
        ['false', 'false'],
      ],
      hint: text,
    };
  const now = isOwn ? '' : `; now by default ${String(value)}`;
  return { ...common, hint: `${text}${off ? ', or off' : ''}; empty: the value of the pipeline file${now}` };
};

const readValue = (name: string, text: string | undefined): number | boolean | 'off' | null => {
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

/** The merge patch of what the form has changed. Throws an ApiError with the field that cannot be read. */
export const policyChange = ({ policy, own }: Policy, { text }: Pick<Filled, 'text'>): PolicyChange =>
  Object.fromEntries(
    Object.entries(policy).flatMap(([name, now]) => {
      if (isOwnerId(name)) return [];
      const value = readValue(name, text(name)?.trim());
      return value === (own.includes(name) ? now : null) ? [] : [[name, value] as const];
    }),
  );

const valueText = (value: Value): string => (typeof value === 'number' ? numberText(value) : String(value));

/** Windows of time, limits and retention; those that were set here can be changed, and returned to the default. */
export const PolicyTab = ({ kind, owner }: TabProps) => {
  const [isChanging, setIsChanging] = useState(false);
  const isEditor = useAllows('editor');
  const loaded = useLoad(`${kind.path}/${owner.id}/policy`, (signal) => kind.policy(owner.id, signal));
  return (
    <Await of={loaded}>
      {({ data, etag }) => {
        const rows = Object.entries(data.policy).filter(([name]) => !isOwnerId(name));
        return (
          <>
            <Table
              caption="Policy"
              rows={rows}
              keyOf={([name]) => name}
              empty="There is no policy."
              columns={[
                {
                  key: 'field',
                  title: 'Field',
                  cell: ([name]) => <code>{name}</code>,
                  sortBy: ([name]) => name,
                },
                { key: 'value', title: 'Value', isNumber: true, cell: ([, value]) => valueText(value) },
                {
                  key: 'set',
                  title: 'Set',
                  cell: ([name]) => (data.own.includes(name) ? 'here' : 'by default'),
                  sortBy: ([name]) => Number(data.own.includes(name)),
                },
                { key: 'meaning', title: 'Meaning', cell: ([name]) => meanings[name]?.text },
              ]}
            />
            <p class="hint">Receivers apply a change within a second.</p>
            {isEditor && isAlive(owner) && (
              <button type="button" onClick={() => setIsChanging(true)}>
                Change …
              </button>
            )}
            {isChanging && (
              <FormDialog
                title="Policy"
                verb="Save"
                fields={rows.map(([name, value]) => fieldOf(name, value, data.own.includes(name)))}
                onClose={() => setIsChanging(false)}
                act={async (filled) => {
                  const change = policyChange(data, filled);
                  await changing(loaded.reload, () => kind.setPolicy(owner.id, change, etag));
                  announce('The policy is changed');
                }}
              />
            )}
          </>
        );
      }}
    </Await>
  );
};
