import { type Answer, get } from '../../api/client.ts';
import { code, column, head, text, time, word } from '../../parts/columns.tsx';
import { counted } from '../../parts/figures.ts';
import { TextFilter } from '../../parts/filters.tsx';
import { Hostile } from '../../parts/hostile.tsx';
import { Listing, useFirstMatches } from '../../parts/listing.tsx';
import { Badge, type Tone } from '../../parts/states.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { useAddress } from '../../shell/router.ts';
import { type FieldChange, fieldChanges } from './changes.ts';

type Entry = Answer<'/api/v1/audit'>['items'][number];

const tones: Readonly<Record<Entry['outcome'], Tone>> = { done: 'good', failed: 'bad', interrupted: 'warn' };

const Value = ({ text, side }: { text: string | undefined; side: 'before' | 'after' }) =>
  text === undefined ? (
    <span class="quiet">–</span>
  ) : (
    <code class={side}>
      <Hostile text={text} max={120} />
    </code>
  );

const changeColumns: readonly Column<FieldChange>[] = [
  head('Field', ({ field }) => field),
  column('Before', ({ before }) => <Value text={before} side="before" />),
  column('After', ({ after }) => <Value text={after} side="after" />),
];

/** What one act did to one thing: its fields before and after. */
const Change = ({ of: { kind, id, before, after } }: { of: Entry['changes'][number] }) => {
  const fields = fieldChanges(before, after);
  return (
    <>
      <p>
        {kind} <Hostile text={id ?? ''} max={80} /> {before === null && <Badge tone="info">new</Badge>}
      </p>
      {fields.length > 0 && (
        <Table
          caption="Changed fields"
          columns={changeColumns}
          rows={fields}
          keyOf={({ field }) => `f${field}`}
          empty=""
        />
      )}
    </>
  );
};

const Changes = ({ of: { changes, changes_cut: cut = 0 } }: { of: Entry }) =>
  changes.length === 0 ? (
    <>–</>
  ) : (
    <details>
      <summary>{counted(changes.length + cut, 'change')}</summary>
      {changes.map((each, index) => (
        <Change key={index} of={each} />
      ))}
      {cut > 0 && <p class="state">{cut} more are not in the log.</p>}
    </details>
  );

const columns: readonly Column<Entry>[] = [
  time('Time', ({ at }) => at),
  text('Who', ({ actor, operator }) => `${operator === null ? '' : `${operator} via `}${actor.name}`),
  word('Role', ({ actor }) => actor.role),
  code('Action', ({ action }) => action),
  text('Target', ({ target }) => `${target.kind} ${target.id ?? ''}`),
  column(
    'Outcome',
    (entry) => (
      <>
        <Badge tone={tones[entry.outcome]}>{entry.outcome}</Badge>{' '}
        {entry.code !== undefined && <code>{entry.code}</code>}
      </>
    ),
    ({ outcome }) => outcome,
  ),
  column('Changed', (entry) => <Changes of={entry} />),
];

const names = ['action', 'actor', 'target_kind', 'target_id', 'cursor'] as const;

/** Who changed what, and when. */
export const AuditLog = () => {
  const { query } = useAddress();
  const asked = Object.fromEntries(names.map((name) => [name, query.get(name) ?? undefined]));
  const loaded = useFirstMatches(JSON.stringify(asked), asked['cursor'], (cursor, signal) =>
    get('/api/v1/audit', { query: { ...asked, cursor, limit: 100 }, signal }),
  );
  return (
    <>
      <div class="row list-filters">
        <TextFilter label="Action" name="action" hint="custom_report.disable" />
        <TextFilter label="Actor" name="actor" hint="name or token id" />
        <TextFilter label="Kind" name="target_kind" hint="data_source" />
        <TextFilter label="Id" name="target_id" hint="1500001" />
      </div>
      <Listing
        of={loaded}
        caption="Audit log, newest first"
        columns={columns}
        keyOf={({ audit_id: id }) => id}
        empty="No entry matches: the audit log keeps each change by the admin API and the CLI."
      />
    </>
  );
};
