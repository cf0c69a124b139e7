import type { Headers, ReceiverStatus } from '../refused.ts';

/** An answer of a receiver. */
export type Reply = {
  readonly status: ReceiverStatus;
  readonly contentType: string;
  readonly headers: Headers;
  readonly body: string | Uint8Array<ArrayBuffer>;
};
