import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { Incoming, Peer } from '../../http/incoming.ts';
import type { Reply } from '../http/reply.ts';
import type { BaseCounter } from '../identity.ts';
import type { ReasonLinks } from '../reason-links.ts';
import type { RefusalRecorder } from '../refusal-recorder.ts';
import { type Headers, Refused } from '../refused.ts';
import { idHeaders, idOfDefect, ownIdHeaders } from '../request-id.ts';
import { answerMessage, answerStatus } from './answer.ts';
import { CallRequest } from './call-request.ts';
import { codes, RefusedCall, statusOf } from './status.ts';
import { answerWithinMs, parseTimeoutMs } from './timeout.ts';
import type { WaitingCalls } from './waiting-calls.ts';

/** Answers an export; rejects for a defect of the program. The answer is that of OTLP/HTTP in protobuf. */
export type HandleExport = (request: Incoming) => Promise<Reply>;

/** The method that exports one signal. */
export type ExportMethod = {
  readonly handle: HandleExport;
  readonly recorder: RefusalRecorder;
  /** Bytes of the longest message as sent. */
  readonly messageBytesMax: number;
};

/** What bounds the calls until their messages have arrived. */
export type CallLimits = {
  /** Until the message has begun, ms; 0 = no limit. */
  readonly headersTimeoutMs: number;
  /** Until the message has arrived, ms; 0 = no limit. */
  readonly requestTimeoutMs: number;
  readonly waiting: WaitingCalls;
};

/** What the calls of all methods share. */
export type CallDependencies = {
  readonly limits: CallLimits;
  /** The answer to a call, with its time in seconds. */
  readonly answered: (status: number, seconds: number) => void;
  readonly links: ReasonLinks;
  /** The ids of calls that never reach their line. */
  readonly bases: BaseCounter;
  readonly onDefect: (error: unknown) => void;
};

/** The name of the compression, in the words of HTTP. Throws Refused. */
const encodingOf = (flags: number, header: string | string[] | undefined): string => {
  if (flags === 0) return 'identity';
  if (flags !== 1) throw new Refused('protocol_error', `the message has the unknown flags ${flags}`);
  if (typeof header === 'string' && header !== 'identity') return header;
  // The code for it (gRPC, "Compression").
  throw new RefusedCall(
    codes.internal,
    'the message is marked as compressed, but grpc-encoding names no compression',
  );
};

const late = (text: string): Refused => new Refused('protocol_error', text, { status: 408 });

const ownTime = late('the time of the call (grpc-timeout) ended before its message had arrived');
const slow = late('the message did not arrive in time');
const notBegun = late('the message did not begin in time');

const orNever = (ms: number): number => (ms > 0 ? ms : Number.POSITIVE_INFINITY);

/** The time within which the answer has to leave, ms; Infinity for a call without a time of its own. */
const answerMsOf = (timeout: string | string[] | undefined): number => {
  if (timeout === undefined) return Number.POSITIVE_INFINITY;
  const timeoutMs = typeof timeout === 'string' ? parseTimeoutMs(timeout) : undefined;
  if (timeoutMs === undefined) throw new Refused('protocol_error', 'grpc-timeout is not a time like 10S');
  return answerWithinMs(timeoutMs);
};

/** Reads a call up to its message, whose reader finds it as a request over HTTP. Rejects with Refused; undefined when the client has gone. */
export const openRequest = async (
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  peer: Peer,
  { headersTimeoutMs, requestTimeoutMs, waiting }: CallLimits,
  lengthMax: number,
): Promise<CallRequest | undefined> => {
  const answerMs = answerMsOf(headers['grpc-timeout']);
  const requestMs = orNever(requestTimeoutMs);
  const answerBy = performance.now() + answerMs;
  const request = new CallRequest(stream, { headers, peer, lengthMax, waiting, answerBy });
  const refused = answerMs <= requestMs ? ownTime : slow;
  request.refuseAfter(Math.min(answerMs, requestMs), refused, orNever(headersTimeoutMs), notBegun);
  const prefix = await request.prefix;
  if (prefix === undefined) return undefined;
  const encoding = encodingOf(prefix.flags, headers['grpc-encoding']);
  // The line reads a call as a request over HTTP.
  headers['content-type'] = 'application/x-protobuf';
  headers['content-encoding'] = encoding;
  if (prefix.length <= lengthMax) headers['content-length'] = String(prefix.length);
  return request;
};

const contentOf = ({ body }: Reply): Uint8Array => (typeof body === 'string' ? Buffer.from(body) : body);

/** Serves the unary calls of one method. Resolves once the work of the call is done, whether or not its client still listens. */
export const createServeCall =
  (deps: CallDependencies, { handle, recorder, messageBytesMax }: ExportMethod) =>
  async (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, peer: Peer): Promise<void> => {
    const startedAt = performance.now();
    const answered = (status: number): void => deps.answered(status, (performance.now() - startedAt) / 1000);
    const refuse = (refused: Refused, metadata: Headers): void => {
      answered(refused.status);
      answerStatus(stream, statusOf(refused, deps.links), metadata);
    };
    try {
      const request = await openRequest(stream, headers, peer, deps.limits, messageBytesMax);
      if (request === undefined) return;
      const reply = await handle(request);
      if (reply.refused !== undefined) return refuse(reply.refused, reply.headers);
      answered(reply.status);
      answerMessage(stream, contentOf(reply), reply.headers);
    } catch (error) {
      if (error instanceof Refused) {
        recorder.refused(error.reason);
        return refuse(error, { ...ownIdHeaders(deps.bases), ...error.headers });
      }
      deps.onDefect(error);
      const defect = new Refused('internal');
      recorder.refused(defect.reason);
      refuse(defect, { ...ownIdHeaders(deps.bases), ...idHeaders(idOfDefect(error)) });
    }
  };
