import { z } from 'zod';
import { type Clickhouse, database } from '../stores/clickhouse/client.ts';
import type { MessageSerial } from '../wire/message-serial.ts';

/** A message in its stream. */
export type PlacedMessage = {
  readonly sequence: number;
  readonly serial: MessageSerial | undefined;
  /** When the stream stored it, ms since the epoch. */
  readonly time: number;
};

const placeRow = z.object({
  sequence: z.coerce.number(),
  life: z.number(),
  serial: z.coerce.number(),
  owners: z.number(),
  lines: z.coerce.number(),
  settled_at: z.coerce.number(),
});

type Place = z.output<typeof placeRow>;

const statement = `SELECT sequence, life, serial, max(owners) AS owners, uniqExact(data_id, app_id) AS lines,
    toUnixTimestamp(max(at)) AS settled_at
  FROM ${database}.ingest_settled
  WHERE stream = {stream:String} AND sequence IN {sequences:Array(UInt64)}
  GROUP BY sequence, life, serial`;

/**
 * A stream that was created again counts from 1: the line of another message may have the same sequence. The serial tells them apart;
 * of messages without one, a line that is older than the message belongs to another.
 */
const isOf = ({ serial, time }: PlacedMessage, place: Place): boolean =>
  serial === undefined
    ? place.life === 0 && place.settled_at >= Math.floor(time / 1000)
    : place.life === serial.life && place.serial === serial.serial;

/** Sequences of those messages of a stream that have the lines of all their owners in the settlers' book. Throws the Faults of ClickHouse. */
export const settledAmong = async (
  clickhouse: Clickhouse,
  stream: string,
  messages: readonly PlacedMessage[],
): Promise<ReadonlySet<number>> => {
  const settled = new Set<number>();
  if (messages.length === 0) return settled;
  const sequences = messages.map(({ sequence }) => sequence);
  const places = await clickhouse.rows(placeRow, statement, { params: { stream, sequences } });
  const bySequence = Map.groupBy(places, ({ sequence }) => sequence);
  for (const message of messages) {
    const found = bySequence.get(message.sequence)?.find((place) => isOf(message, place));
    if (found !== undefined && found.lines >= found.owners) settled.add(message.sequence);
  }
  return settled;
};
