import { createHash } from 'node:crypto';
import { ownerColumns, type Pipeline } from '../model/signals.ts';
import { isDecimal, type MessageKey } from '../wire/message-key.ts';
import type { Redrive } from '../wire/redrive.ts';
import type { OutcomeRow } from './rows.ts';
import { deadLetteredOutcome, type Tally } from './tally.ts';
import { minuteText, momentText } from './times.ts';

type Keyed = { readonly base: string; readonly first: number };

/** The parts of a header that a key is made of. */
type KeyedHeader = {
  readonly key?: MessageKey;
  readonly parts: readonly Keyed[];
  readonly deferred: readonly { readonly base: string; readonly ordinals: readonly number[] }[];
};

/** The key of a message; of one written before keys were, that of its first section. Undefined when it has none. */
export const messageKeyOf = ({ key, parts, deferred }: KeyedHeader): MessageKey | undefined => {
  if (key !== undefined) return key;
  const [part] = parts;
  const [group] = deferred;
  const base = part?.base ?? group?.base;
  if (!isDecimal(base)) return undefined;
  return { base, first: part?.first ?? group?.ordinals[0] ?? 0 };
};

/** The key of a message without one: its bytes are the same in every delivery. */
export const keyOfBytes = (bytes: Uint8Array): MessageKey => {
  const digest = createHash('sha256').update(bytes).digest();
  return { base: (digest.readBigUInt64BE(0) >> 1n).toString(), first: 0 };
};

/** The key of a record of one item, beside its message's. */
export type ItemKey = MessageKey & { readonly ordinal: number };

/**
 * Key of the item with this uid: that of its message and the distance of its uid from the message's base. An item of a later request in
 * a shared message may come before the base: its distance is negative, and one less, because -1 is the whole message. Without a
 * distance that a JSON number holds, the uid itself is the key; earlier programs did so for every item before the base.
 */
export const itemKeyOf = (key: MessageKey, uid: bigint): ItemKey => {
  const distance = Number(uid - BigInt(key.base));
  const ordinal = distance < 0 ? distance - 1 : distance;
  return Number.isSafeInteger(ordinal) ? { ...key, ordinal } : { base: uid.toString(), first: 0, ordinal: 0 };
};

const rowOf = (
  pipeline: Pipeline,
  owner: number,
  key: MessageKey,
  counts: ReadonlyMap<string, number>,
  times: { readonly minute: string; readonly at: string },
): OutcomeRow => {
  let received = 0;
  for (const items of counts.values()) received += items;
  return {
    pipeline,
    ...ownerColumns(pipeline, owner),
    base: key.base,
    first: key.first,
    ordinal: -1,
    redrive: 0,
    minute: times.minute,
    received,
    outcomes: Object.fromEntries(counts),
    at: times.at,
  };
};

/** The records of one message, one for each data id or application: received = the sum of the outcomes. Times in ms. */
export const outcomeRows = (
  pipeline: Pipeline,
  key: MessageKey,
  tally: Tally,
  arrivedAt: number,
  now: number,
): OutcomeRow[] => {
  const times = { minute: minuteText(arrivedAt), at: momentText(now) };
  const rows: OutcomeRow[] = [];
  for (const [owner, counts] of tally) rows.push(rowOf(pipeline, owner, key, counts, times));
  return rows;
};

/**
 * The record of a malformed message: one item without an owner, until it is redriven or purged. A redriven message that
 * is still malformed changes nothing: its redrive's record removes nothing from the dead letters.
 */
export const unreadableRow = (
  pipeline: Pipeline,
  payload: Uint8Array,
  now: number,
  redrive = 0,
): OutcomeRow => ({
  ...rowOf(pipeline, 0, keyOfBytes(payload), new Map([[deadLetteredOutcome, redrive === 0 ? 1 : 0]]), {
    minute: minuteText(now),
    at: momentText(now),
  }),
  redrive,
});

/**
 * The records of a message from the dead letters: they remove its items there and count their new outcomes,
 * dead-lettered again among them. None where the dead letter has no record.
 */
export const redriveRows = (
  pipeline: Pipeline,
  { outcome, items, number }: Redrive,
  tally: Tally,
  now: number,
): OutcomeRow[] => {
  if (outcome === undefined) return [];
  const rows: OutcomeRow[] = [];
  for (const [owner, counts] of tally) {
    const changed = new Map(counts);
    changed.set(deadLetteredOutcome, (changed.get(deadLetteredOutcome) ?? 0) - items);
    const row = rowOf(pipeline, owner, outcome, changed, { minute: outcome.minute, at: momentText(now) });
    rows.push({ ...row, ordinal: outcome.ordinal, redrive: number });
  }
  return rows;
};
