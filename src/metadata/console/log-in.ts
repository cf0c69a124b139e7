import type { IncomingMessage } from 'node:http';
import type { Context } from 'hono';
import { getCookie } from 'hono/cookie';
import { z } from 'zod';
import { keepConnection } from '../../http/room.ts';
import { Fault } from '../../model/fault.ts';
import type { ApiEnv } from '../api/env.ts';
import type { Audit } from '../audit/audit.ts';
import { readJson } from '../body.ts';
import { parseInput } from '../problem.ts';
import type { AdminIdentity } from '../tokens/admin-token-state.ts';
import type { AdminTokens } from '../tokens/admin-tokens.ts';
import { type Attempt, createAttempts, createTokenLimit } from './attempts.ts';
import { protection } from './files.ts';
import type { Session, Sessions } from './sessions.ts';
import { cookieText, type Peers, requireSameOrigin, type Visitor, visitorOf } from './transport.ts';

/** Addresses that the console links to; null where none is set. */
export type ConsoleLinks = Readonly<Record<'grafana' | 'questdb' | 'clickhouse', string | null>>;

export type LogInDeps = {
  readonly sessions: Sessions;
  readonly adminTokens: Pick<AdminTokens, 'authorize'>;
  readonly audit: Pick<Audit, 'run'>;
  readonly peers: Peers;
  readonly links: ConsoleLinks;
};

const proofSchema = z.union([
  z.strictObject({ token: z.string().max(256) }),
  z.strictObject({ code: z.string().max(256) }),
]);
type Proof = z.output<typeof proofSchema>;

const refused = (code: string, why: string): Fault => new Fault('permanent', code, why);

const noSession = (): Fault => refused('unauthorized', 'there is no session of the console');

const readProof = async (context: Context<ApiEnv>): Promise<Proof> =>
  parseInput(proofSchema, await readJson(context));

const requestOf = (context: Context<ApiEnv>): IncomingMessage => {
  const { incoming } = context.env;
  if (incoming === undefined) throw refused('cross_site', 'the request has no connection');
  return incoming;
};

const shownWith =
  (links: ConsoleLinks) =>
  ({ identity: { token_id, name, role }, expiresAt }: Session): object => ({
    token_id,
    name,
    role,
    expires_at: Math.floor(expiresAt / 1000),
    links,
  });

const targetOf = ({ id }: Session) => ({ kind: 'console_session', id });

const actorOf = ({ token_id, name, role }: AdminIdentity) => ({ token_id, name, role });

/** Checks tokens and codes, with a limit of failures, and writes refusals to the audit log. */
const createProofs = ({ sessions, adminTokens, audit }: LogInDeps) => {
  const attempts = createAttempts();
  const refuse = async (
    { address, proof, attempt }: { address: string; proof: Proof; attempt: Attempt },
    owner: AdminIdentity | undefined,
    fault: Fault,
  ): Promise<never> => {
    if (attempt.isNoted()) {
      const request = { address, by: 'token' in proof ? 'token' : 'link', code: fault.code };
      const actor =
        owner === undefined ? { token_id: null, name: 'unknown', role: 'none' as const } : actorOf(owner);
      const target = { kind: 'console_session' };
      await audit.run({ actor, action: 'console.login_refused', target, request }, async () => undefined);
    }
    throw fault;
  };
  /** The owner of a token or a code. Permanent Faults `too_many_attempts`, `login_refused`, `forbidden`. */
  return async ({ address }: Visitor, proof: Proof): Promise<AdminIdentity> => {
    // It counts before its proof is looked at: of many at once, too, no more than ten are.
    const attempt = attempts.begin(address);
    if (attempt === undefined) throw refused('too_many_attempts', `too many failed attempts from ${address}`);
    const look = 'token' in proof ? adminTokens.authorize(proof.token) : sessions.takeCode(proof.code);
    const owner = await look.catch((error: unknown) => {
      attempt.takeBack();
      throw error;
    });
    if (owner === undefined) {
      const what =
        'token' in proof ? 'the admin token is not valid' : 'the link was used, or is older than a minute';
      return refuse({ address, proof, attempt }, owner, refused('login_refused', what));
    }
    if (owner.role !== 'node') {
      attempt.takeBack();
      return owner;
    }
    const why = `the token ${JSON.stringify(owner.name)} of a node cannot log in`;
    return refuse({ address, proof, attempt }, owner, refused('forbidden', why));
  };
};

