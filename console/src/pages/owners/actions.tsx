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
import { announce } from '../../shell/announce.tsx';
import { useAllows } from '../../shell/session.ts';
import { detailFields, rateField, scenarioOf } from './create.tsx';
import { changing, isAlive, itemsOfKind, type OneOwner } from './owner.ts';
import type { TabProps } from './pieces.tsx';

type ActProps = TabProps & { readonly onClose: () => void };
type Act = 'switch' | 'limit' | 'details' | 'delete' | 'purge';

const Switch = ({ kind, owner, reload, onClose }: ActProps) => {
  const verb = owner.state === 'enabled' ? 'Disable' : 'Enable';
  const { base, id, etag } = owner.switched;
  return (
    <FormDialog
      title={`${verb} this ${kind.noun}`}
      fields={[]}
      verb={verb}
      onClose={onClose}
      act={async () => {
        const act = verb === 'Disable' ? 'disable' : 'enable';
        await changing(reload, () =>
          call('post', `/api/v1/${base}/{id}/${act}`, { path: { id }, body: {}, etag }),
        );
        announce(`${verb}d`);
      }}
    >
      <p>
        {verb === 'Disable'
          ? `Receivers refuse its requests within a second. The ${itemsOfKind(kind)} that were accepted before are stored.`
          : 'Receivers accept its requests again within a second.'}
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
      const { limited } = owner;
      const body = { max_rate: number('max_rate') ?? -1 };
      await changing(
        reload,
        async () =>
          limited &&
          call('patch', `/api/v1/${limited.base}/{id}`, { path: limited, body, etag: limited.etag }),
      );
      announce('The limit is set');
    }}
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
      act={async ({ text }) => {
        const body = {
          description: text('description') ?? '',
          scenario: scenarioOf(text('scenario')),
          data_label: text('data_label') ?? '',
        };
        await changing(reload, () =>
          call('patch', '/api/v1/custom-reports/{id}', { path: switched, body, etag: switched.etag }),
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
      const { removed } = owner;
      await changing(
        reload,
        async () =>
          removed &&
          call('delete', `/api/v1/${removed.base}/{id}`, { path: removed, body: {}, etag: removed.etag }),
      );
      announce('Deleted');
    }}
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

const Purge = ({ owner, reload, onClose }: ActProps) => (
  <Confirm
    title="Purge this source"
    verb="Purge"
    typed={owner.tableId}
    onClose={onClose}
    act={async () => {
      const { purged, tableId: table_id = '' } = owner;
      await changing(
        reload,
        async () =>
          purged &&
          call('post', `/api/v1/${purged.base}/{id}/purge`, {
            path: purged,
            body: { table_id },
            etag: purged.etag,
          }),
      );
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
