import type { IncomingMessage } from 'node:http';
import type { HttpLimits } from '../../http/limited-server.ts';
import type { Broken, ProtocolStatus } from '../../http/protocol-errors.ts';
import { proxyHeaderText } from '../../http/proxy-header.ts';
import { notStored, Refused, retryAfter } from '../refused.ts';
import { clientGone, UnreadableBody } from './body.ts';
import type { Reply } from './reply.ts';

const seconds = (ms: number): string => `${ms / 1000} s`;

const detailOf = (status: ProtocolStatus, { fault, request }: Broken, limits: HttpLimits): string => {
  const { headersTimeoutMs, requestTimeoutMs, stallTimeoutMs, headerBytesMax } = limits;
  switch (status) {
    case 408:
      if (fault === 'stalled')
        return `no byte arrived for ${seconds(stallTimeoutMs)}, which is the limit; check the network`;
      return request === undefined
        ? `the header fields did not arrive in time: the limit is ${seconds(headersTimeoutMs)}; check the network`
        : `the body did not arrive in time: the limit is ${seconds(requestTimeoutMs)} for the whole request; send smaller ones, or check the network`;
    case 417:
      return 'the expectation is unknown: send Expect: 100-continue, or no Expect';
    case 431:
      return `the header fields are too large: the limit is ${headerBytesMax} bytes for all of them; send fewer or shorter ones`;
    default:
      if (fault === 'proxy_header') return proxyHeaderText;
      if (fault === 'tls_on_plain_port')
        return 'the connection begins with TLS, and this port takes plain HTTP: send to http://, or give the receivers a certificate (TIDEMARK_INGRESS_TLS_CERT_FILE, TIDEMARK_INGRESS_TLS_KEY_FILE)';
      if (fault === 'unknown_method')
        return 'it begins with a method that is not known here: send POST; behind another request, check the Content-Length of that one';
      if (fault === 'transfer_encoding')
        return 'Transfer-Encoding may be chunked alone: name the compression of the body in Content-Encoding';
      return fault === 'malformed' && request !== undefined
        ? 'a chunk of the body is malformed'
        : 'Bad Request';
  }
};

/** The refusal of a request whose body still arrives when the receiver has to stop. */
export const stopping = notStored('the receiver stops, and the request has not arrived: send it again');

/**
 * The refusal of bytes that are no request, or of a request that breaks off in its body. `retries408`: the senders send again after a
 * 408, as exporters do not (OTLP/HTTP, "Retryable Response Codes"); else a body that does not arrive in time is a 503.
 */
export const brokenRefusal = (
  status: ProtocolStatus,
  broken: Broken,
  limits: HttpLimits,
  retries408: boolean,
): Refused => {
  if (status === 503) return stopping;
  if (broken.fault === 'reset') return new Refused('aborted', clientGone);
  const detail = detailOf(status, broken, limits);
  return status === 408 && broken.request !== undefined && !retries408
    ? new Refused('protocol_error', detail, { status: 503, headers: retryAfter(1) })
    : new Refused('protocol_error', detail, { status });
};

/** The requests of a server that break off in their bodies. */
export type BrokenBodies = {
  /** Ends the body for its reader with this refusal. Resolves with the answer of the line; undefined where nobody reads it now. */
  end(request: IncomingMessage, refused: Refused): Promise<Reply> | undefined;
  /** Takes the answer to a request that broke off; false for any other request. */
  take(request: IncomingMessage, reply: Reply): boolean;
};

export const createBrokenBodies = (): BrokenBodies => {
  const waiting = new WeakMap<IncomingMessage, (reply: Reply) => void>();
  return {
    end: (request, refused) => {
      if (request.listenerCount('error') === 0) return undefined;
      const { promise, resolve } = Promise.withResolvers<Reply>();
      waiting.set(request, resolve);
      // Not by its destruction, which would end the connection before the answer.
      request.emit('error', new UnreadableBody(refused));
      return promise;
    },
    take: (request, reply) => {
      const resolve = waiting.get(request);
      resolve?.(reply);
      return resolve !== undefined;
    },
  };
};
