import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { call } from '../../api/client.ts';
import { useGet } from '../../api/use.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { FormDialog } from '../../parts/form.tsx';
import { bytesText, numberText } from '../../parts/format.tsx';
import { Hostile } from '../../parts/hostile.tsx';
import { Await } from '../../parts/states.tsx';
import { useAllows } from '../../shell/session.ts';
import { detailFields, rateField, scenarioOf } from './create.tsx';
import { changing, isAlive, itemsOfKind, type OneOwner } from './owner.ts';
import type { TabProps } from './pieces.tsx';

type ActProps = TabProps & { readonly onClose: () => void };
type Act = 'switch' | 'limit' | 'details' | 'delete' | 'purge';

const Switch = ({ kind, owner, reload, onClose }: ActProps) => {
  const [verb, act] =
    owner.state === 'enabled' ? (['Disable', 'disable'] as const) : (['Enable', 'enable'] as const);
  const { base, id, etag } = owner.switched;
  return (
    <FormDialog
      title={`${verb} this ${kind.noun}`}
      fields={[]}
      verb={verb}
      onClose={onClose}
      act={() =>
        changing(reload, `${verb}d`, () =>
          call('post', `/api/v1/${base}/{id}/${act}`, { path: { id }, body: {}, etag }),
        )
      }
    >
      <p>
        {verb === 'Disable'
          ? `Receivers refuse its requests within a second. The ${itemsOfKind(kind)} that were accepted before are stored.`
          : 'Receivers accept its requests again within a second.'}
      </p>
    </FormDialog>
  );
};

const Limit = ({ owner: { maxRate, limited }, reload, onClose }: ActProps) => (
  <FormDialog
    title="Limit of requests"
    fields={[rateField(maxRate ?? -1)]}
    verb="Set"
    onClose={onClose}
    act={({ number }) =>
      changing(reload, 'The limit is set', () => {
        const body = { max_rate: number('max_rate') ?? -1 };
        return (
          limited &&
          call('patch', `/api/v1/${limited.base}/{id}`, { path: limited, body, etag: limited.etag })
        );
      })
    }
  >
    <p>Receivers apply it within a second, and answer requests above it with 429.</p>
  </FormDialog>
);

const Edit = ({ owner, reload, onClose }: ActProps) => {
  const { report, switched } = owner;
  return (
    <FormDialog
      title="Details"
      fields={detailFields(report?.description, report?.scenario, report?.data_label)}
      verb="Save"
      onClose={onClose}
      act={({ text }) => {
        const body = {
          description: text('description') ?? '',
          scenario: scenarioOf(text('scenario')),
          data_label: text('data_label') ?? '',
        };
        return changing(reload, 'Saved', () =>
          call('patch', '/api/v1/custom-reports/{id}', { path: switched, body, etag: switched.etag }),
        );
      }}
    />
  );
};

const Delete = ({ kind, owner: { name, removed }, reload, onClose }: ActProps) => (
  <Confirm
    title={`Delete this ${kind.noun}`}
    verb="Delete"
    typed={name}
    onClose={onClose}
    act={() =>
      changing(
        reload,
        'Deleted',
        () =>
          removed &&
          call('delete', `/api/v1/${removed.base}/{id}`, { path: removed, body: {}, etag: removed.etag }),
      )
    }
  >
    <p>
      Receivers refuse its requests for ever, and its name is free again. Its stored {itemsOfKind(kind)} stay.
      This cannot be undone; to stop it for a while, disable it.
    </p>
  </Confirm>
);

/** What a purge drops, read before it is asked for. */
const PurgeFigures = ({ id }: { id: number }) => {
  const table = useGet('/api/v1/data-sources/{id}/table', { path: { id } });
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

const Purge = ({ owner: { id, tableId, purged }, reload, onClose }: ActProps) => (
  <Confirm
    title="Purge this source"
    verb="Purge"
    typed={tableId}
    onClose={onClose}
    act={() =>
      changing(reload, 'The purge has begun', () => {
        const body = { table_id: tableId ?? '' };
        return (
          purged &&
          call('post', `/api/v1/${purged.base}/{id}/purge`, { path: purged, body, etag: purged.etag })
        );
      })
    }
  >
    <p>
      This deletes the source and drops its table with all rows. Points that are under way are dropped, too.
      It cannot be undone.
    </p>
    <PurgeFigures id={id} />
  </Confirm>
);

const dialogs: Readonly<Record<Act, (props: ActProps) => ComponentChildren>> = {
  ...{ switch: Switch, limit: Limit, details: Edit, delete: Delete, purge: Purge },
};

/** The buttons that the owner's state and the session's role allow, and the dialog of the one that was pressed. */
export const Actions = (props: TabProps) => {
  const { owner } = props;
  // A dialog keeps what it was opened with: the page reads the owner again below it.
  const [open, setOpen] = useState<{ act: Act; owner: OneOwner }>();
  const isEditor = useAllows('editor');
  const isAdmin = useAllows('admin');
  if (!isEditor) return <span class="quiet">Your role only reads; an editor can change it.</span>;
  const alive = isAlive(owner);
  const acts: readonly (readonly [Act, string, boolean])[] = [
    ['switch', owner.state === 'enabled' ? 'Disable …' : 'Enable …', alive],
    ['limit', 'Limit …', alive && owner.limited !== undefined],
    ['details', 'Details …', alive && owner.report !== undefined],
    ['delete', 'Delete …', (alive || owner.state === 'creating') && owner.removed !== undefined],
    ['purge', 'Purge …', isAdmin && owner.state !== 'purged' && owner.purged !== undefined],
  ];
  const Open = open && dialogs[open.act];
  return (
    <span class="row acts">
      {acts.map(
        ([act, title, isThere]) =>
          isThere && (
            <Button
              key={act}
              class={act === 'delete' || act === 'purge' ? 'danger' : undefined}
              onClick={() => setOpen({ act, owner })}
            >
              {title}
            </Button>
          ),
      )}
      {Open && <Open {...props} owner={open.owner} onClose={() => setOpen(undefined)} />}
    </span>
  );
};
