import type { IncomingMessage, Server } from 'node:http';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import type { Account } from '../account.ts';
import { hostResponse, type OverloadAnswer, type ProtocolAnswer } from '../protocol-errors.ts';
import { createReceiverServer, type Listening } from '../receiver-server.ts';
import { type PushReply, protocolRefusal, refusal } from './reply.ts';

type Env = { Bindings: HttpBindings };

const paths = ['/v2/push/', '/v2/push'];

/** The push receiver's routes: the handler reads the raw request, so that a body is neither copied nor buffered twice. */
export const createPushServer = (
  handle: (request: IncomingMessage) => Promise<PushReply>,
  listening: Listening,
  account: Account,
  onDefect: (error: unknown) => void,
): Server => {
  const { metrics } = listening;
  const app = new Hono<Env>({ strict: true });
  const answer = (c: Context<Env>, reply: PushReply): Response => {
    metrics.requests.inc({ receiver: 'push', status: String(reply.status) });
    return c.body(reply.body, reply.status, { 'Content-Type': 'application/json', ...reply.headers });
  };
  for (const path of paths) {
    app.post(path, async (c) => answer(c, await handle(c.env.incoming)));
    app.all(path, (c) => {
      account.refused('method_not_allowed');
      return answer(c, refusal('method_not_allowed', '', { Allow: 'POST' }));
    });
  }
  app.notFound((c) => {
    account.refused('path_unknown');
    return answer(c, refusal('path_unknown', ''));
  });
  app.onError((error, c) => {
    onDefect(error);
    account.refused('not_stored');
    return answer(c, refusal('not_stored', 'a defect of the receiver', { 'Retry-After': '5' }));
  });
  const protocolAnswer: ProtocolAnswer = (status) => {
    metrics.requests.inc({ receiver: 'push', status: String(status) });
    account.refused('protocol_error');
    return { body: protocolRefusal(status), headers: { 'Content-Type': 'application/json' } };
  };
  const listener = getRequestListener(app.fetch, {
    overrideGlobalObjects: false,
    // A body that is refused is read to its end by Node: closing on the sender in mid-body would cost it the answer.
    autoCleanupIncoming: false,
    errorHandler: () => hostResponse(protocolAnswer),
  });
  const overloadAnswer: OverloadAnswer = () => {
    metrics.requests.inc({ receiver: 'push', status: '503' });
    account.refused('not_stored');
    const { body } = refusal('not_stored', 'too many connections');
    return { body, headers: { 'Content-Type': 'application/json', 'Retry-After': '2' } };
  };
  return createReceiverServer({ name: 'push', listener, protocolAnswer, overloadAnswer }, listening);
};
