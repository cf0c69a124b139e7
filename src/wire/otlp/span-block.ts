import { type SpanTimePolicy, validateSpanInstant } from '../../model/span-time.ts';
import { type ByteSource, sourceOf } from '../native/bytes.ts';
import {
  ArrayColumn,
  type Column,
  ConstantColumn,
  encodeBlock,
  LowTextColumn,
  MapColumn,
  type NamedColumn,
  nameColumn,
  TextColumn,
  WordColumn,
} from '../native/columns.ts';
import type { SpanColumnName } from '../native/span-columns.ts';
import { AttributeWriter } from './attribute-writer.ts';
import { pushTime, setInteger, timeText } from './numbers.ts';
import { PlaceReader, type SpanTally } from './place.ts';
import type { ResourceRow } from './resource-row.ts';
import { idPlaces, type ReadState } from './span-slots.ts';
import type { ItemsOwner, ItemsPart } from './types.ts';

const kindNames = ['Unspecified', 'Internal', 'Server', 'Client', 'Producer', 'Consumer'];
const statusNames = ['Unset', 'Ok', 'Error'];

/** An event may lie anywhere in time that the database holds: windows are for spans. */
const anyTime: SpanTimePolicy = { aheadMsMax: undefined, ageMsMax: undefined };

/** A few texts of an enum, numbered in a column's dictionary when they first occur in a block. */
class EnumColumn extends LowTextColumn {
  private readonly names: readonly ByteSource[];
  private readonly numbers: Int32Array;

  constructor(names: readonly string[]) {
    super();
    this.names = names.map(sourceOf);
    this.numbers = new Int32Array(names.length).fill(-1);
  }

  pushName(name: number): void {
    let index = this.numbers[name] ?? 0;
    if (index < 0) {
      const text = this.names[name] ?? sourceOf('');
      index = this.dictionary.indexOf(text, 0, text.bytes.length);
      this.numbers[name] = index;
    }
    this.pushIndex(index);
  }

  override clear(): void {
    super.clear();
    this.numbers.fill(-1);
  }
}

/** Ends the array of a row; those of the rows before the first that has items are empty. */
const endArray = (offsets: WordColumn, row: number, items: number): void => {
  while (offsets.rows < row) offsets.push(0, 0);
  offsets.push(items, 0);
};

const named = (name: SpanColumnName, column: Column): NamedColumn => nameColumn(name, column);

/** The columns of one part under construction. `clear` prepares it for another part. */
export class SpanBlock {
  owner: ItemsOwner | undefined;
  day = 0;
  rows = 0;
  /** The sum of the ordinals of the rows, kept by the caller of `append`. */
  ordinals = 0;
  /** The most rows it ever had: so large are its buffers. */
  rowsPeak = 0;
  /** The counts of the rows so far. */
  readonly tally: SpanTally = {
    repairs: 0,
    cutValues: 0,
    repeatedKeys: 0,
    eventsDropped: 0,
    linksDropped: 0,
  };
  private events = 0;
  private links = 0;
  private minMillis = Number.POSITIVE_INFINITY;
  private minRest = 0;
  private maxMillis = 0;
  private maxRest = 0;
  private readonly place = new PlaceReader(this.tally);

  // The values that all rows of one resource and one scope share, as numbers in this block's dictionaries.
  private resourceNumber = 0;
  private scopeNumber = 0;
  private readonly resourceKeys: number[] = [];
  private readonly resourceValues: number[] = [];
  private resourceCuts = 0;
  private scopeCuts = 0;
  private serviceIndex = 0;
  private scopeNameIndex = 0;
  private scopeVersionIndex = 0;

  private readonly timestamp = new WordColumn('DateTime64(9)');
  private readonly traceId = new TextColumn();
  private readonly spanId = new TextColumn();
  private readonly parentSpanId = new TextColumn();
  private readonly traceState = new TextColumn(this.tally);
  private readonly spanName = new LowTextColumn(this.tally);
  private readonly spanKind = new EnumColumn(kindNames);
  private readonly serviceName = new LowTextColumn(this.tally);
  private readonly resource = new MapColumn(new LowTextColumn(this.tally), new LowTextColumn(this.tally));
  private readonly scopeName = new LowTextColumn(this.tally);
  private readonly scopeVersion = new LowTextColumn(this.tally);
  private readonly attributes = new AttributeWriter(this.tally);
  private readonly duration = new WordColumn('UInt64');
  private readonly statusCode = new EnumColumn(statusNames);
  private readonly statusMessage = new TextColumn(this.tally);
  private readonly eventOffsets = new WordColumn('UInt64');
  private readonly eventTimes = new WordColumn('DateTime64(9)');
  private readonly eventNames = new LowTextColumn(this.tally);
  private readonly eventAttributes = new AttributeWriter(this.tally);
  private readonly linkOffsets = new WordColumn('UInt64');
  private readonly linkTraceIds = new TextColumn();
  private readonly linkSpanIds = new TextColumn();
  private readonly linkStates = new TextColumn(this.tally);
  private readonly linkAttributes = new AttributeWriter(this.tally);
  private readonly uid = new WordColumn('UInt64');
  private readonly appId = new ConstantColumn('Int64');
  private readonly bizId = new ConstantColumn('Int64');
  private readonly arrivedAt = new ConstantColumn('DateTime64(3)');

