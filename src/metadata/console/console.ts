import { type Context, Hono } from 'hono';
import type { ApiEnv } from '../api/env.ts';
import { limitBody } from '../body.ts';
import type { AdminIdentity } from '../tokens/admin-token-state.ts';
import { createTokenLimit } from './attempts.ts';
import { type ConsoleFiles, protection } from './files.ts';
import { createLogIn, type LogInDeps, visitOf } from './log-in.ts';
import type { Session, Sessions } from './sessions.ts';

export type ConsoleDeps = LogInDeps & { readonly files: ConsoleFiles };

/** A call that a session identifies. */
export type SessionCall = {
  readonly session: Session;
  readonly isAllowed: () => Promise<boolean>;
};

/** The console's files and sessions. */
export type Console = {
  /** To be mounted at `/console`. */
  readonly app: Hono<ApiEnv>;
  /**
   * The session of a request without a bearer; undefined without a valid one. Permanent Fault `cross_site` where a page of
   * another origin may have sent it; transient Fault when NATS is down.
   */
  identify(context: Context<ApiEnv>): Promise<SessionCall | undefined>;
  makeCode: Sessions['makeCode'];
  /** Counts a link that a token wants. Permanent Fault `too_many_attempts`. */
  countLink(identity: AdminIdentity): void;
};

const bodyBytesMax = 4_096;
const root = '/console/';

const createApp = (
  { files }: Pick<ConsoleDeps, 'files'>,
  logIn: ReturnType<typeof createLogIn>,
): Hono<ApiEnv> => {
  const app = new Hono<ApiEnv>();
  const small = limitBody(bodyBytesMax);
  app.get('/session', logIn.show);
  app.post('/session', small, logIn.logIn);
  app.post('/session/step-up', small, logIn.stepUp);
  app.delete('/session', logIn.logOut);
  app.delete('/sessions', logIn.logOutAll);
  app.get('/*', ({ req }) =>
    req.path.startsWith(root)
      ? files.answer(req.path.slice(root.length), req.header('Accept-Encoding'))
      : new Response(null, { status: 308, headers: { ...protection, Location: root } }),
  );
  return app;
};

export const createConsole = (deps: ConsoleDeps): Console => {
  const { sessions, peers } = deps;
  return {
    app: createApp(deps, createLogIn(deps)),
    makeCode: sessions.makeCode,
    countLink: createTokenLimit('made links'),
    identify: async (context) => {
      if (context.env.incoming === undefined) return undefined;
      const { cookie } = visitOf(context, peers);
      const session = cookie === undefined ? undefined : await sessions.find(cookie);
      if (cookie === undefined || session === undefined) return undefined;
      return {
        session,
        isAllowed: async () => (await sessions.find(cookie)) !== undefined,
      };
    },
  };
};
