import type { IncomingHttpHeaders } from 'node:http';
import type { ServerHttp2Stream } from 'node:http2';
import { Readable } from 'node:stream';
import type { Incoming, Peer } from '../../http/incoming.ts';
import { UnreadableBody } from '../http/body.ts';
import { Refused } from '../refused.ts';

/** What is known of a call once the prefix of its message has arrived. */
export type CallHead = {
  readonly headers: IncomingHttpHeaders;
  readonly peer: Peer;
  /** Bytes of the message as sent. */
  readonly length: number;
  readonly lengthMax: number;
  readonly answerBy: number | undefined;
};

const tooLong = (length: number, lengthMax: number): Refused =>
  new Refused('body_too_large', `its prefix tells ${length} bytes, the limit is ${lengthMax}`);

/**
 * The request of a unary call: the body is its one message. Destroyed with UnreadableBody when the message is longer than the limit or
 * than its prefix says, or shorter; without an error when the client has gone.
 */
export class CallRequest extends Readable implements Incoming {
  readonly headers: IncomingHttpHeaders;
  readonly socket: Peer;
  readonly answerBy: number;
  private readonly stream: ServerHttp2Stream;
  private readonly head: CallHead;
  private received = 0;
  /** Whether the whole message has arrived, and the end of the call with it. */
  isComplete = false;

  /** `rest`: the bytes that came with the prefix. Reads the stream from now on. */
  constructor(stream: ServerHttp2Stream, head: CallHead, rest: Buffer) {
    super();
    this.stream = stream;
    this.head = head;
    this.headers = head.headers;
    this.socket = head.peer;
    this.answerBy = head.answerBy ?? Number.POSITIVE_INFINITY;
    // Without a reader, an error has nobody to tell.
    this.on('error', () => {});
    if (head.length > head.lengthMax) {
      this.refuse(tooLong(head.length, head.lengthMax));
      return;
    }
    stream.on('data', (chunk: Buffer) => this.receive(chunk));
    stream.once('end', () => this.finish()).once('close', () => this.destroy());
    if (rest.length > 0) this.receive(rest);
    // The end may have come with the prefix.
    if (stream.readableEnded) this.finish();
    else if (stream.destroyed) this.destroy();
  }

  /** The reader of the body learns that the request is refused like this. */
  refuse(refused: Refused): void {
    this.destroy(new UnreadableBody(refused));
  }

  private receive(chunk: Buffer): void {
    if (this.destroyed) return;
    this.received += chunk.length;
    if (this.received > this.head.length)
      this.refuse(new Refused('protocol_error', 'the call has more bytes than its one message'));
    else if (!this.push(chunk)) this.stream.pause();
  }

  private finish(): void {
    // A reset ends the stream, too.
    if (this.destroyed || this.stream.aborted) return;
    if (this.received < this.head.length) {
      const told = `the message ends after ${this.received} of ${this.head.length} bytes`;
      this.refuse(new Refused('protocol_error', told));
      return;
    }
    this.isComplete = true;
    this.push(null);
  }

  override _read(): void {
    this.stream.resume();
  }
}
