import type { ItemTableName } from '../../model/signals.ts';
import type { NamedColumn } from '../native/column.ts';
import { encodeBlock } from '../native/encode-block.ts';
import { MapColumn } from '../native/nested-columns.ts';
import { ConstantColumn, WordColumn } from '../native/number-columns.ts';
import { LowTextColumn, type TextColumn } from '../native/text-columns.ts';
import { pushTime, setInteger, timeText } from './numbers.ts';
import { type ItemTally, PlaceReader } from './place.ts';
import type { ReadState } from './read-state.ts';
import type { ResourceRow } from './resource-row.ts';
import type { AttributeSlots, TimeSlot } from './slots.ts';
import type { ItemsOwner, ItemsPart } from './types.ts';

/** Attributes that many rows share: numbered once in the dictionaries of their column; of equal keys the last one stays. */
export class SharedAttributes {
  readonly column: MapColumn<LowTextColumn, LowTextColumn>;
  private readonly tally: ItemTally;
  private readonly place: PlaceReader;
  private readonly keys: number[] = [];
  private readonly values: number[] = [];

  constructor(tally: ItemTally) {
    this.tally = tally;
    this.place = new PlaceReader(tally);
    this.column = new MapColumn(new LowTextColumn(tally), new LowTextColumn(tally));
  }

  /** The next rows have the attributes of this list. */
  take(state: ReadState, { count, keyStarts, keyEnds, valueStarts, valueEnds }: AttributeSlots): void {
    const { column } = this;
    this.keys.length = this.values.length = 0;
    const keys: number[] = [];
    for (let index = 0; index < count; index++)
      keys.push(this.numberOf(column.keys, state, keyStarts[index] ?? 0, keyEnds[index] ?? 0));
    for (const [index, key] of keys.entries()) {
      if (keys.includes(key, index + 1)) {
        this.tally.repeatedKeys++;
        continue;
      }
      this.keys.push(key);
      this.values.push(this.numberOf(column.values, state, valueStarts[index] ?? 0, valueEnds[index] ?? 0));
    }
  }

  appendRows(rows: number): void {
    const { column, keys } = this;
    column.keys.pushIndexes(keys, rows);
    column.values.pushIndexes(this.values, rows);
    column.endRows(keys.length, rows);
  }

  private numberOf(column: LowTextColumn, state: ReadState, start: number, end: number): number {
    const { place } = this;
    place.locate(state, start, end);
    return column.dictionary.indexOf(place.source, place.start, place.end);
  }
}

/** A text that many rows share. */
export class SharedText {
  readonly column: LowTextColumn;
  private readonly place: PlaceReader;
  private index = 0;

  constructor(tally: ItemTally) {
    this.column = new LowTextColumn(tally);
    this.place = new PlaceReader(tally);
  }

  /** The next rows have this text. */
  take(state: ReadState, start: number, end: number): void {
    const { place } = this;
    place.locate(state, start, end);
    this.index = this.column.dictionary.indexOf(place.source, place.start, place.end);
  }

  appendRows(rows: number): void {
    this.column.pushRows(this.index, rows);
  }
}

/** DateTime64(9) is 64 bits of nanoseconds: it ends in the year 2262. */
const clickhouseMillisEnd = Math.floor(2 ** 63 / 1e6);

/** Appends a time that decides nothing: 0 for one that the database cannot hold. */
export const pushAnyTime = (column: WordColumn, { millis, rest }: TimeSlot): void => {
  // Not a number in a time that is none.
  if (millis < clickhouseMillisEnd) pushTime(column, millis, rest);
  else column.push(0, 0);
};

/** Ends the array of a row; those of the rows before the first that has items are empty. */
export const endArray = (offsets: WordColumn, row: number, items: number): void => {
  while (offsets.rows < row) offsets.push(0, 0);
  offsets.push(items, 0);
};

/** The columns of one part under construction, those of a signal with those that every signal has. `clear` prepares it for another part. */
export abstract class ItemBlock {
  /** The place of its table in the list of its signal. */
  readonly table: number;
  private readonly itemTable: ItemTableName | undefined;
  owner: ItemsOwner | undefined;
  day = 0;
  rows = 0;
  /** The sum of the ordinals of the rows, kept by the caller of `append`. */
  ordinals = 0;
  /** The most rows it ever had: so large are its buffers. */
  rowsPeak = 0;
  /** The counts of the rows so far. */
  readonly tally: ItemTally = {
    repairs: 0,
    cutValues: 0,
    bytesMax: 0,
    repeatedKeys: 0,
    eventsDropped: 0,
    linksDropped: 0,
  };
  private minMillis = Number.POSITIVE_INFINITY;
  private minRest = 0;
  private maxMillis = 0;
  private maxRest = 0;
  private readonly place = new PlaceReader(this.tally);

  // The values that all rows of one resource and one scope share, as numbers in this block's dictionaries.
  private resourceNumber = 0;
  private scopeNumber = 0;
  private resourceCuts = 0;
  private scopeCuts = 0;
  /** The rows whose shared values are not appended yet: those of the current resource, scope and metric. */
  private sharedRows = 0;

