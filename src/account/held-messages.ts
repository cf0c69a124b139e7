import { serialHeader } from '../bus/message-headers.ts';
import type { StoredMessage, StreamReader } from '../bus/stream-reader.ts';
import { isOfApplications } from '../model/signals.ts';
import { sumOf } from '../model/sums.ts';
import { decodeBlocksEnvelope } from '../wire/blocks-envelope.ts';
import { readSerial } from '../wire/message-serial.ts';
import { decodeEnvelope } from '../wire/metrics-envelope.ts';
import type { HeldMessage } from './compare.ts';
import { pipelineOf } from './difference.ts';

/** A group of items in a header: rows of a part, deferred items, or items that the receiver dropped. */
type Group = { readonly owner: number; readonly items: number };

const pointGroups = (payload: Uint8Array): Group[] => {
  const read = decodeEnvelope(payload, undefined);
  if (read.kind !== 'envelope') return [];
  const { parts, deferred, outcomes } = read.envelope.header;
  return [
    ...parts.map(({ dataId, points }) => ({ owner: dataId, items: points })),
    ...deferred.map(({ dataId, ordinals }) => ({ owner: dataId, items: ordinals.length })),
    ...outcomes.map(({ dataId, dropped }) => ({ owner: dataId, items: sumOf(Object.values(dropped)) })),
  ];
};

const spanGroups = (payload: Uint8Array): Group[] => {
  const read = decodeBlocksEnvelope(payload, undefined);
  if (read.kind !== 'envelope') return [];
  const { parts, deferred, outcomes } = read.envelope.header;
  return [
    ...parts.map(({ appId, rows }) => ({ owner: appId, items: rows })),
    ...deferred.map(({ appId, ordinals }) => ({ owner: appId, items: ordinals.length })),
    ...outcomes.map(({ appId, dropped }) => ({ owner: appId, items: sumOf(Object.values(dropped)) })),
  ];
};

/** The place of a message in its stream and in the publishers' book, and its items by owner; none where its bytes cannot be read. */
const heldMessageOf = (stream: string, { sequence, headers, payload, time }: StoredMessage): HeldMessage => {
  const isPoints = !isOfApplications(pipelineOf(stream));
  const sums = new Map<number, number>();
  for (const { owner, items } of isPoints ? pointGroups(payload) : spanGroups(payload))
    sums.set(owner, (sums.get(owner) ?? 0) + items);
  const serial = readSerial(headers.get(serialHeader));
  return {
    sequence,
    life: serial?.life ?? 0,
    serial: serial?.serial ?? 0,
    minute: 60 * (serial?.minute ?? Math.floor(time / 60_000)),
    items: [...sums].map(([owner, items]) =>
      isPoints ? { dataId: owner, appId: 0, items } : { dataId: 0, appId: owner, items },
    ),
  };
};

const pageMax = 256;

/**
 * The messages that a stream holds from one sequence to another, both included; undefined where there are more than `messagesMax`. Throws
 * as the reader does.
 */
export const readHeldMessages = async (
  reader: StreamReader,
  stream: string,
  first: number,
  last: number,
  messagesMax: number,
): Promise<HeldMessage[] | undefined> => {
  const held: HeldMessage[] = [];
  for (let from: number | undefined = first; from !== undefined && from <= last; ) {
    const { entries, next } = await reader.readForwards(stream, { fromSequence: from, limit: pageMax });
    for (const entry of entries) if (entry.sequence <= last) held.push(heldMessageOf(stream, entry));
    if (held.length > messagesMax) return undefined;
    from = next;
  }
  return held;
};
