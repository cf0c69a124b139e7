import type { IncomingMessage, Server } from 'node:http';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import { hostResponse, type OverloadAnswer, type ProtocolAnswer } from '../../http/protocol-errors.ts';
import { type RawReply, withHotRoute } from '../http/hot-route.ts';
import { createReceiverServer, type Listening } from '../http/receiver-server.ts';
import type { RefusalRecorder } from '../refusal-recorder.ts';
import { type PushReply, protocolRefusal, refusal } from './reply.ts';

type Env = { Bindings: HttpBindings };

const paths = ['/v2/push/', '/v2/push'];
const contentType = ['Content-Type', 'application/json'];

/**
 * The push receiver's routes. The handler reads the raw request, so that a body is neither copied nor buffered twice, and pushes are
 * answered raw, too; the routes are for everything else.
 */
export const createPushServer = (
  handle: (request: IncomingMessage) => Promise<PushReply>,
  listening: Listening,
  recorder: RefusalRecorder,
  onDefect: (error: unknown) => void,
): Server => {
  const { metrics } = listening;
  const app = new Hono<Env>({ strict: true });
  const stored = metrics.requests.labels('push', '200');
  const countReply = ({ status }: PushReply): void => {
    if (status === 200) stored.inc();
    else metrics.requests.inc({ receiver: 'push', status: String(status) });
  };
  const answer = (c: Context<Env>, reply: PushReply): Response => {
    countReply(reply);
    return c.body(reply.body, reply.status, { 'Content-Type': 'application/json', ...reply.headers });
  };
  for (const path of paths) {
    app.post(path, async (c) => answer(c, await handle(c.env.incoming)));
    app.all(path, (c) => {
      recorder.refused('method_not_allowed');
      return answer(c, refusal('method_not_allowed', '', { Allow: 'POST' }));
    });
  }
  app.notFound((c) => {
    recorder.refused('path_unknown');
    return answer(c, refusal('path_unknown', ''));
  });
  const defectReply = (error: unknown): PushReply => {
    onDefect(error);
    recorder.refused('not_stored');
    return refusal('not_stored', "internal error; see the receiver's log", { 'Retry-After': '5' });
  };
  app.onError((error, c) => answer(c, defectReply(error)));
  const answerPush = async (request: IncomingMessage): Promise<RawReply> => {
    const reply = await handle(request).catch(defectReply);
    countReply(reply);
    const { status, body, headers } = reply;
    return { status, body, headers: [...contentType, ...Object.entries(headers).flat()] };
  };
  const protocolAnswer: ProtocolAnswer = (status) => {
    metrics.requests.inc({ receiver: 'push', status: String(status) });
    recorder.refused('protocol_error');
    return { body: protocolRefusal(status), headers: { 'Content-Type': 'application/json' } };
  };
  const routes = getRequestListener(app.fetch, {
    overrideGlobalObjects: false,
    // A body that is refused is read to its end by Node: closing on the sender in mid-body would cost it the answer.
    autoCleanupIncoming: false,
    errorHandler: () => hostResponse(protocolAnswer),
  });
  const overloadAnswer: OverloadAnswer = () => {
    metrics.requests.inc({ receiver: 'push', status: '503' });
    recorder.refused('not_stored');
    const { body } = refusal('not_stored', 'too many connections');
    return { body, headers: { 'Content-Type': 'application/json', 'Retry-After': '2' } };
  };
  const listener = withHotRoute({ targets: paths, answer: answerPush }, routes);
  return createReceiverServer({ name: 'push', listener, protocolAnswer, overloadAnswer }, listening);
};