  /** Scope and resource repeat, so they are sent by number where the table has String: ClickHouse casts them. */
  private readonly columns: readonly NamedColumn[] = [
    named('Timestamp', this.timestamp),
    named('TraceId', this.traceId),
    named('SpanId', this.spanId),
    named('ParentSpanId', this.parentSpanId),
    named('TraceState', this.traceState),
    named('SpanName', this.spanName),
    named('SpanKind', this.spanKind),
    named('ServiceName', this.serviceName),
    named('ResourceAttributes', this.resource),
    named('ScopeName', this.scopeName),
    named('ScopeVersion', this.scopeVersion),
    named('SpanAttributes', this.attributes.column),
    named('Duration', this.duration),
    named('StatusCode', this.statusCode),
    named('StatusMessage', this.statusMessage),
    named('uid', this.uid),
    named('AppId', this.appId),
    named('BizId', this.bizId),
    named('ArrivedAt', this.arrivedAt),
  ];
  private readonly eventColumns: readonly NamedColumn[] = [
    named('Events.Timestamp', new ArrayColumn(this.eventTimes, this.eventOffsets)),
    named('Events.Name', new ArrayColumn(this.eventNames, this.eventOffsets)),
    named('Events.Attributes', new ArrayColumn(this.eventAttributes.column, this.eventOffsets)),
  ];
  private readonly linkColumns: readonly NamedColumn[] = [
    named('Links.TraceId', new ArrayColumn(this.linkTraceIds, this.linkOffsets)),
    named('Links.SpanId', new ArrayColumn(this.linkSpanIds, this.linkOffsets)),
    named('Links.TraceState', new ArrayColumn(this.linkStates, this.linkOffsets)),
    named('Links.Attributes', new ArrayColumn(this.linkAttributes.column, this.linkOffsets)),
  ];

  begin(owner: ItemsOwner, day: number, arrivedAt: number): void {
    this.owner = owner;
    this.day = day;
    setInteger(this.appId, owner.appId);
    setInteger(this.bizId, owner.bizId);
    setInteger(this.arrivedAt, arrivedAt);
  }

  /** Appends the current span, whose times are valid, as the row with this uid. */
  append(state: ReadState, row: ResourceRow, uidLow: number, uidHigh: number): void {
    const { span } = state;
    if (state.owner.resourceNumber !== this.resourceNumber) this.takeResource(state, row);
    if (state.owner.scopeNumber !== this.scopeNumber) this.takeScope(state);
    this.appendTimes(state);
    this.traceId.push(span.ids, idPlaces.trace, idPlaces.span);
    this.spanId.push(span.ids, idPlaces.span, idPlaces.parent);
    if (span.hasParent) this.parentSpanId.push(span.ids, idPlaces.parent, idPlaces.end);
    else this.parentSpanId.pushEmpty();
    this.pushText(this.traceState, state, span.stateStart, span.stateEnd);
    this.pushText(this.spanName, state, span.nameStart, span.nameEnd);
    this.spanKind.pushName(span.kind);
    this.statusCode.pushName(span.statusCode);
    this.pushText(this.statusMessage, state, span.messageStart, span.messageEnd);
    this.appendShared();
    this.attributes.append(state, span.attributes, 0, span.attributes.count);
    this.tally.cutValues += span.cutValues + this.resourceCuts + this.scopeCuts;
    if (span.eventCount > 0 || this.events > 0) this.appendEvents(state);
    if (span.linkCount > 0 || this.links > 0) this.appendLinks(state);
    this.uid.push(uidLow, uidHigh);
    this.rows++;
  }

  /** The part of the rows so far. */
  finish(): ItemsPart {
    const { owner } = this;
    this.appId.rows = this.bizId.rows = this.arrivedAt.rows = this.rows;
    const columns = [
      ...this.columns,
      // A column that a block does not send is filled with empty arrays, and most spans have neither.
      ...(this.events > 0 ? this.eventColumns : []),
      ...(this.links > 0 ? this.linkColumns : []),
    ];
    return {
      appId: owner?.appId ?? 0,
      bizId: owner?.bizId ?? 0,
      day: this.day,
      rows: this.rows,
      ordinals: this.ordinals,
      timeMin: timeText(this.minMillis, this.minRest),
      timeMax: timeText(this.maxMillis, this.maxRest),
      block: encodeBlock(columns, this.rows),
    };
  }

  clear(): void {
    const { tally } = this;
    this.rowsPeak = Math.max(this.rowsPeak, this.rows);
    this.owner = undefined;
    this.rows = this.ordinals = this.events = this.links = this.resourceNumber = this.scopeNumber = 0;
    this.minMillis = Number.POSITIVE_INFINITY;
    this.maxMillis = 0;
    tally.repairs = tally.cutValues = tally.repeatedKeys = tally.eventsDropped = tally.linksDropped = 0;
    for (const columns of [this.columns, this.eventColumns, this.linkColumns])
      for (const { column } of columns) column.clear();
    for (const writer of [this.attributes, this.eventAttributes, this.linkAttributes]) writer.clear();
  }

