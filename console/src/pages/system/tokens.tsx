import { useState } from 'preact/hooks';
import { type Answer, call, get } from '../../api/client.ts';
import { useAct, useLoad } from '../../api/use.ts';
import { Code } from '../../parts/copy.tsx';
import { Confirm, Dialog } from '../../parts/dialog.tsx';
import { Pager } from '../../parts/filters.tsx';
import { Time } from '../../parts/format.tsx';
import { Hostile } from '../../parts/hostile.tsx';
import { Await, Badge, Failed } from '../../parts/states.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { useAddress } from '../../shell/router.ts';
import { useSession } from '../../shell/session.ts';

type Token = Answer<'/api/v1/admin-tokens'>['items'][number];

const roles = [
  ['viewer', 'viewer: reads'],
  ['editor', 'editor: reads and changes'],
  ['admin', 'admin: everything, also tokens and purges'],
  ['node', 'node: polls the subscriptions of a business alone'],
] as const;

const day = 86_400;
const lives = [
  ['0', 'never'],
  [String(day), 'in 1 day'],
  [String(30 * day), 'in 30 days'],
  [String(90 * day), 'in 90 days'],
  [String(365 * day), 'in 1 year'],
] as const;

type Made = Answer<'/api/v1/admin-tokens', 'post'>;

const Choices = ({ of }: { of: readonly (readonly [string, string])[] }) =>
  of.map(([value, text]) => (
    <option key={value} value={value}>
      {text}
    </option>
  ));

const CreateForm = ({ onMade, onClose }: { onMade: (made: Made) => void; onClose: () => void }) => {
  const [name, setName] = useState('');
  const [role, setRole] = useState<Token['role']>('viewer');
  const [business, setBusiness] = useState('');
  const [life, setLife] = useState(String(90 * day));
  const create = useAct(async () => {
    const expires = life === '0' ? null : Math.floor(Date.now() / 1000) + Number(life);
    const of = role === 'node' && business !== '' ? Number(business) : null;
    const body = { name: name.trim(), role, mon_biz_id: of, expires_at: expires };
    onMade((await call('post', '/api/v1/admin-tokens', { body })).data);
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void create.run();
      }}
    >
      <label>
        Name of its user in the audit log
        <input
          value={name}
          required
          autocomplete="off"
          onInput={({ currentTarget }) => setName(currentTarget.value)}
        />
      </label>
      <label>
        Role{' '}
        <select
          value={role}
          onChange={({ currentTarget }) =>
            setRole(roles.find(([each]) => each === currentTarget.value)?.[0] ?? 'viewer')
          }
        >
          <Choices of={roles} />
        </select>
      </label>
      {role === 'node' && (
        <label>
          Business (mon_biz_id); empty: all
          <input
            inputMode="numeric"
            pattern="-?\d+"
            value={business}
            onInput={({ currentTarget }) => setBusiness(currentTarget.value)}
          />
        </label>
      )}
      <label>
        Expires{' '}
        <select value={life} onChange={({ currentTarget }) => setLife(currentTarget.value)}>
          <Choices of={lives} />
        </select>
      </label>
      {create.error !== undefined && <Failed error={create.error} />}
      <p class="row">
        <button type="submit" disabled={create.isRunning}>
          Create
        </button>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
      </p>
    </form>
  );
};

/** Makes a token and shows it once: nothing keeps it, and the page forgets it with the dialog. */
const Create = ({ onClose }: { onClose: () => void }) => {
  const [made, setMade] = useState<Made>();
  if (made === undefined)
    return (
      <Dialog title="New admin token" onClose={onClose}>
        <CreateForm onMade={setMade} onClose={onClose} />
      </Dialog>
    );
  return (
    <Dialog key="made" title={`Admin token ${made.admin_token.token_id}`} onClose={onClose}>
      <p>Copy it now: it is shown only this once, and Tidemark keeps its hash alone.</p>
      <Code text={made.token} what="admin token" />
      <button type="button" onClick={onClose}>
        Close
      </button>
    </Dialog>
  );
};

