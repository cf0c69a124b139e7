import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import { hostResponse, type OverloadAnswer, type ProtocolAnswer } from '../../http/protocol-errors.ts';
import { type RawReply, withHotRoute } from '../http/hot-route.ts';
import { createReceiverServer, type Listening } from '../http/receiver-server.ts';
import type { RefusalRecorder } from '../refusal-recorder.ts';
import { encodingOf, type OtlpReply, type OtlpStatus, statusReply } from './reply.ts';

type Env = { Bindings: HttpBindings };

const path = '/v1/traces';

/** On every answer, errors included: a page that is refused must see why, not a network error. */
const corsHeaders = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'Retry-After, RateLimit, RateLimit-Policy',
} as const;

const preflightHeaders = (tokenHeaders: readonly string[]) =>
  ({
    'Access-Control-Allow-Methods': 'POST',
    'Access-Control-Allow-Headers': [
      ...['Content-Type', 'Content-Encoding', 'Authorization'],
      ...tokenHeaders.map((name) => name.toUpperCase()),
      ...['traceparent', 'tracestate', 'baggage'],
    ].join(', '),
    'Access-Control-Max-Age': '7200',
  }) as const;

const corsFields = Object.entries(corsHeaders).flat();

/** The trace receiver's routes; exports are answered without them. Every 4xx and 5xx of them carries a google.rpc.Status in the request's encoding. */
export const createOtlpServer = (
  handle: (request: IncomingMessage) => Promise<OtlpReply>,
  listening: Listening,
  recorder: RefusalRecorder,
  tokenHeaders: readonly string[],
  onDefect: (error: unknown) => void,
): Server => {
  const { metrics } = listening;
  const app = new Hono<Env>({ strict: true });
  const preflight = preflightHeaders(tokenHeaders);
  const answer = (c: Context<Env>, { status, contentType, body, headers }: OtlpReply): Response => {
    metrics.requests.inc({ receiver: 'otlp', status: String(status) });
    return c.body(body, status, { 'Content-Type': contentType, ...corsHeaders, ...headers });
  };
  const refuse = (
    c: Context<Env>,
    status: Exclude<OtlpStatus, 200>,
    reason: string,
    message: string,
    headers: Readonly<Record<string, string>> = {},
  ): Response => {
    recorder.refused(reason);
    return answer(
      c,
      statusReply(encodingOf(c.req.header('content-type')) ?? 'json', status, message, headers),
    );
  };
  app.options(path, (c) => c.body(null, 204, { ...corsHeaders, ...preflight, Allow: 'POST, OPTIONS' }));
  app.post(path, async (c) => answer(c, await handle(c.env.incoming)));
  app.all(path, (c) =>
    refuse(c, 405, 'method_not_allowed', `${path} accepts only POST`, { Allow: 'POST, OPTIONS' }),
  );
  app.notFound((c) => refuse(c, 404, 'path_unknown', `unknown path: send to ${path}`));
  const defectMessage = "internal error; see the receiver's log";
  app.onError((error, c) => {
    onDefect(error);
    return refuse(c, 500, 'internal', defectMessage);
  });
  const stored = metrics.requests.labels('otlp', '200');
  const answerExport = async (request: IncomingMessage): Promise<RawReply> => {
    const { status, contentType, body, headers } = await handle(request).catch((error: unknown) => {
      onDefect(error);
      recorder.refused('internal');
      return statusReply(encodingOf(request.headers['content-type']) ?? 'json', 500, defectMessage);
    });
    if (status === 200) stored.inc();
    else metrics.requests.inc({ receiver: 'otlp', status: String(status) });
    return {
      status,
      body,
      headers: ['Content-Type', contentType, ...corsFields, ...Object.entries(headers).flat()],
    };
  };
  // These come before any Content-Type is known to be right, so they are JSON.
  const protocolAnswer: ProtocolAnswer = (status) => {
    metrics.requests.inc({ receiver: 'otlp', status: String(status) });
    recorder.refused('protocol_error');
    const message = `malformed HTTP request: ${STATUS_CODES[status] ?? status}`;
    const body = JSON.stringify({ code: 3, message });
    return { body, headers: { 'Content-Type': 'application/json', ...corsHeaders } };
  };
  const routes = getRequestListener(app.fetch, {
    overrideGlobalObjects: false,
    // A body that is refused is read to its end by Node: closing on the sender in mid-body would cost it the answer.
    autoCleanupIncoming: false,
    errorHandler: () => hostResponse(protocolAnswer),
  });
  const overloadAnswer: OverloadAnswer = (request) => {
    metrics.requests.inc({ receiver: 'otlp', status: '503' });
    recorder.refused('not_stored');
    const encoding = encodingOf(request.headers['content-type']) ?? 'json';
    const { body, contentType } = statusReply(
      encoding,
      503,
      'nothing was stored, retry the request: too many connections',
    );
    return { body, headers: { 'Content-Type': contentType, ...corsHeaders, 'Retry-After': '2' } };
  };
  const listener = withHotRoute({ targets: [path], answer: answerExport }, routes);
  return createReceiverServer({ name: 'otlp', listener, protocolAnswer, overloadAnswer }, listening);
};