/** Throws a permanent Fault `transport_open` where a cookie would travel in plain text. */
const requireTransport = ({ transport, address }: Visitor): void => {
  if (transport !== 'open') return;
  const why = `the console logs in over TLS, or on the machine itself; this request is from ${address}`;
  throw refused('transport_open', why);
};

/** The visitor of a request, and its cookie if that counts on its transport. Permanent Fault `cross_site`. */
export const visitOf = (
  context: Context<ApiEnv>,
  peers: Peers,
): { visitor: Visitor; cookie: string | undefined } => {
  const request = requestOf(context);
  const visitor = visitorOf(request, peers);
  const cookie = visitor.transport === 'open' ? undefined : getCookie(context, visitor.cookieName);
  if (cookie !== undefined) requireSameOrigin(request, visitor);
  return { visitor, cookie };
};

const answer = (body: object, cookie?: string): Response =>
  Response.json(body, {
    headers: {
      ...protection,
      'Cache-Control': 'no-store',
      ...(cookie === undefined ? {} : { 'Set-Cookie': cookie }),
    },
  });

type Act = (context: Context<ApiEnv>) => Promise<Response>;

/** The acts of a session's life: each answers JSON, and throws a Fault where it is refused. */
export type LogIn = Readonly<Record<'show' | 'logIn' | 'stepUp' | 'logOut' | 'logOutAll', Act>>;

const createLogOut =
  (
    { sessions, audit }: LogInDeps,
    current: (context: Context<ApiEnv>) => Promise<Current>,
    isAll: boolean,
  ): Act =>
  async (context) => {
    const { visitor, cookie, session } = await current(context);
    const { identity } = session;
    const { token_id, role } = identity;
    await audit.run(
      {
        actor: actorOf(identity),
        action: 'console.logout',
        target: targetOf(session),
        request: { all: isAll },
      },
      async (note) => {
        // Of many at once, one ends it: an entry for each would fill the audit log with one log-in. All end in one call: this one
        // may be repeated after a failure only while its own session is there.
        const hasEnded = await (isAll ? sessions.endAll(token_id) : sessions.end(cookie));
        if (!hasEnded) throw noSession();
        note({ before: { token_id, role } });
      },
    );
    return answer({}, cookieText(visitor));
  };

type Current = { readonly visitor: Visitor; readonly cookie: string; readonly session: Session };

export const createLogIn = (deps: LogInDeps): LogIn => {
  const { sessions, audit, peers } = deps;
  const shown = shownWith(deps.links);
  const ownerOf = createProofs(deps);
  const countLogIn = createTokenLimit('logged in');
  /** The session of the request. Permanent Fault `unauthorized` without one. */
  const current = async (context: Context<ApiEnv>): Promise<Current> => {
    const { visitor, cookie } = visitOf(context, peers);
    const session = cookie === undefined ? undefined : await sessions.find(cookie);
    if (cookie === undefined || session === undefined) throw noSession();
    keepConnection(requestOf(context));
    return { visitor, cookie, session };
  };
  return {
    show: async (context) => answer(shown((await current(context)).session)),
    logIn: async (context) => {
      const { visitor, cookie: former } = visitOf(context, peers);
      requireTransport(visitor);
      // Without a cookie, too: another origin must not log a browser in either.
      requireSameOrigin(requestOf(context), visitor);
      const owner = await ownerOf(visitor, await readProof(context));
      keepConnection(requestOf(context));
      countLogIn(owner);
      const { token_id, role } = owner;
      const call = { actor: actorOf(owner), action: 'console.login', target: { kind: 'console_session' } };
      const request = { address: visitor.address };
      const { cookie, session } = await audit.run({ ...call, request }, async (note) => {
        const opened = await sessions.open(owner);
        note({ target: targetOf(opened.session), after: { token_id, role } });
        return opened;
      });
      if (former !== undefined) await sessions.end(former);
      return answer(shown(session), cookieText(visitor, cookie));
    },
    stepUp: async (context) => {
      const { visitor, cookie, session } = await current(context);
      const owner = await ownerOf(visitor, await readProof(context));
      if (owner.token_id !== session.identity.token_id)
        throw refused('login_refused', 'this is another token than the one of the session');
      await sessions.prove(cookie);
      return answer({});
    },
    logOut: createLogOut(deps, current, false),
    logOutAll: createLogOut(deps, current, true),
  };
};
