import type { IncomingMessage, Server } from 'node:http';
import { createReceiverServer, type Listening } from '../http/receiver-server.ts';
import type { Reply } from '../http/reply.ts';
import type { RefusalRecorder } from '../refusal-recorder.ts';
import { noHeaders, Refused, retryAfter } from '../refused.ts';
import { refusedReply } from './reply.ts';

/** The push receiver over HTTP (specification 4.1). */
export const createPushServer = (
  handle: (request: IncomingMessage) => Promise<Reply>,
  listening: Listening,
  recorder: RefusalRecorder,
  onDefect: (error: unknown) => void,
): Server =>
  createReceiverServer(
    {
      name: 'push',
      paths: ['/v2/push/', '/v2/push'],
      handle,
      refuse: refusedReply,
      // The reply envelope of a push has no 500.
      defect: new Refused('not_stored', "internal error; see the receiver's log", { headers: retryAfter(5) }),
      headers: noHeaders,
    },
    listening,
    recorder,
    onDefect,
  );
