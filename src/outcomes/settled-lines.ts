import type { Pipeline } from '../model/signals.ts';
import type { MessageSerial } from '../wire/message-serial.ts';
import { type OwnerDays, relativeSums } from '../wire/part-days.ts';
import type { OutcomeRow, SettledLine } from './rows.ts';
import type { Tally } from './tally.ts';
import { minuteText, momentText } from './times.ts';

/** The place of a message in its stream and in the publishers' book. */
export type MessagePlace = {
  readonly stream: string;
  readonly sequence: number;
  readonly serial: MessageSerial | undefined;
  /** Ms since the epoch; 0 where it cannot be read. */
  readonly arrivedAt: number;
  readonly redrive: number;
};

/** The dead letters that a settlement made: owner -> ordinal (-1 for a whole message) -> items. */
export type Letters = ReadonlyMap<number, ReadonlyMap<number, number>>;

/** What a line holds beside the record of its owner; each by data id or application. */
export type LineDetails = {
  readonly tally: Tally;
  readonly letters: Letters;
  readonly days?: ReadonlyMap<number, OwnerDays> | undefined;
};

const lettersOf = (made: ReadonlyMap<number, number> | undefined): Partial<SettledLine> =>
  made === undefined || made.size === 0
    ? {}
    : { letters: [...made.keys()], letter_items: [...made.values()] };

const daysOf = (taken: OwnerDays | undefined, base: string): Partial<SettledLine> =>
  taken === undefined || taken.days.length === 0
    ? {}
    : { days: taken.days, day_rows: taken.rows, day_sums: relativeSums(taken, base) };

const itemsOf = (counts: ReadonlyMap<string, number> | undefined): number => {
  let items = 0;
  for (const count of counts?.values() ?? []) items += count;
  return items;
};

/** The record of a message without an owner: for its place alone. */
const ownerless = (pipeline: Pipeline, { arrivedAt, redrive }: MessagePlace, now: number): OutcomeRow => ({
  pipeline,
  data_id: 0,
  app_id: 0,
  base: '0',
  first: 0,
  ordinal: -1,
  redrive,
  minute: minuteText(arrivedAt),
  received: 0,
  outcomes: {},
  at: momentText(now),
});

/**
 * The lines of one message in the settlers' book: its records with its place, or one line with owner 0 where it has none. The same in
 * every delivery but for `at`. `now` in ms.
 */
export const settledLines = (
  pipeline: Pipeline,
  records: readonly OutcomeRow[],
  place: MessagePlace,
  { tally, letters, days }: LineDetails,
  now: number,
): SettledLine[] => {
  const { stream, sequence, serial, arrivedAt } = place;
  const rows = records.length === 0 ? [ownerless(pipeline, place, now)] : records;
  const common = {
    stream,
    life: serial?.life ?? 0,
    serial: serial?.serial ?? 0,
    sent: minuteText(serial === undefined ? arrivedAt : serial.minute * 60_000),
    sequence,
    owners: rows.length,
  };
  return rows.map((row) => {
    const owner = pipeline === 'metrics' ? row.data_id : row.app_id;
    const items = records.length === 0 ? 0 : itemsOf(tally.get(owner));
    return {
      ...row,
      ...common,
      items,
      ...lettersOf(letters.get(owner)),
      ...daysOf(days?.get(owner), row.base),
    };
  });
};