  private pushText(column: TextColumn | LowTextColumn, state: ReadState, start: number, end: number): void {
    const { place } = this;
    place.locate(state, start, end);
    column.push(place.source, place.start, place.end);
  }

  private appendTimes({ span: { start, end } }: ReadState): void {
    const { millis, rest } = start;
    pushTime(this.timestamp, millis, rest);
    const longer = end.rest < rest ? 1 : 0;
    pushTime(this.duration, end.millis - millis - longer, end.rest - rest + longer * 1_000_000);
    if (millis < this.minMillis || (millis === this.minMillis && rest < this.minRest)) {
      this.minMillis = millis;
      this.minRest = rest;
    }
    if (millis > this.maxMillis || (millis === this.maxMillis && rest > this.maxRest)) {
      this.maxMillis = millis;
      this.maxRest = rest;
    }
  }

  private appendShared(): void {
    const { resource, resourceKeys, resourceValues } = this;
    this.serviceName.pushIndex(this.serviceIndex);
    this.scopeName.pushIndex(this.scopeNameIndex);
    this.scopeVersion.pushIndex(this.scopeVersionIndex);
    resource.keys.pushIndexes(resourceKeys);
    resource.values.pushIndexes(resourceValues);
    resource.endRow(resourceKeys.length);
  }

  private numberOf(column: LowTextColumn, state: ReadState, start: number, end: number): number {
    const { place } = this;
    place.locate(state, start, end);
    return column.dictionary.indexOf(place.source, place.start, place.end);
  }

  private takeResource(state: ReadState, row: ResourceRow): void {
    const { attributes } = row;
    const { resourceKeys, resourceValues, tally } = this;
    const cutBefore = tally.cutValues;
    this.resourceNumber = state.owner.resourceNumber;
    resourceKeys.length = resourceValues.length = 0;
    const { count, keyStarts, keyEnds, valueStarts, valueEnds } = attributes;
    const keys: number[] = [];
    for (let index = 0; index < count; index++)
      keys.push(this.numberOf(this.resource.keys, state, keyStarts[index] ?? 0, keyEnds[index] ?? 0));
    for (const [index, key] of keys.entries()) {
      if (keys.includes(key, index + 1)) {
        tally.repeatedKeys++;
        continue;
      }
      resourceKeys.push(key);
      resourceValues.push(
        this.numberOf(this.resource.values, state, valueStarts[index] ?? 0, valueEnds[index] ?? 0),
      );
    }
    this.serviceIndex = this.numberOf(this.serviceName, state, row.serviceStart, row.serviceEnd);
    // Each row counts them for itself.
    this.resourceCuts = tally.cutValues - cutBefore + state.owner.resourceCutValues;
    tally.cutValues = cutBefore;
  }

  private takeScope(state: ReadState): void {
    const { owner } = state;
    const { tally } = this;
    const cutBefore = tally.cutValues;
    this.scopeNumber = owner.scopeNumber;
    this.scopeNameIndex = this.numberOf(this.scopeName, state, owner.scopeNameStart, owner.scopeNameEnd);
    this.scopeVersionIndex = this.numberOf(
      this.scopeVersion,
      state,
      owner.scopeVersionStart,
      owner.scopeVersionEnd,
    );
    this.scopeCuts = tally.cutValues - cutBefore;
    tally.cutValues = cutBefore;
  }

  private appendEvents(state: ReadState): void {
    const { span } = state;
    for (let index = 0; index < span.eventCount; index++) {
      const event = span.events[index];
      if (event === undefined) continue;
      const { millis, rest } = event.time;
      if (validateSpanInstant(millis, rest, 0, anyTime) !== undefined) {
        this.tally.eventsDropped++;
        continue;
      }
      pushTime(this.eventTimes, millis, rest);
      this.pushText(this.eventNames, state, event.nameStart, event.nameEnd);
      this.eventAttributes.append(state, span.eventAttributes, event.attributesFrom, event.attributesTo);
      this.events++;
    }
    endArray(this.eventOffsets, this.rows, this.events);
  }

  private appendLinks(state: ReadState): void {
    const { span } = state;
    for (let index = 0; index < span.linkCount; index++) {
      const link = span.links[index];
      if (link?.isValid !== true) {
        this.tally.linksDropped++;
        continue;
      }
      this.linkTraceIds.push(link.ids, idPlaces.trace, idPlaces.span);
      this.linkSpanIds.push(link.ids, idPlaces.span, idPlaces.parent);
      this.pushText(this.linkStates, state, link.stateStart, link.stateEnd);
      this.linkAttributes.append(state, span.linkAttributes, link.attributesFrom, link.attributesTo);
      this.links++;
    }
    endArray(this.linkOffsets, this.rows, this.links);
  }
}
