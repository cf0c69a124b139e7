import type { Bus } from '../bus/connection.ts';
import { envelopeVersionHeader, serialHeader } from '../bus/message-headers.ts';
import { removeOne, removeUpTo } from '../bus/orphaned-messages.ts';
import type { Publisher } from '../bus/publisher.ts';
import { createStreamReader, type StoredMessage } from '../bus/stream-reader.ts';
import { settledAmong } from '../outcomes/settled-places.ts';
import type { Clickhouse } from '../stores/clickhouse/client.ts';
import { envelopeVersion } from '../wire/frame.ts';
import { readSerial } from '../wire/message-serial.ts';

/** Messages of one page, of which the reader bounds the bytes; a look reads this many pages at most. */
const pageMessages = 1_000;
const pagesMax = 4;

/** The result of a part of the messages below a floor. `next`: where the next part begins; undefined at the end. */
export type SettledPart = {
  readonly removed: number;
  readonly stuck: number;
  readonly next: number | undefined;
};

/** What may be done to messages that their consumer has passed. Both throw the Faults of NATS, of the publisher and of ClickHouse. */
export type KeptMessages = {
  /**
   * Removes the messages up to `floor` that have their lines in the settlers' book, from `from` on (default: the first message of the
   * stream, `first`), and counts the others.
   */
  removeSettled(stream: string, first: number, from: number | undefined, floor: number): Promise<SettledPart>;
  /** Publishes messages up to `floor` again and removes them then; returns how many. */
  publishAgain(stream: string, floor: number): Promise<number>;
};

export type KeptMessagesOptions = {
  readonly clickhouse: Clickhouse;
  readonly publisher: Publisher;
};

const placeOf = ({ sequence, time, headers }: StoredMessage) => ({
  sequence,
  time,
  serial: readSerial(headers.get(serialHeader)),
});

export const createKeptMessages = (
  bus: Bus,
  { clickhouse, publisher }: KeptMessagesOptions,
): KeptMessages => {
  const reader = createStreamReader(bus);

  const pageUpTo = async (stream: string, from: number, floor: number) => {
    const { entries, next } = await reader.readForwards(stream, { fromSequence: from, limit: pageMessages });
    const within = entries.filter(({ sequence }) => sequence <= floor);
    return { entries: within, next: next === undefined || next > floor ? undefined : next };
  };

  /** The messages of a page that are settled; those before the first one that is not go together. */
  const removePage = async (
    stream: string,
    entries: readonly StoredMessage[],
    isFirst: boolean,
  ): Promise<{ removed: number; stuck: number }> => {
    const settled = await settledAmong(clickhouse, stream, entries.map(placeOf));
    const others = entries.findIndex(({ sequence }) => !settled.has(sequence));
    const leading = !isFirst ? 0 : others === -1 ? entries.length : others;
    const last = entries[leading - 1];
    let removed = last === undefined ? 0 : await removeUpTo(bus, stream, last.sequence);
    for (const { sequence } of entries.slice(leading))
      if (settled.has(sequence) && (await removeOne(bus, stream, sequence))) removed++;
    return { removed, stuck: entries.length - settled.size };
  };

  return {
    removeSettled: async (stream, first, from, floor) => {
      // Only with nothing but settled messages before it may a page be removed by its last sequence.
      const isFromFirst = (from ?? 1) <= first;
      let next: number | undefined = Math.max(from ?? 1, first);
      let removed = 0;
      let stuck = 0;
      for (let pages = 0; next !== undefined && next <= floor && pages < pagesMax; pages++) {
        const page = await pageUpTo(stream, next, floor);
        const part = await removePage(stream, page.entries, isFromFirst && stuck === 0);
        removed += part.removed;
        stuck += part.stuck;
        next = page.next;
      }
      return { removed, stuck, next: next !== undefined && next <= floor ? next : undefined };
    },
    publishAgain: async (stream, floor) => {
      const { entries } = await pageUpTo(stream, 1, floor);
      let last = 0;
      for (const { sequence, subject, time, headers, payload } of entries) {
        const version = Number(headers.get(envelopeVersionHeader) ?? envelopeVersion);
        await publisher.publish(subject, `lk:${sequence}:${time}`, payload, version);
        last = sequence;
      }
      return last === 0 ? 0 : removeUpTo(bus, stream, last);
    },
  };
};