const State = ({ of: { is_revoked: isRevoked, expires_at: expires } }: { of: Token }) => {
  if (isRevoked) return <Badge>revoked</Badge>;
  return expires !== null && expires * 1000 <= Date.now() ? (
    <Badge>expired</Badge>
  ) : (
    <Badge tone="good">valid</Badge>
  );
};

const columnsOf = (own: number, revoke: (token: Token) => void): readonly Column<Token>[] => [
  {
    key: 'id',
    title: 'Id',
    isNumber: true,
    sortBy: (token) => token.token_id,
    cell: (token) => token.token_id,
  },
  {
    key: 'name',
    title: 'Name',
    sortBy: ({ name }) => name,
    cell: (token) => (
      <>
        <Hostile text={token.name} max={80} /> {token.token_id === own && <Badge tone="info">yours</Badge>}
      </>
    ),
  },
  { key: 'role', title: 'Role', sortBy: ({ role }) => role, cell: ({ role }) => role },
  { key: 'business', title: 'Business', isNumber: true, cell: (token) => token.mon_biz_id ?? 'all' },
  {
    key: 'created',
    title: 'Created',
    sortBy: (token) => token.create_time,
    cell: (token) => (
      <>
        <Time at={token.create_time} seconds /> by <Hostile text={token.creator} max={60} />
      </>
    ),
  },
  {
    key: 'expires',
    title: 'Expires',
    sortBy: (token) => token.expires_at ?? Number.MAX_SAFE_INTEGER,
    cell: (token) => (token.expires_at === null ? 'never' : <Time at={token.expires_at} seconds />),
  },
  { key: 'state', title: 'State', cell: (token) => <State of={token} /> },
  {
    key: 'acts',
    title: 'Acts',
    cell: (token) =>
      !token.is_revoked && (
        <button
          type="button"
          class="danger"
          aria-label={`Revoke token ${token.token_id} …`}
          onClick={() => revoke(token)}
        >
          Revoke …
        </button>
      ),
  },
];

/** The tokens of the admin API, for its admins. */
export const Tokens = () => {
  const cursor = useAddress().query.get('cursor');
  const own = useSession()?.token_id ?? 0;
  const loaded = useLoad(`tokens-${cursor}`, (signal) =>
    get('/api/v1/admin-tokens', { query: cursor === null ? {} : { cursor }, signal }),
  );
  const [isMaking, setIsMaking] = useState(false);
  const [revoking, setRevoking] = useState<Token>();
  const revoke = async (): Promise<void> => {
    if (revoking === undefined) return;
    await call('post', '/api/v1/admin-tokens/{id}/revoke', { path: { id: revoking.token_id }, body: {} });
    loaded.reload();
  };
  const close = (): void => {
    setIsMaking(false);
    loaded.reload();
  };
  return (
    <>
      <p>
        <button type="button" onClick={() => setIsMaking(true)}>
          New token …
        </button>
      </p>
      <Await of={loaded}>
        {({ items, next_cursor: next }) => (
          <>
            <Table
              caption="Admin tokens"
              columns={columnsOf(own, setRevoking)}
              rows={items}
              keyOf={(token) => token.token_id}
              empty="No admin tokens."
            />
            <Pager next={next} />
          </>
        )}
      </Await>
      {isMaking && <Create onClose={close} />}
      {revoking !== undefined && (
        <Confirm
          title={`Revoke admin token ${revoking.token_id}`}
          verb="Revoke"
          act={revoke}
          onClose={() => setRevoking(undefined)}
        >
          <p>
            <Hostile text={revoking.name} max={80} /> ({revoking.role}) can use the admin API and the console
            no more, from within a second on. It cannot be undone.
            {revoking.token_id === own && ' It is the token of your own session, which ends with it.'}
          </p>
        </Confirm>
      )}
    </>
  );
};
