import { createHash } from 'node:crypto';
import type { Publisher } from '../bus/publisher.ts';
import type { DeadLetterReason } from '../model/reasons.ts';
import type { BlockPart } from '../wire/blocks-envelope.ts';
import { encodeFrame, envelopeVersion } from '../wire/frame.ts';
import type { Part } from '../wire/metrics-envelope.ts';

export type { DeadLetterReason } from '../model/reasons.ts';

/** The kind of the bytes of a dead letter, where they are rows: a part of a message for QuestDB or ClickHouse. */
export type DeadLetterPart = Part | BlockPart;

/** The header of a dead letter, stored with its bytes. */
export type DeadLetterHeader = {
  readonly version: 1;
  readonly reason: DeadLetterReason;
  readonly error: string;
  readonly stream: string;
  readonly streamSequence: number;
  readonly subject: string;
  readonly dataId?: number;
  readonly appId?: number;
  readonly table?: string;
  readonly uid?: string;
  /** Items that the outcome record counts as dead-lettered for it; 0 where another dead letter has the same item. */
  readonly items: number;
  /** Key of the message's outcome record and the minute of its arrival, or of the item's own record with `ordinal`. */
  readonly outcome?: { readonly base: string; readonly first: number; readonly minute: string };
  /**
   * Of one item: the key of the records that its redrives and its purge write, with `redrive` (architecture 10.1).
   * Without it the dead letter is a whole message: the record of its redrive replaces the one with this key.
   */
  readonly ordinal?: number;
  readonly part?: DeadLetterPart;
  /** Of an item as it was received: its arrival, ms since the epoch. */
  readonly arrivedAt?: number;
  /**
   * Of a whole message or a line of LEDGER, its redrives (0 at first). Else the `redrive` of the record that names the letter: a message that is redriven as
   * it was begins at 0 again.
   */
  readonly redrive: number;
  readonly at: number;
};

/**
 * Keeps items and messages that a store refuses: original bytes with the reason, in DEADLETTER. Resolves after the
 * PubAck.
 */
export type DeadLetters = {
  /** `identity` makes the message id: the same item, dead-lettered twice, is stored once. */
  put(identity: string, header: DeadLetterHeader, bytes: Uint8Array): Promise<void>;
};

/** Identity of bytes that have none. */
export const bytesIdentity = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

export const createDeadLetters = (publisher: Publisher): DeadLetters => ({
  put: async (identity, header, bytes) => {
    const subject = `deadletter.${header.stream.toLowerCase()}`;
    await publisher.publish(
      subject,
      `dl:${identity}:${header.redrive}`,
      encodeFrame(header, [bytes]),
      envelopeVersion,
    );
  },
});
