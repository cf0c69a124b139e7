import type { IncomingHttpHeaders } from 'node:http';

/** The other end of a connection. */
export type Peer = { readonly remoteAddress?: string | undefined };

/** A body on its way, as a stream of Node reports it. */
export type ArrivingBytes = {
  readonly destroyed: boolean;
  /** Why it was destroyed, where there is a reason. */
  readonly errored: Error | null;
  on(event: 'data', listener: (chunk: Buffer) => void): ArrivingBytes;
  on(event: 'end' | 'close', listener: () => void): ArrivingBytes;
  on(event: 'error', listener: (error: Error) => void): ArrivingBytes;
  off(event: 'data', listener: (chunk: Buffer) => void): ArrivingBytes;
  off(event: 'end' | 'close', listener: () => void): ArrivingBytes;
  off(event: 'error', listener: (error: Error) => void): ArrivingBytes;
  /** Lets it flow: nothing comes before, and what nobody listens for is dropped. */
  resume(): unknown;
};

/**
 * What a receiver reads of a request, whichever protocol brought it: a request of `node:http` is one, and so is a call over gRPC.
 */
export type Incoming = ArrivingBytes & {
  readonly headers: IncomingHttpHeaders;
  /** The same object for all requests of a connection. */
  readonly socket: Peer;
  /** The target; undefined where the protocol has none beside the path. */
  readonly url?: string | undefined;
  /** The latest time of its answer that the sender asks for, ms of `performance.now()`. */
  readonly answerBy?: number;
};
