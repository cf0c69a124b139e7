import { useState } from 'preact/hooks';
import { type Answer, call } from '../../api/client.ts';
import { now, nowSeconds } from '../../api/clock.ts';
import { useGet } from '../../api/use.ts';
import { Button } from '../../parts/button.tsx';
import { badge, column, id, text, time, word } from '../../parts/columns.tsx';
import { Code } from '../../parts/copy.tsx';
import { Confirm, Dialog } from '../../parts/dialog.tsx';
import { type Field, type Filled, FormDialog } from '../../parts/form.tsx';
import { Hostile } from '../../parts/hostile.tsx';
import { Listing } from '../../parts/listing.tsx';
import { Badge, type Tone } from '../../parts/states.tsx';
import type { Column } from '../../parts/table.tsx';
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

const fields: readonly Field[] = [
  { name: 'name', label: 'Name of its user in the audit log', isRequired: true },
  { name: 'role', label: 'Role', kind: 'select', options: roles, value: 'viewer' },
  { name: 'mon_biz_id', label: 'Business', kind: 'number', hint: 'Of a node token alone; empty: all' },
  { name: 'expires_at', label: 'Expires', kind: 'select', options: lives, value: String(90 * day) },
];

const create = async (filled: Filled): Promise<Made> => {
  const role = roles.find(([each]) => each === filled.text('role'))?.[0] ?? 'viewer';
  const life = filled.number('expires_at') ?? 0;
  const body = {
    name: filled.text('name') ?? '',
    role,
    mon_biz_id: filled.number('mon_biz_id') ?? null,
    expires_at: life === 0 ? null : nowSeconds() + life,
  };
  return (await call('post', '/api/v1/admin-tokens', { body })).data;
};

/** The new token, once: nothing keeps it, and the page forgets it with the dialog. */
const MadeToken = ({ made, onClose }: { made: Made; onClose: () => void }) => (
  <Dialog title={`Admin token ${made.admin_token.token_id}`} onClose={onClose}>
    <p>Copy it now: it is shown only this once, and Tidemark keeps its hash alone.</p>
    <Code text={made.token} what="admin token" />
    <Button onClick={onClose}>Close</Button>
  </Dialog>
);

const stateOf = ({ is_revoked: isRevoked, expires_at: expires }: Token): readonly [Tone, string] => {
  if (isRevoked) return ['neutral', 'revoked'];
  return expires !== null && expires * 1000 <= now() ? ['neutral', 'expired'] : ['good', 'valid'];
};

const columnsOf = (own: number, revoke: (token: Token) => void): readonly Column<Token>[] => [
  id('Id', (token) => token.token_id),
  column(
    'Name',
    ({ name, token_id }) => (
      <>
        <Hostile text={name} max={80} /> {token_id === own && <Badge tone="info">yours</Badge>}
      </>
    ),
    ({ name }) => name,
  ),
  word('Role', ({ role }) => role),
  column('Business', (token) => token.mon_biz_id ?? 'all'),
  time('Created', (token) => token.create_time),
  text('By', ({ creator }) => creator, 60),
  time('Expires', (token) => token.expires_at, 'never'),
  badge('State', stateOf),
  column('Act', (token) => {
    const label = `Revoke token ${token.token_id} …`;
    return (
      !token.is_revoked && (
        <Button class="danger" aria-label={label} onClick={() => revoke(token)}>
          Revoke …
        </Button>
      )
    );
  }),
];

/** The tokens of the admin API, for its admins. */
export const Tokens = () => {
  const cursor = useAddress().query.get('cursor');
  const own = useSession()?.token_id ?? 0;
  const loaded = useGet('/api/v1/admin-tokens', { query: { cursor: cursor ?? undefined } });
  const [isMaking, setIsMaking] = useState(false);
  const [made, setMade] = useState<Made>();
  const [revoking, setRevoking] = useState<Token>();
  const revoke = async (): Promise<void> => {
    if (revoking === undefined) return;
    await call('post', '/api/v1/admin-tokens/{id}/revoke', { path: { id: revoking.token_id }, body: {} });
    loaded.reload();
  };
  return (
    <>
      <p>
        <Button onClick={() => setIsMaking(true)}>New token …</Button>
      </p>
      <Listing
        of={loaded}
        caption="Admin tokens"
        columns={columnsOf(own, setRevoking)}
        keyOf={(token) => token.token_id}
        empty="No admin tokens."
      />
      {isMaking && (
        <FormDialog
          title="New admin token"
          fields={fields}
          verb="Create"
          act={async (filled) => {
            setMade(await create(filled));
            loaded.reload();
          }}
          onClose={() => setIsMaking(false)}
        />
      )}
      {made !== undefined && <MadeToken made={made} onClose={() => setMade(undefined)} />}
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
