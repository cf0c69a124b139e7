import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';
import { z } from 'zod';

/** One call that came, before anything was done with it. */
export type NodeManagementCall = {
  readonly action: string;
  readonly body: z.output<typeof bodySchema>;
  readonly authorization: string | undefined;
  readonly key: string | undefined;
};

/**
 * `lost`: the call is done but its answer is lost. `wrong_shape`: the call is done, the envelope right, its data is
 * not.
 */
export type Behaviour =
  | 'error'
  | 'refuse'
  | 'unauthorized'
  | 'hang'
  | 'garbage'
  | 'huge'
  | 'wrong_shape'
  | 'lost'
  | 'redirect';

/** A subscription as the server has it. */
export type RemoteSubscription = {
  readonly id: number;
  params: z.output<typeof bodySchema>;
  enabled: boolean;
  installs: number;
  updates: number;
};

/** A node management API that speaks the original's calls, over real HTTP. */
export type NodeManagementServer = {
  readonly url: string;
  readonly calls: readonly NodeManagementCall[];
  /** The subscriptions, by id. */
  readonly subscriptions: ReadonlyMap<number, RemoteSubscription>;
  /** How the server behaves at a call; undefined = as it should. */
  behave(rule: (call: NodeManagementCall) => Behaviour | undefined): void;
  /** Removes a subscription behind everybody's back. */
  lose(id: number): void;
  /** From now on `info` shows that a subscription exists, and nothing of its content. */
  hideContent(): void;
  /** From now on `info` shows content in the form that `form` makes of a copy of it. */
  showAs(form: (content: unknown) => object): void;
  /** Saves all that it has; the function brings that back, the ids that it gives next included. */
  save(): () => void;
};

const bodySchema = z.looseObject({
  subscription_id: z.int().optional(),
  subscription_id_list: z.array(z.int()).optional(),
  action: z.string().optional(),
  actions: z.record(z.string(), z.string()).optional(),
  run_immediately: z.boolean().optional(),
  scope: z.unknown().optional(),
  steps: z
    .array(z.looseObject({ params: z.looseObject({ context: z.record(z.string(), z.unknown()) }) }))
    .optional(),
});

const readBody = async (request: IncomingMessage): Promise<string> => {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk;
  return text;
};

/** The data id that a call's context names; of other calls, that of the subscription. */
export const dataIdOf = (
  { body }: NodeManagementCall,
  subscriptions: ReadonlyMap<number, RemoteSubscription>,
): unknown =>
  (body.steps ?? subscriptions.get(body.subscription_id ?? 0)?.params.steps)?.[0]?.params.context[
    'mon_data_id'
  ];

type Answer = { result: boolean; code: number; message: string; data?: unknown };

const ok = (data: unknown): Answer => ({ result: true, code: 0, message: '', data });
/** As APIs that leave out what is empty. */
const missing: Answer = { result: false, code: 3801, message: 'no such subscription' };

/** Starts it on a free port; it ends with the test. */
export const startNodeManagement = async (
  atEnd: (stop: () => Promise<void>) => void = onTestFinished,
): Promise<NodeManagementServer> => {
  const calls: NodeManagementCall[] = [];
  const subscriptions = new Map<number, RemoteSubscription>();
  const idOfKey = new Map<string, number>();
  let rule: (call: NodeManagementCall) => Behaviour | undefined = () => undefined;
  let lastId = 7000;
  let form: (content: unknown) => object = (content) => Object(content);

  const create = ({ body, key }: NodeManagementCall): Answer => {
    const before = key === undefined ? undefined : idOfKey.get(key);
    if (before !== undefined) return ok({ subscription_id: before });
    const id = ++lastId;
    if (key !== undefined) idOfKey.set(key, id);
    subscriptions.set(id, { id, params: body, enabled: false, installs: 0, updates: 0 });
    return ok({ subscription_id: id });
  };
  const shownOf = (id: number): unknown[] => {
    const held = subscriptions.get(id);
    if (held === undefined) return [];
    const { scope, steps } = held.params;
    return [{ id, name: '', enable: held.enabled, ...form(structuredClone({ scope, steps })) }];
  };
  const perform = (call: NodeManagementCall): Answer => {
    const { action, body } = call;
    if (action === 'create') return create(call);
    if (action === 'info') return ok((body.subscription_id_list ?? []).flatMap(shownOf));
    const held = subscriptions.get(body.subscription_id ?? 0);
    if (held === undefined) return missing;
    if (action === 'switch') held.enabled = body.action === 'enable';
    if (action === 'run') held.installs += Object.values(body.actions ?? {}).includes('INSTALL') ? 1 : 0;
    if (action === 'update') {
      held.params = body;
      held.updates++;
    }
    if (action === 'delete') subscriptions.delete(held.id);
    return ok({ task_id: 1 });
  };

  /** As careless servers answer, with what they were sent, the secrets first. */
  const echo = (call: NodeManagementCall): string => {
    const context = call.body.steps?.[0]?.params.context;
    return `${call.authorization} ${JSON.stringify(context?.['mon_data_token'])} ${JSON.stringify(call)}`;
  };
  const answer = (call: NodeManagementCall, response: ServerResponse): void => {
    const json = (status: number, body: unknown): void => {
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
    };
    switch (rule(call)) {
      case 'error':
        return json(500, { result: false, code: 500, message: `boom ${echo(call)}`, data: null });
      case 'refuse':
        return json(200, { result: false, code: 42, message: `no: ${echo(call)}`, data: null });
      case 'unauthorized':
        return json(401, { result: false, code: 401, message: 'the token has expired', data: null });
      case 'hang':
        return;
      case 'garbage':
        response.writeHead(200, { 'Content-Type': 'text/html' }).end('<html>gateway</html>');
        return;
      case 'huge':
        response.writeHead(200).end(`{"result":true,"data":"${'x'.repeat(3 * 1024 * 1024)}"}`);
        return;
      case 'redirect':
        response.writeHead(302, { Location: '/elsewhere' }).end();
        return;
      case 'wrong_shape':
        perform(call);
        return json(200, { result: true, data: { id: 'seven' } });
      case 'lost':
        perform(call);
        return;
      default:
        return json(200, perform(call));
    }
  };

  const server = createServer((request, response) => {
    const handle = async (): Promise<void> => {
      const action = /^\/api\/subscription\/([a-z]+)\/$/.exec(request.url ?? '')?.[1];
      const text = await readBody(request);
      if (action === undefined || request.method !== 'POST') {
        response.writeHead(404).end('not found');
        return;
      }
      const key = request.headers['idempotency-key'];
      const call: NodeManagementCall = {
        action,
        body: bodySchema.parse(JSON.parse(text)),
        authorization: request.headers.authorization,
        key: typeof key === 'string' ? key : undefined,
      };
      calls.push(call);
      answer(call, response);
    };
    handle().catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(
    () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  );
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/api`,
    calls,
    subscriptions,
    behave: (next) => {
      rule = next;
    },
    lose: (id) => {
      subscriptions.delete(id);
    },
    hideContent: () => {
      form = () => ({});
    },
    showAs: (next) => {
      form = next;
    },
    save: () => {
      const saved = { lastId, held: structuredClone([...subscriptions]), keys: [...idOfKey] };
      return () => {
        lastId = saved.lastId;
        subscriptions.clear();
        idOfKey.clear();
        for (const [id, one] of saved.held) subscriptions.set(id, one);
        for (const [key, id] of saved.keys) idOfKey.set(key, id);
      };
    },
  };
};
