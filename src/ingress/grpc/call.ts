import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { Incoming, Peer } from '../../http/incoming.ts';
import type { Reply } from '../http/reply.ts';
import type { ReasonLinks } from '../reason-links.ts';
import type { RefusalRecorder } from '../refusal-recorder.ts';
import { Refused } from '../refused.ts';
import { idHeaders, idOfDefect } from '../request-id.ts';
import { answerMessage, answerStatus } from './answer.ts';
import { CallRequest } from './call-request.ts';
import { prefixBytes, prefixOf } from './frame.ts';
import { statusOf } from './status.ts';
import { answerWithinMs, parseTimeoutMs } from './timeout.ts';

/** Answers an export; rejects for a defect of the program. The answer is that of OTLP/HTTP in protobuf. */
export type HandleExport = (request: Incoming) => Promise<Reply>;

/** The method that exports one signal. */
export type ExportMethod = {
  readonly handle: HandleExport;
  readonly recorder: RefusalRecorder;
  /** Bytes of the longest message as sent. */
  readonly messageBytesMax: number;
};

/** What the calls of all methods share. */
export type CallDependencies = {
  /** Until the message has arrived, ms; 0 = no limit. */
  readonly requestTimeoutMs: number;
  /** The answer to a call, with its time in seconds. */
  readonly answered: (status: number, seconds: number) => void;
  readonly links: ReasonLinks;
  readonly onDefect: (error: unknown) => void;
};

/** The name of the compression, in the words of HTTP. Throws Refused. */
const encodingOf = (flags: number, header: string | string[] | undefined): string => {
  if (flags === 0) return 'identity';
  if (flags !== 1) throw new Refused('protocol_error', `the message has the unknown flags ${flags}`);
  if (typeof header === 'string' && header !== 'identity') return header;
  throw new Refused(
    'protocol_error',
    'the message is marked as compressed, but grpc-encoding names no compression',
  );
};

/** The bytes of the prefix and those after it that came along. Rejects with Refused; undefined when the client has gone. */
const readPrefix = (
  stream: ServerHttp2Stream,
  whenLate: (late: (refused: Refused) => void) => void,
): Promise<Buffer | undefined> =>
  new Promise((resolve, reject) => {
    let bytes: Buffer = Buffer.alloc(0);
    const done = (): void => {
      stream.off('data', onData).off('end', onEnd).off('close', onClose);
    };
    const onData = (chunk: Buffer): void => {
      bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
      if (bytes.length < prefixBytes) return;
      stream.pause();
      done();
      resolve(bytes);
    };
    const onEnd = (): void => {
      if (stream.aborted) return;
      done();
      reject(new Refused('protocol_error', 'the call has no message: a message begins with five bytes'));
    };
    const onClose = (): void => {
      done();
      resolve(undefined);
    };
    whenLate((refused) => {
      done();
      reject(refused);
    });
    stream.on('data', onData).on('end', onEnd).on('close', onClose);
  });

const late = (text: string): Refused => new Refused('protocol_error', text, { status: 408 });

const ownTime = late('the time of the call (grpc-timeout) ended before its message had arrived');
const slow = late('the message did not arrive in time');

/** Until when a call may send its message and has its answer, ms of `performance.now()`. */
type Times = { readonly answerBy: number | undefined; readonly messageBy: number };

const timesOf = (timeout: string | string[] | undefined, now: number, requestTimeoutMs: number): Times => {
  const requestBy = requestTimeoutMs > 0 ? now + requestTimeoutMs : Number.POSITIVE_INFINITY;
  if (timeout === undefined) return { answerBy: undefined, messageBy: requestBy };
  const timeoutMs = typeof timeout === 'string' ? parseTimeoutMs(timeout) : undefined;
  if (timeoutMs === undefined) throw new Refused('protocol_error', 'grpc-timeout is not a time like 10S');
  const answerBy = now + answerWithinMs(timeoutMs);
  return { answerBy, messageBy: Math.min(answerBy, requestBy) };
};

/** The longest time that a timer of Node takes. */
const timerMsMax = 2 ** 31 - 1;

/** Reads a call up to its line, which reads the message; the timer ends with the message. */
const openRequest = async (
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  peer: Peer,
  requestTimeoutMs: number,
  messageBytesMax: number,
): Promise<CallRequest | undefined> => {
  const now = performance.now();
  const { answerBy, messageBy } = timesOf(headers['grpc-timeout'], now, requestTimeoutMs);
  const why = messageBy === answerBy ? ownTime : slow;
  let onLate: (refused: Refused) => void = () => {};
  const timer =
    messageBy === Number.POSITIVE_INFINITY
      ? undefined
      : setTimeout(() => onLate(why), Math.min(messageBy - now, timerMsMax));
  const stop = (): void => clearTimeout(timer);
  stream.once('end', stop).once('close', stop);
  try {
    const bytes = await readPrefix(stream, (refuse) => {
      onLate = refuse;
    });
    if (bytes === undefined) return undefined;
    const { flags, length } = prefixOf(bytes);
    const encoding = encodingOf(flags, headers['grpc-encoding']);
    const own = {
      ...headers,
      'content-type': 'application/x-protobuf',
      'content-encoding': encoding,
      ...(length > messageBytesMax ? {} : { 'content-length': String(length) }),
    };
    const head = { headers: own, peer, length, lengthMax: messageBytesMax, answerBy };
    const request = new CallRequest(stream, head, bytes.subarray(prefixBytes));
    onLate = (refused) => request.refuse(refused);
    return request;
  } catch (error) {
    stop();
    throw error;
  }
};

const contentOf = ({ body }: Reply): Uint8Array => (typeof body === 'string' ? Buffer.from(body) : body);

/** Serves the unary calls of one method. Resolves once the work of the call is done, whether or not its client still listens. */
export const createServeCall =
  (deps: CallDependencies, { handle, recorder, messageBytesMax }: ExportMethod) =>
  async (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, peer: Peer): Promise<void> => {
    const startedAt = performance.now();
    const answered = (status: number): void => deps.answered(status, (performance.now() - startedAt) / 1000);
    const refuse = (refused: Refused, metadata = refused.headers): void => {
      answered(refused.status);
      answerStatus(stream, statusOf(refused, deps.links), metadata);
    };
    try {
      const request = await openRequest(stream, headers, peer, deps.requestTimeoutMs, messageBytesMax);
      if (request === undefined) return;
      const reply = await handle(request);
      if (reply.refused !== undefined) return refuse(reply.refused, reply.headers);
      answered(reply.status);
      answerMessage(stream, contentOf(reply), reply.headers);
    } catch (error) {
      if (error instanceof Refused) {
        recorder.refused(error.reason);
        return refuse(error);
      }
      deps.onDefect(error);
      const defect = new Refused('internal');
      recorder.refused(defect.reason);
      refuse(defect, idHeaders(idOfDefect(error)));
    }
  };
