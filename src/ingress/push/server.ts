import type { IncomingMessage, Server } from 'node:http';
import { createReceiverServer, type Listening } from '../http/receiver-server.ts';
import type { Reply } from '../http/reply.ts';
import type { ReasonLinks } from '../reason-links.ts';
import type { RefusalRecorder } from '../refusal-recorder.ts';
import { type Headers, noHeaders, Refused, retryAfter } from '../refused.ts';
import { refusedReply } from './reply.ts';

/** Members of an answer that a page of this origin reads, errors included: it must see the reason of a refusal. */
const corsHeaders = (origin: string): Headers => ({
  'Access-Control-Allow-Origin': origin,
  'Access-Control-Expose-Headers': [
    'Retry-After, RateLimit, RateLimit-Policy, X-Request-Id',
    'Idempotent-Replayed, traceresponse',
  ].join(', '),
});

const preflightHeaders: Headers = {
  'Access-Control-Allow-Methods': 'POST',
  'Access-Control-Allow-Headers': 'Content-Type, Content-Encoding, Idempotency-Key',
  'Access-Control-Max-Age': '7200',
};

/** The push receiver over HTTP (specification 4.1). `corsOrigin`: the origin whose pages may push; undefined for none. */
export const createPushServer = (
  handle: (request: IncomingMessage) => Promise<Reply>,
  listening: Listening,
  recorder: RefusalRecorder,
  corsOrigin: string | undefined,
  links: ReasonLinks,
  onDefect: (error: unknown) => void,
): Server =>
  createReceiverServer(
    {
      name: 'push',
      routes: [{ paths: ['/v2/push/', '/v2/push'], wrongMethod: '', handle, recorder }],
      refuse: (refused) => refusedReply(refused, links),
      retries408: true,
      http2Remedy: 'POST to /v2/push/ over HTTP/1.1',
      // The reply envelope of a push has no 500.
      defect: new Refused('not_stored', "internal error; see the receiver's log", { headers: retryAfter(5) }),
      ...(corsOrigin === undefined
        ? { headers: noHeaders }
        : { headers: corsHeaders(corsOrigin), preflight: preflightHeaders }),
    },
    listening,
    recorder,
    onDefect,
  );
