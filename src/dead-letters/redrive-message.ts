import { redriveHeader } from '../bus/message-headers.ts';
import { Fault } from '../model/fault.ts';
import { encodeEnvelope, isPart } from '../wire/envelope.ts';
import { envelopeVersion } from '../wire/frame.ts';
import type { Redrive } from '../wire/redrive.ts';
import { encodeSpansEnvelope, isSpanPart } from '../wire/spans-envelope.ts';
import { itemsOf, type Letter } from './letter.ts';

/** What is published to send a dead letter back. */
export type RedriveMessage = {
  readonly subject: string;
  readonly messageId: string;
  readonly payload: Uint8Array;
  readonly version: number;
  readonly headers: Readonly<Record<string, string>>;
};

/** Dead letters that are a whole message: they go back as the bytes they are. */
const wholeMessages: readonly string[] = ['unreadable_message', 'ledger_line_refused'];

const redriveOf = (letter: Letter): Redrive => {
  const { outcome, ordinal, redrive } = letter.header;
  return {
    number: redrive + 1,
    items: itemsOf(letter),
    ...(outcome === undefined ? {} : { outcome: { ...outcome, ordinal: ordinal ?? -1 } }),
  };
};

const payloadOf = (letter: Letter): Uint8Array => {
  const { header, bytes, at, sequence } = letter;
  const { part, reason } = header;
  const common = {
    version: envelopeVersion,
    arrivedAt: header.outcome === undefined ? at : Date.parse(`${header.outcome.minute.replace(' ', 'T')}Z`),
    deferred: [],
    outcomes: [],
    redrive: redriveOf(letter),
  };
  const key =
    header.outcome === undefined ? {} : { key: { base: header.outcome.base, first: header.outcome.first } };
  if (isSpanPart(part))
    return encodeSpansEnvelope({ ...common, ...key, kind: 'spans', parts: [part] }, [bytes]);
  if (isPart(part)) return encodeEnvelope({ ...common, ...key, kind: 'metrics', parts: [part] }, [bytes]);
  if (wholeMessages.includes(reason)) return bytes;
  throw new Fault(
    'permanent',
    'not_redrivable',
    reason === 'deferred_item_valid'
      ? `dead letter ${sequence} is an item as it was received, and only a receiver can encode it: send it again (its bytes are in the dead letter), then purge it`
      : `dead letter ${sequence} does not say what its bytes are: look at them, then purge it`,
  );
};

/**
 * The message that sends a dead letter back: the original bytes and uids, with the redrive number that keeps its message id from
 * being taken for an earlier one's. Permanent Fault `not_redrivable` for what only a receiver could encode.
 */
export const redriveMessage = (letter: Letter): RedriveMessage => {
  const number = letter.header.redrive + 1;
  return {
    subject: letter.header.subject,
    messageId: `rd:${letter.identity}:${number}`,
    payload: payloadOf(letter),
    version: envelopeVersion,
    headers: { [redriveHeader]: String(number) },
  };
};
