import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';

/** The other end of a connection. */
export type Peer = { readonly remoteAddress?: string | undefined };

/**
 * What a receiver reads of a request, whichever protocol brought it: a request of `node:http` is one, and so is a call over gRPC. The
 * stream is its body.
 */
export type Incoming = Readable & {
  readonly headers: IncomingHttpHeaders;
  /** The same object for all requests of a connection. */
  readonly socket: Peer;
  /** The target; undefined where the protocol has none beside the path. */
  readonly url?: string | undefined;
  /** The latest time of its answer that the sender asks for, ms of `performance.now()`. */
  readonly answerBy?: number;
};