  /** The times that decide the days of the rows. */
  protected readonly timestamp = new WordColumn('DateTime64(9)');
  protected readonly serviceName = new SharedText(this.tally);
  protected readonly resource = new SharedAttributes(this.tally);
  protected readonly scopeName = new SharedText(this.tally);
  protected readonly scopeVersion = new SharedText(this.tally);
  protected readonly uid = new WordColumn('UInt64');
  protected readonly appId = new ConstantColumn('Int64');
  protected readonly bizId = new ConstantColumn('Int64');
  protected readonly arrivedAt = new ConstantColumn('DateTime64(3)');

  /** `itemTable` is the name of its table, where the signal has several. */
  constructor(table = 0, itemTable?: ItemTableName) {
    this.table = table;
    this.itemTable = itemTable;
  }

  /** Appends the values of the current item in the columns of its signal. */
  protected abstract appendItem(state: ReadState): void;

  /** The columns of the block in their order. */
  protected abstract readonly columns: readonly NamedColumn[];

  /** Clears the columns of the signal. */
  protected abstract clearItems(): void;

  begin(owner: ItemsOwner, day: number, arrivedAt: number): void {
    this.owner = owner;
    this.day = day;
    setInteger(this.appId, owner.appId);
    setInteger(this.bizId, owner.bizId);
    setInteger(this.arrivedAt, arrivedAt);
  }

  /** Appends the current item, whose times are valid, as the row with this uid. */
  append(state: ReadState, row: ResourceRow, uidLow: number, uidHigh: number): void {
    if (state.owner.resourceNumber !== this.resourceNumber) this.takeResource(state, row);
    if (state.owner.scopeNumber !== this.scopeNumber) this.takeScope(state);
    this.appendItem(state);
    this.sharedRows++;
    this.tally.cutValues += this.resourceCuts + this.scopeCuts;
    this.uid.push(uidLow, uidHigh);
    this.rows++;
  }

  /** The part of the rows so far. */
  finish(): ItemsPart {
    const { owner } = this;
    this.endShared();
    this.appId.rows = this.bizId.rows = this.arrivedAt.rows = this.rows;
    return {
      appId: owner?.appId ?? 0,
      bizId: owner?.bizId ?? 0,
      day: this.day,
      rows: this.rows,
      ordinals: this.ordinals,
      timeMin: timeText(this.minMillis, this.minRest),
      timeMax: timeText(this.maxMillis, this.maxRest),
      block: encodeBlock(this.columns, this.rows),
      ...(this.itemTable === undefined ? {} : { itemTable: this.itemTable }),
    };
  }

  clear(): void {
    const { tally } = this;
    this.rowsPeak = Math.max(this.rowsPeak, this.rows);
    this.owner = undefined;
    this.rows = this.ordinals = this.sharedRows = this.resourceNumber = this.scopeNumber = 0;
    this.minMillis = Number.POSITIVE_INFINITY;
    this.maxMillis = 0;
    tally.repairs = tally.cutValues = tally.repeatedKeys = tally.eventsDropped = tally.linksDropped = 0;
    this.clearItems();
  }

  protected pushText(column: TextColumn | LowTextColumn, state: ReadState, start: number, end: number): void {
    const { place } = this;
    place.locate(state, start, end);
    column.push(place.source, place.start, place.end);
  }

  /** Appends the time that decides the day of the row. */
  protected appendTime({ millis, rest }: TimeSlot): void {
    pushTime(this.timestamp, millis, rest);
    if (millis < this.minMillis || (millis === this.minMillis && rest < this.minRest)) {
      this.minMillis = millis;
      this.minRest = rest;
    }
    if (millis > this.maxMillis || (millis === this.maxMillis && rest > this.maxRest)) {
      this.maxMillis = millis;
      this.maxRest = rest;
    }
  }

  /** To be called before what rows share changes. */
  protected endShared(): void {
    if (this.sharedRows > 0) this.appendShared(this.sharedRows);
    this.sharedRows = 0;
  }

  /** Appends the values that this many rows of one resource and scope share. */
  protected appendShared(rows: number): void {
    this.serviceName.appendRows(rows);
    this.scopeName.appendRows(rows);
    this.scopeVersion.appendRows(rows);
    this.resource.appendRows(rows);
  }

  protected numberResource(state: ReadState, row: ResourceRow): void {
    this.resource.take(state, row.attributes);
    this.serviceName.take(state, row.serviceStart, row.serviceEnd);
  }

  protected numberScope(state: ReadState): void {
    const { owner } = state;
    this.scopeName.take(state, owner.scopeNameStart, owner.scopeNameEnd);
    this.scopeVersion.take(state, owner.scopeVersionStart, owner.scopeVersionEnd);
  }

  private takeResource(state: ReadState, row: ResourceRow): void {
    const { tally } = this;
    const cutBefore = tally.cutValues;
    tally.bytesMax = state.limits.valueBytesMax;
    this.endShared();
    this.resourceNumber = state.owner.resourceNumber;
    this.numberResource(state, row);
    // Each row counts them for itself.
    this.resourceCuts = tally.cutValues - cutBefore + state.owner.resourceCutValues;
    tally.cutValues = cutBefore;
  }

  private takeScope(state: ReadState): void {
    const { tally } = this;
    const cutBefore = tally.cutValues;
    this.endShared();
    this.scopeNumber = state.owner.scopeNumber;
    this.numberScope(state);
    this.scopeCuts = tally.cutValues - cutBefore + state.owner.scopeCutValues;
    tally.cutValues = cutBefore;
  }
}
