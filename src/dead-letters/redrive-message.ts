import { redriveHeader } from '../bus/message-headers.ts';
import { Fault } from '../model/fault.ts';
import { isOfApplications, pipelineOfStream, signals } from '../model/signals.ts';
import { encodeBlocksEnvelope, isBlockPart } from '../wire/blocks-envelope.ts';
import { envelopeVersion } from '../wire/frame.ts';
import { encodeEnvelope, isPart } from '../wire/metrics-envelope.ts';
import type { Redrive } from '../wire/redrive.ts';
import { arrivedAtOf, itemsOf, type Letter } from './dead-letter.ts';
import type { DeadLetterPart } from './dead-letters.ts';

/** Rows of a dead letter, and their kind. */
export type LetterRows = { readonly part: DeadLetterPart; readonly bytes: Uint8Array };

/** Bytes whose kind may be unknown. */
type LetterBytes = { readonly part: DeadLetterPart | undefined; readonly bytes: Uint8Array };

/** The message that a redrive publishes. */
export type RedriveMessage = {
  readonly subject: string;
  readonly messageId: string;
  readonly payload: Uint8Array;
  readonly version: number;
  readonly headers: Readonly<Record<string, string>>;
};

/** Dead letters that are a whole message: a redrive publishes their bytes unchanged. */
const wholeMessages: readonly string[] = ['unreadable_message', 'ledger_line_refused'];

const redriveOf = (letter: Letter): Redrive => {
  const { outcome, ordinal, redrive } = letter.header;
  return {
    number: redrive + 1,
    items: itemsOf(letter),
    ...(outcome === undefined ? {} : { outcome: { ...outcome, ordinal: ordinal ?? -1 } }),
  };
};

const payloadOf = (letter: Letter, { part, bytes }: LetterBytes): Uint8Array => {
  const { header, sequence } = letter;
  const common = {
    version: envelopeVersion,
    arrivedAt: arrivedAtOf(letter),
    deferred: [],
    outcomes: [],
    redrive: redriveOf(letter),
  };
  const key =
    header.outcome === undefined ? {} : { key: { base: header.outcome.base, first: header.outcome.first } };
  const pipeline = pipelineOfStream(header.stream);
  if (isBlockPart(part) && pipeline !== undefined && isOfApplications(pipeline)) {
    const { kind } = signals[pipeline];
    return encodeBlocksEnvelope({ ...common, ...key, kind, parts: [part] }, [bytes]);
  }
  if (isPart(part)) return encodeEnvelope({ ...common, ...key, kind: 'metrics', parts: [part] }, [bytes]);
  if (wholeMessages.includes(header.reason)) return letter.bytes;
  throw new Fault(
    'permanent',
    'not_redrivable',
    `dead letter ${sequence} does not name the kind of its bytes: look at them, then purge it`,
  );
};

/**
 * The message that redrives a dead letter: the original uids, and the original bytes or the rows that they were encoded
 * as. The redrive number makes its message id differ from earlier ones. Permanent Fault `not_redrivable` for bytes that
 * are neither rows nor a message.
 */
export const redriveMessage = (
  letter: Letter,
  rows: LetterBytes = { part: letter.header.part, bytes: letter.bytes },
): RedriveMessage => {
  const number = letter.header.redrive + 1;
  return {
    subject: letter.header.subject,
    messageId: `rd:${letter.identity}:${number}`,
    payload: payloadOf(letter, rows),
    version: envelopeVersion,
    headers: { [redriveHeader]: String(number) },
  };
};
