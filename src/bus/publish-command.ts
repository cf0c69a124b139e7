import type { BufferPool } from './buffer-pool.ts';
import {
  batchCommitHeader,
  batchIdHeader,
  batchSequenceHeader,
  envelopeVersionHeader,
  messageIdHeader,
  serialHeader,
  traceHeader,
} from './message-headers.ts';

/** The place of a message in an atomic batch: counted from 1; the last one commits it. */
export type BatchPlace = { readonly id: string; readonly sequence: number; readonly isLast: boolean };

export type PublishFields = {
  readonly subject: string;
  /** The subject of the answer; without it the server sends none. */
  readonly reply?: string;
  readonly messageId: string;
  readonly version: number;
  /** Its place in the publishers' book, as text. */
  readonly serial?: string | undefined;
  readonly traceparent?: string | undefined;
  readonly batch?: BatchPlace;
};

const batchFields = ({ id, sequence, isLast }: BatchPlace): string =>
  `${batchIdHeader}: ${id}\r\n${batchSequenceHeader}: ${sequence}\r\n${isLast ? `${batchCommitHeader}: 1\r\n` : ''}`;

/** `size` counts against the server's limit: header fields and payload. */
export type Command = { readonly bytes: Buffer; readonly size: number };

/**
 * The command that publishes a message, in the server's syntax: byte for byte the client's own for `publish` with these header
 * fields. The client builds it in a buffer of its own, from a payload that was built before; here each part is copied once, into a
 * buffer of the pool.
 */
export const publishCommand = (
  { subject, reply, messageId, version, serial, traceparent, batch }: PublishFields,
  parts: readonly (Uint8Array | string)[],
  pool: BufferPool,
): Command => {
  const place = serial === undefined ? '' : `${serialHeader}: ${serial}\r\n`;
  const trace = traceparent === undefined ? '' : `${traceHeader}: ${traceparent}\r\n`;
  const ofBatch = batch === undefined ? '' : batchFields(batch);
  const fields = `NATS/1.0\r\n${messageIdHeader}: ${messageId}\r\n${envelopeVersionHeader}: ${version}\r\n${place}${trace}${ofBatch}\r\n`;
  const fieldsLength = Buffer.byteLength(fields);
  let size = fieldsLength;
  for (const part of parts) size += typeof part === 'string' ? Buffer.byteLength(part) : part.length;
  const head = `HPUB ${subject} ${reply === undefined ? '' : `${reply} `}${fieldsLength} ${size}\r\n${fields}`;
  const bytes = pool.take(Buffer.byteLength(head) + size - fieldsLength + 2);
  let at = bytes.write(head);
  for (const part of parts) {
    if (typeof part === 'string') {
      at += bytes.write(part, at);
      continue;
    }
    bytes.set(part, at);
    at += part.length;
  }
  bytes.write('\r\n', at);
  return { bytes, size };
};
