import { type SpanTimePolicy, validateSpanInstant } from '../../model/span-time.ts';
import { type ByteSource, sourceOf } from '../native/bytes.ts';
import type { Column, NamedColumn } from '../native/column.ts';
import { ArrayColumn } from '../native/nested-columns.ts';
import { WordColumn } from '../native/number-columns.ts';
import { nameItemColumn } from '../native/omitted-columns.ts';
import type { SpanColumnName } from '../native/span-columns.ts';
import { LowTextColumn, TextColumn } from '../native/text-columns.ts';
import { AttributeWriter } from './attribute-writer.ts';
import { endArray, ItemBlock } from './item-block.ts';
import { pushTime } from './numbers.ts';
import type { ReadState } from './read-state.ts';
import { idPlaces, type SpanSlots } from './span-slots.ts';

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

const named = (name: SpanColumnName, column: Column): NamedColumn => nameItemColumn(name, column);

/** The columns of spans. */
export class SpanBlock extends ItemBlock {
  private events = 0;
  private links = 0;

  private readonly traceId = new TextColumn();
  private readonly spanId = new TextColumn();
  private readonly parentSpanId = new TextColumn();
  private readonly traceState = new TextColumn(this.tally);
  private readonly spanName = new LowTextColumn(this.tally);
  private readonly spanKind = new EnumColumn(kindNames);
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

  /** Scope and resource repeat, so they are sent by number where the table has String: ClickHouse casts them. */
  private readonly spanColumns: readonly NamedColumn[] = [
    named('Timestamp', this.timestamp),
    named('TraceId', this.traceId),
    named('SpanId', this.spanId),
    named('ParentSpanId', this.parentSpanId),
    named('TraceState', this.traceState),
    named('SpanName', this.spanName),
    named('SpanKind', this.spanKind),
    named('ServiceName', this.serviceName.column),
    named('ResourceAttributes', this.resource.column),
    named('ScopeName', this.scopeName.column),
    named('ScopeVersion', this.scopeVersion.column),
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

  protected get columns(): readonly NamedColumn[] {
    return [
      ...this.spanColumns,
      // A column that a block does not send is filled with empty arrays, and most spans have neither.
      ...(this.events > 0 ? this.eventColumns : []),
      ...(this.links > 0 ? this.linkColumns : []),
    ];
  }

  protected appendItem(state: ReadState): void {
    const { span } = state;
    this.appendTimes(span);
    this.traceId.push(span.ids, idPlaces.trace, idPlaces.span);
    this.spanId.push(span.ids, idPlaces.span, idPlaces.parent);
    if (span.hasParent) this.parentSpanId.push(span.ids, idPlaces.parent, idPlaces.end);
    else this.parentSpanId.pushEmpty();
    this.pushText(this.traceState, state, span.stateStart, span.stateEnd);
    this.pushText(this.spanName, state, span.nameStart, span.nameEnd);
    this.spanKind.pushName(span.kind);
    this.statusCode.pushName(span.statusCode);
    this.pushText(this.statusMessage, state, span.messageStart, span.messageEnd);
    this.attributes.append(state, span.attributes, 0, span.attributes.count);
    this.tally.cutValues += span.cutValues;
    if (span.eventCount > 0 || this.events > 0) this.appendEvents(state);
    if (span.linkCount > 0 || this.links > 0) this.appendLinks(state);
  }

  protected clearItems(): void {
    this.events = this.links = 0;
    for (const columns of [this.spanColumns, this.eventColumns, this.linkColumns])
      for (const { column } of columns) column.clear();
    for (const writer of [this.attributes, this.eventAttributes, this.linkAttributes]) writer.clear();
  }

  private appendTimes({ start, end }: SpanSlots): void {
    this.appendTime(start);
    const longer = end.rest < start.rest ? 1 : 0;
    pushTime(this.duration, end.millis - start.millis - longer, end.rest - start.rest + longer * 1_000_000);
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
