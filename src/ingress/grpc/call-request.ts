import { EventEmitter } from 'node:events';
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { Incoming, Peer } from '../../http/incoming.ts';
import { UnreadableBody } from '../http/body.ts';
import { Pieces } from '../http/pieces.ts';
import { Refused } from '../refused.ts';
import { type Prefix, prefixBytes, prefixOf } from './frame.ts';
import { codes, RefusedCall } from './status.ts';
import type { WaitingCalls } from './waiting-calls.ts';

/** What is known of a call before its message. */
export type CallHead = {
  /** Changed once the prefix is known: until then they are those of the call. */
  readonly headers: IncomingHttpHeaders;
  readonly peer: Peer;
  /** Bytes of the longest message as sent. */
  readonly lengthMax: number;
  readonly waiting: WaitingCalls;
  /** The latest time of its answer, ms of `performance.now()`. */
  readonly answerBy: number;
};

/** Bytes that wait for a reader at most, before the client has to wait. */
const waitingBytesMax = 65_536;
/** The longest time that a timer of Node takes. */
const timerMsMax = 2 ** 31 - 1;

const noBytes = Buffer.alloc(0);

type Events = { data: [chunk: Buffer]; end: []; close: []; error: [error: Error] };

const tooLong = (length: number, lengthMax: number): Refused =>
  new Refused('body_too_large', `its length prefix is ${length} bytes, the limit is ${lengthMax}`);

/** The code for another number of messages than the method takes (gRPC, "Status codes"). */
const notOne = (text: string): Refused => new RefusedCall(codes.unimplemented, text);

/**
 * The request of a unary call: the body is its one message. Destroyed with UnreadableBody when the message is longer than the limit or
 * than its prefix says, or shorter; without an error when the client has gone. It is no stream of Node, which would cost more for each
 * call than all else that is done with it.
 */
export class CallRequest extends EventEmitter<Events> implements Incoming {
  readonly headers: IncomingHttpHeaders;
  readonly socket: Peer;
  readonly answerBy: number;
  destroyed = false;
  errored: Error | null = null;
  /** The prefix of the message; undefined when the client has gone before it. Rejects with Refused. */
  readonly prefix: Promise<Prefix | undefined>;
  private readonly begin: (prefix: Prefix | undefined) => void;
  private readonly fail: (refused: Refused) => void;
  private readonly stream: ServerHttp2Stream;
  private readonly lengthMax: number;
  private readonly calls: WaitingCalls;
  private timer: NodeJS.Timeout | undefined;
  /** Bytes of the message, as its prefix tells; -1 before that. */
  private length = -1;
  private received = 0;
  /** What has arrived of the prefix. */
  private begun: Buffer = noBytes;
  /** What waits for a reader. */
  private waiting = new Pieces();
  /** Whether somebody reads, or nobody wants to. */
  private isFlowing = false;
  /** Whether the whole message has arrived, and the end of the call with it. */
  private isComplete = false;

  /** Reads the stream from now on. */
  constructor(stream: ServerHttp2Stream, { headers, peer, lengthMax, waiting, answerBy }: CallHead) {
    super();
    this.stream = stream;
    this.headers = headers;
    this.socket = peer;
    this.lengthMax = lengthMax;
    this.answerBy = answerBy;
    const { promise, resolve, reject } = Promise.withResolvers<Prefix | undefined>();
    this.prefix = promise;
    this.begin = resolve;
    this.fail = reject;
    stream.on('data', (chunk: Buffer) => this.receive(chunk));
    stream.on('end', () => this.finish());
    stream.on('close', () => this.leave());
    this.calls = waiting;
    waiting.add(this);
  }

  /** Refuses the request like this unless its message has arrived before, and as `late` unless it has begun within `beginMs`. */
  refuseAfter(ms: number, refused: Refused, beginMs: number, late: Refused): void {
    const firstMs = Math.min(ms, beginMs);
    if (firstMs === Number.POSITIVE_INFINITY) return;
    const look = (): void => {
      if (ms <= beginMs) this.refuse(refused);
      else if (this.length < 0) this.refuse(late);
      else this.refuseAfter(ms - beginMs, refused, Number.POSITIVE_INFINITY, late);
    };
    this.timer = setTimeout(look, Math.min(firstMs, timerMsMax));
  }

  get isUnread(): boolean {
    return this.length >= 0 && !this.isFlowing;
  }

  /** The reader of the body learns that the request is refused like this. */
  refuse(refused: Refused): void {
    if (this.destroyed) return;
    if (this.length < 0) this.fail(refused);
    this.destroy(new UnreadableBody(refused));
  }

  private destroy(error: Error | null): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.errored = error;
    this.waiting = new Pieces();
    this.calls.remove(this);
    clearTimeout(this.timer);
    // Without a reader, an error has nobody to tell.
    if (error !== null && this.listenerCount('error') > 0) this.emit('error', error);
    this.emit('close');
  }

  private receive(chunk: Buffer): void {
    if (this.destroyed) return;
    if (this.length >= 0) this.take(chunk);
    else this.readPrefix(chunk);
  }

  private readPrefix(chunk: Buffer): void {
    const bytes = this.begun.length === 0 ? chunk : Buffer.concat([this.begun, chunk]);
    this.begun = bytes.length < prefixBytes ? bytes : noBytes;
    if (bytes.length < prefixBytes) return;
    const prefix = prefixOf(bytes);
    this.length = prefix.length;
    this.begin(prefix);
    if (prefix.length > this.lengthMax) this.refuse(tooLong(prefix.length, this.lengthMax));
    else if (bytes.length > prefixBytes) this.take(bytes.subarray(prefixBytes));
  }

  private take(chunk: Buffer): void {
    this.received += chunk.length;
    if (this.received > this.length) {
      this.refuse(notOne('the call has more bytes than its one message'));
      return;
    }
    if (this.isFlowing) {
      this.emit('data', chunk);
      return;
    }
    this.waiting.add(chunk);
    if (this.waiting.length >= waitingBytesMax) this.stream.pause();
  }

  private finish(): void {
    // A reset ends the stream, too.
    if (this.destroyed || this.stream.aborted) return;
    if (this.length < 0) {
      this.refuse(notOne('the call has no message: a message begins with five bytes'));
    } else if (this.received < this.length) {
      const told = `the message ends after ${this.received} of ${this.length} bytes`;
      this.refuse(new Refused('protocol_error', told));
    } else {
      clearTimeout(this.timer);
      this.calls.remove(this);
      this.isComplete = true;
      if (this.isFlowing) this.emit('end');
    }
  }

  /** The call is over: the sender or the receiver has ended it. */
  private leave(): void {
    if (this.length < 0) this.begin(undefined);
    this.destroy(null);
  }

  resume(): void {
    if (this.isFlowing || this.destroyed) return;
    this.isFlowing = true;
    const { waiting } = this;
    this.waiting = new Pieces();
    for (const chunk of waiting.buffers()) if (!this.destroyed) this.emit('data', chunk);
    if (this.destroyed) return;
    if (this.isComplete) this.emit('end');
    else if (waiting.length >= waitingBytesMax) this.stream.resume();
  }
}
