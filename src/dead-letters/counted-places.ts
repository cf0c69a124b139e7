import { isOfApplications, ownerColumns, type Pipeline, signals } from '../model/signals.ts';
import { keyOfBytes } from '../outcomes/outcome-rows.ts';
import type { MessageOfOwner } from '../outcomes/record-reader.ts';
import { blocksReaderOf } from '../wire/blocks-envelope.ts';
import { readDeferredItems } from '../wire/envelope.ts';
import { decodeEnvelope } from '../wire/metrics-envelope.ts';
import { itemsOf, type Letter, messageOf } from './dead-letter.ts';

/** Where the records count items of a dead letter as dead-lettered. */
export type CountedPlace = {
  readonly message: MessageOfOwner;
  /** -1 for the whole message. */
  readonly ordinal: number;
  /** That of the record which names the letter. */
  readonly redrive: number;
  readonly items: number;
  /** Of the record which names the letter. */
  readonly minute: string;
};

/** Whether the letter is a malformed message that counts as one item without an owner. */
export const isOfNobody = ({ header: { reason, outcome, ordinal }, bytes }: Letter): boolean =>
  reason === 'unreadable_message' &&
  ordinal === undefined &&
  outcome !== undefined &&
  outcome.base === keyOfBytes(bytes).base;

const sectionsOf = (pipeline: Pipeline, bytes: Uint8Array) => {
  if (isOfApplications(pipeline)) {
    const read = blocksReaderOf(signals[pipeline].kind)(bytes, undefined);
    if (read.kind !== 'envelope') return [];
    const { header, deferredBytes } = read.envelope;
    return header.deferred.map(({ appId, ordinals }, index) => ({
      owner: appId,
      items: ordinals.length,
      bytes: deferredBytes[index],
    }));
  }
  const read = decodeEnvelope(bytes, undefined);
  if (read.kind !== 'envelope') return [];
  const { header, deferredBytes } = read.envelope;
  return header.deferred.map(({ dataId, ordinals }, index) => ({
    owner: dataId,
    items: ordinals.length,
    bytes: deferredBytes[index],
  }));
};

/** The items of the sections that cannot be read, by owner. */
const unreadableItems = (pipeline: Pipeline, bytes: Uint8Array): Map<number, number> => {
  const unreadable = new Map<number, number>();
  for (const { owner, items, bytes: section } of sectionsOf(pipeline, bytes))
    if (readDeferredItems(section, items) === undefined)
      unreadable.set(owner, (unreadable.get(owner) ?? 0) + items);
  return unreadable;
};

/**
 * Where the records count the items of the letter; empty where none do. A message with a section that cannot be read has one letter, and a
 * record for each of its owners. It has no record of its redrives: each settlement writes the standing ones again.
 */
export const countedPlaces = (letter: Letter): readonly CountedPlace[] => {
  const message = messageOf(letter);
  const { reason, outcome, ordinal, redrive } = letter.header;
  if (message === undefined || outcome === undefined || itemsOf(letter) === 0) return [];
  const { minute } = outcome;
  if (reason === 'unreadable_message' && ordinal === undefined && !isOfNobody(letter)) {
    const { pipeline } = message;
    const owners = unreadableItems(pipeline, letter.bytes);
    if (owners.size > 0)
      return [...owners].map(([owner, items]) => ({
        message: { ...message, ...ownerColumns(pipeline, owner) },
        ordinal: -1,
        redrive: 0,
        items,
        minute,
      }));
  }
  return [{ message, ordinal: ordinal ?? -1, redrive, items: itemsOf(letter), minute }];
};
