import type { Column, NamedColumn } from '../native/column.ts';
import type { LogColumnName } from '../native/log-columns.ts';
import { NumberColumn, WordColumn } from '../native/number-columns.ts';
import { nameItemColumn } from '../native/omitted-columns.ts';
import { LowTextColumn, TextColumn } from '../native/text-columns.ts';
import { AttributeWriter } from './attribute-writer.ts';
import { ItemBlock, pushAnyTime, SharedAttributes, SharedText } from './item-block.ts';
import { type LogSlots, logIdPlaces } from './log-slots.ts';
import type { ReadState } from './read-state.ts';
import type { ResourceRow } from './resource-row.ts';

const named = (name: LogColumnName, column: Column): NamedColumn => nameItemColumn(name, column);

/** The columns of log records. */
export class LogBlock extends ItemBlock {
  private readonly timestampTime = new NumberColumn('DateTime');
  private readonly traceId = new TextColumn();
  private readonly spanId = new TextColumn();
  private readonly traceFlags = new NumberColumn('UInt8');
  private readonly severityText = new LowTextColumn(this.tally);
  private readonly severityNumber = new NumberColumn('UInt8');
  private readonly body = new TextColumn(this.tally);
  private readonly resourceSchema = new SharedText(this.tally);
  private readonly scopeSchema = new SharedText(this.tally);
  private readonly scopeAttributes = new SharedAttributes(this.tally);
  private readonly attributes = new AttributeWriter(this.tally);
  private readonly eventName = new TextColumn(this.tally);
  private readonly observed = new WordColumn('DateTime64(9)');

  /** Scope and resource repeat, so they are sent by number where the table has String: ClickHouse casts them. */
  protected readonly columns: readonly NamedColumn[] = [
    named('Timestamp', this.timestamp),
    named('TimestampTime', this.timestampTime),
    named('TraceId', this.traceId),
    named('SpanId', this.spanId),
    named('TraceFlags', this.traceFlags),
    named('SeverityText', this.severityText),
    named('SeverityNumber', this.severityNumber),
    named('ServiceName', this.serviceName.column),
    named('Body', this.body),
    named('ResourceSchemaUrl', this.resourceSchema.column),
    named('ResourceAttributes', this.resource.column),
    named('ScopeSchemaUrl', this.scopeSchema.column),
    named('ScopeName', this.scopeName.column),
    named('ScopeVersion', this.scopeVersion.column),
    named('ScopeAttributes', this.scopeAttributes.column),
    named('LogAttributes', this.attributes.column),
    named('EventName', this.eventName),
    named('ObservedTimestamp', this.observed),
    named('uid', this.uid),
    named('AppId', this.appId),
    named('BizId', this.bizId),
    named('ArrivedAt', this.arrivedAt),
  ];

  protected appendItem(state: ReadState): void {
    const { record } = state;
    this.appendTimes(record);
    if (record.hasTrace) this.traceId.push(record.ids, logIdPlaces.trace, logIdPlaces.span);
    else this.traceId.pushEmpty();
    if (record.hasSpan) this.spanId.push(record.ids, logIdPlaces.span, logIdPlaces.end);
    else this.spanId.pushEmpty();
    this.traceFlags.push(record.flags & 0xff);
    this.severityNumber.push(record.severityNumber);
    this.pushText(this.severityText, state, record.severityStart, record.severityEnd);
    this.pushText(this.body, state, record.bodyStart, record.bodyEnd);
    this.pushText(this.eventName, state, record.eventStart, record.eventEnd);
    this.attributes.append(state, record.attributes, 0, record.attributes.count);
    this.tally.cutValues += record.cutValues;
  }

  protected clearItems(): void {
    for (const { column } of this.columns) column.clear();
    this.attributes.clear();
  }

  protected override appendShared(rows: number): void {
    super.appendShared(rows);
    this.resourceSchema.appendRows(rows);
    this.scopeSchema.appendRows(rows);
    this.scopeAttributes.appendRows(rows);
  }

  protected override numberResource(state: ReadState, row: ResourceRow): void {
    super.numberResource(state, row);
    this.resourceSchema.take(state, state.owner.resourceSchemaStart, state.owner.resourceSchemaEnd);
  }

  protected override numberScope(state: ReadState): void {
    super.numberScope(state);
    this.scopeSchema.take(state, state.owner.scopeSchemaStart, state.owner.scopeSchemaEnd);
    this.scopeAttributes.take(state, state.owner.scopeAttributes);
  }

  private appendTimes({ instant, observed }: LogSlots): void {
    this.appendTime(instant);
    this.timestampTime.push(Math.floor(instant.millis / 1000));
    pushAnyTime(this.observed, observed);
  }
}
