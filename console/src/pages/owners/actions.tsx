import { useState } from 'preact/hooks';
import { get } from '../../api/client.ts';
import { useLoad } from '../../api/use.ts';
import { Confirm } from '../../parts/dialog.tsx';
import { FormDialog } from '../../parts/form.tsx';
import { bytesText, numberText } from '../../parts/format.tsx';
import { Hostile } from '../../parts/hostile.tsx';
import { Await } from '../../parts/states.tsx';
import { announce } from '../../shell/announce.tsx';
import { useAllows } from '../../shell/session.ts';
import { descriptionField, labelField, rateField, scenarioField } from './create.tsx';
import type { TabProps } from './one.tsx';
import { changing, isAlive, type OneOwner, scenarioOf } from './owner.ts';

type Act = 'switch' | 'limit' | 'details' | 'delete' | 'purge';
type ActProps = TabProps & { readonly onClose: () => void };

const Switch = ({ kind, owner, reload, onClose }: ActProps) => {
  const isEnabled = owner.state === 'enabled';
  return (
    <FormDialog
      title={`${isEnabled ? 'Disable' : 'Enable'} this ${kind.noun}`}
      fields={[]}
      verb={isEnabled ? 'Disable' : 'Enable'}
      onClose={onClose}
      act={async () => {
        await changing(reload, () => owner.setEnabled(!isEnabled));
        announce(isEnabled ? 'Disabled' : 'Enabled');
      }}
    >
      <p>
        {isEnabled
          ? `Receivers refuse its requests from then on, within a second. ${kind.items === 'points' ? 'Points' : 'Spans'} that were accepted before are stored.`
          : 'Receivers accept its requests again, within a second.'}
      </p>
    </FormDialog>
  );
};

const Limit = ({ owner, reload, onClose }: ActProps) => (
  <FormDialog
    title="Limit of requests"
    fields={[rateField(owner.maxRate ?? -1)]}
    verb="Set"
    onClose={onClose}
    act={async ({ number }) => {
      await changing(reload, async () => owner.setLimit?.(number('max_rate') ?? -1));
      announce('The limit is set');
    }}
  >
    <p>Receivers apply it within a second. A request above it is answered 429.</p>
  </FormDialog>
);

const Edit = ({ owner, reload, onClose }: ActProps) => {
  const { description = '', scenario = '', data_label = '' } = owner.details ?? {};
  return (
    <FormDialog
      title="Details"
      fields={[descriptionField(description), scenarioField(scenario), labelField(data_label)]}
      verb="Save"
      onClose={onClose}
      act={async ({ text }) => {
        const chosen = scenarioOf(text('scenario'));
        await changing(reload, async () =>
          owner.setDetails?.({
            description: text('description') ?? '',
            data_label: text('data_label') ?? '',
            ...(chosen === undefined ? {} : { scenario: chosen }),
          }),
        );
        announce('Saved');
      }}
    />
  );
};

const Delete = ({ kind, owner, reload, onClose }: ActProps) => (
  <Confirm
    title={`Delete this ${kind.noun}`}
    verb="Delete"
    typed={owner.name}
    onClose={onClose}
    act={async () => {
      await changing(reload, async () => owner.remove?.());
      announce('Deleted');
    }}
  >
    <p>
      Receivers refuse its requests for ever, and its name is free again.{' '}
      {kind.items === 'points' ? 'Its rows stay in QuestDB.' : 'Its spans stay in ClickHouse.'} This cannot be
      undone; to stop it for a while, disable it.
    </p>
  </Confirm>
);

/** What a purge drops, read when it is asked for. */
const PurgeFigures = ({ id }: { id: number }) => {
  const table = useLoad(`table of ${id}`, (signal) =>
    get('/api/v1/data-sources/{id}/table', { path: { id }, signal }),
  );
  return (
    <Await of={table}>
      {({ rows, bytes, oldest_day, newest_day, instance }) => (
        <p>
          <strong>
            {numberText(rows)} rows, {bytesText(bytes)}
          </strong>
          {oldest_day !== null && `, from ${oldest_day} to ${newest_day}`}, on the QuestDB instance{' '}
          <Hostile text={instance} />.
        </p>
      )}
    </Await>
  );
};

const Purge = ({ owner, reload, onClose }: ActProps) => (
  <Confirm
    title="Purge this source"
    verb="Purge"
    typed={owner.tableId}
    onClose={onClose}
    act={async () => {
      await changing(reload, async () => owner.purge?.(owner.tableId ?? ''));
      announce('The purge has begun');
    }}
  >
    <p>
      This deletes the source and drops its table with all rows. Points that are under way are dropped, too.
      It cannot be undone.
    </p>
    <PurgeFigures id={owner.id} />
  </Confirm>
);

const dialogs = { switch: Switch, limit: Limit, details: Edit, delete: Delete, purge: Purge } as const;

/** The acts that the owner's state and the session's role allow. */
const actsOf = (owner: OneOwner, isEditor: boolean, isAdmin: boolean): (readonly [Act, string])[] => {
  if (!isEditor) return [];
  const alive = isAlive(owner) && owner.state !== 'creating';
  const acts: (readonly [Act, string, boolean])[] = [
    ['switch', owner.state === 'enabled' ? 'Disable' : 'Enable', alive],
    ['limit', 'Limit …', alive && owner.setLimit !== undefined],
    ['details', 'Details …', alive && owner.setDetails !== undefined],
    ['delete', 'Delete …', isAlive(owner) && owner.remove !== undefined],
    ['purge', 'Purge …', isAdmin && owner.purge !== undefined && owner.state !== 'purged'],
  ];
  return acts.flatMap(([act, title, isThere]) => (isThere ? [[act, title] as const] : []));
};

/** The buttons of an owner, and the dialog of the one that was pressed. */
export const Actions = (props: TabProps) => {
  const [open, setOpen] = useState<Act>();
  const isEditor = useAllows('editor');
  const isAdmin = useAllows('admin');
  const Open = open && dialogs[open];
  if (!isEditor) return <span class="quiet">Your role only reads; an editor can change it.</span>;
  return (
    <span class="row acts">
      {actsOf(props.owner, isEditor, isAdmin).map(([act, title]) => (
        <button
          key={act}
          type="button"
          class={act === 'delete' || act === 'purge' ? 'danger' : undefined}
          onClick={() => setOpen(act)}
        >
          {title}
        </button>
      ))}
      {Open && <Open {...props} onClose={() => setOpen(undefined)} />}
    </span>
  );
};
