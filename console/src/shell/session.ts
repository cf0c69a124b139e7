import { hooks, send } from '../api/client.ts';
import { nowSeconds } from '../api/clock.ts';
import { useListener } from './listener.ts';

/** What the browser may know of its session: never the token. Times in Unix seconds. */
export type Session = {
  readonly token_id: number;
  readonly name: string;
  readonly role: 'viewer' | 'editor' | 'admin';
  readonly expires_at: number;
  /** Addresses of other programs that show the stored data, where they are set. */
  readonly links: Readonly<Record<'grafana' | 'questdb' | 'clickhouse', string | null>>;
};

const path = '/console/session';
const listeners = new Set<() => void>();
/** Other tabs have the same cookie: they read their session again after a log-in or log-out. */
const tabs = new BroadcastChannel('tidemark-session');
/** undefined: not known yet; null: none. */
let current: Session | null | undefined;
/** Why there is none any more, in words; empty where there was none, or the reader ended it here. */
let ended = '';

const set = (next: Session | null, why = ''): void => {
  current = next;
  ended = why;
  for (const listener of listeners) listener();
};

/** Metadata says no more of a session that has ended than that there is none. */
const end = (): void => {
  if (current == null) return set(null, ended);
  const isOver = nowSeconds() >= current.expires_at;
  const causes =
    'its token was revoked, has expired or has another role now; it was ended elsewhere; nothing was asked for an hour; or NATS was restarted';
  set(null, `Your session has ended: ${isOver ? 'its 12 hours are over' : causes}.`);
};

/** Reads the session that the cookie stands for. Throws an ApiError unless it has one or has none. */
export const readSession = async (): Promise<void> => {
  hooks.onEnded = end;
  // Another tab may have logged in as another user.
  hooks.onForbidden = () => void readSession().catch(() => undefined);
  tabs.onmessage = hooks.onForbidden;
  await send(path)
    .then(async (response) => set(await response.json()))
    .catch((error: { status?: number }) => {
      if (error.status !== 401) throw error;
      end();
    });
};

const post = (to: string, body: object): Promise<Response> =>
  send(to, { method: 'POST', body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } });

/** Logs in by a token, or by the code of a link. Throws an ApiError. */
export const logIn = async (proof: { token: string } | { code: string }): Promise<void> => {
  set(await (await post(path, proof)).json());
  tabs.postMessage(null);
};

/** Gives the token again, for acts that want it. Throws an ApiError. */
export const stepUp = async (token: string): Promise<void> => void (await post(`${path}/step-up`, { token }));

export const logOut = async (all = false): Promise<void> => {
  await send(all ? '/console/sessions' : path, { method: 'DELETE' });
  set(null);
  tabs.postMessage(null);
};

/** Why the session has ended, beside a component. */
export const whyEnded = (): string => ended;

/** The session as it is now, beside a component. */
export const currentSession = (): Session | null | undefined => current;

/** The session; null without one, undefined while that is not known. */
export const useSession = (): Session | null | undefined => {
  useListener(listeners);
  return current;
};

const order = { viewer: 1, editor: 2, admin: 3 } as const;

/** Whether the session's role allows what needs `role`; the API decides again. */
export const useAllows = (role: keyof typeof order): boolean => {
  const session = useSession();
  return session != null && order[session.role] >= order[role];
};
