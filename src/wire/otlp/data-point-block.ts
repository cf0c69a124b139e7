import { type ItemTableName, signals } from '../../model/signals.ts';
import type { Column, NamedColumn } from '../native/column.ts';
import type { MetricColumnName } from '../native/metric-columns.ts';
import { NumberColumn, WordColumn } from '../native/number-columns.ts';
import { nameItemColumn } from '../native/omitted-columns.ts';
import { AttributeWriter } from './attribute-writer.ts';
import type { DataPointSlots } from './data-point-slots.ts';
import { ExemplarColumns } from './exemplar-columns.ts';
import { ItemBlock, pushAnyTime, SharedAttributes, SharedText } from './item-block.ts';
import type { ReadState } from './read-state.ts';
import type { ResourceRow } from './resource-row.ts';

/** The name of the table of this place. */
const tableOf = (table: number): ItemTableName => {
  const name = signals.otel_metrics.tables[table];
  if (name === undefined) throw new Error(`no kind of metrics has the table ${table}`);
  return name;
};

/** Columns by name. */
export const namedColumns = (
  columns: readonly (readonly [name: MetricColumnName, column: Column])[],
): NamedColumn[] => columns.map(([name, column]) => nameItemColumn(name, column));

/** The columns of data points of one kind: those of every kind, with those of the kind. */
export abstract class DataPointBlock extends ItemBlock {
  protected readonly exemplars = new ExemplarColumns(this.tally);
  private metricNumber = 0;
  private metricCuts = 0;
  private scopeDroppedNow = 0;
  private readonly resourceSchema = new SharedText(this.tally);
  private readonly scopeSchema = new SharedText(this.tally);
  private readonly scopeAttributes = new SharedAttributes(this.tally);
  private readonly scopeDropped = new NumberColumn('UInt32');
  private readonly metricName = new SharedText(this.tally);
  private readonly description = new SharedText(this.tally);
  private readonly unit = new SharedText(this.tally);
  private readonly metadata = new SharedAttributes(this.tally);
  private readonly attributes = new AttributeWriter(this.tally);
  private readonly start = new WordColumn('DateTime64(9)');
  private readonly flags = new NumberColumn('UInt32');

  /** What is the same for many rows is sent by number where the table has String: ClickHouse casts it. */
  private readonly sharedColumns = namedColumns([
    ['ResourceAttributes', this.resource.column],
    ['ResourceSchemaUrl', this.resourceSchema.column],
    ['ScopeName', this.scopeName.column],
    ['ScopeVersion', this.scopeVersion.column],
    ['ScopeAttributes', this.scopeAttributes.column],
    ['ScopeDroppedAttrCount', this.scopeDropped],
    ['ScopeSchemaUrl', this.scopeSchema.column],
    ['ServiceName', this.serviceName.column],
    ['MetricName', this.metricName.column],
    ['MetricDescription', this.description.column],
    ['MetricUnit', this.unit.column],
    ['Attributes', this.attributes.column],
    ['StartTimeUnix', this.start],
    ['TimeUnix', this.timestamp],
    ['Flags', this.flags],
    ['MetricMetadata', this.metadata.column],
    ['uid', this.uid],
    ['AppId', this.appId],
    ['BizId', this.bizId],
    ['ArrivedAt', this.arrivedAt],
  ]);

  /** `table` is the kind of metric. */
  constructor(table: number) {
    super(table, tableOf(table));
  }

  /** The columns of the kind. */
  protected abstract readonly ownColumns: readonly NamedColumn[];

  /** Appends the values of the current point in them. */
  protected abstract appendOwn(point: DataPointSlots): void;

  protected get columns(): readonly NamedColumn[] {
    return [...this.sharedColumns, ...this.ownColumns, ...this.exemplars.columns];
  }

  protected appendItem(state: ReadState): void {
    const { point } = state;
    if (point.metric.number !== this.metricNumber) this.takeMetric(state);
    this.appendTime(point.time);
    pushAnyTime(this.start, point.start);
    this.flags.push(point.flags);
    this.attributes.append(state, point.attributes, 0, point.attributes.count);
    this.tally.cutValues += point.cutValues + this.metricCuts;
    this.exemplars.append(state, this.rows);
    this.appendOwn(point);
  }

  protected clearItems(): void {
    this.metricNumber = 0;
    for (const { column } of [...this.sharedColumns, ...this.ownColumns]) column.clear();
    this.exemplars.clear();
    this.attributes.clear();
  }

  protected override appendShared(rows: number): void {
    super.appendShared(rows);
    this.resourceSchema.appendRows(rows);
    this.scopeSchema.appendRows(rows);
    this.scopeAttributes.appendRows(rows);
    for (let row = 0; row < rows; row++) this.scopeDropped.push(this.scopeDroppedNow);
    this.metricName.appendRows(rows);
    this.description.appendRows(rows);
    this.unit.appendRows(rows);
    this.metadata.appendRows(rows);
  }

  protected override numberResource(state: ReadState, row: ResourceRow): void {
    super.numberResource(state, row);
    this.resourceSchema.take(state, state.owner.resourceSchemaStart, state.owner.resourceSchemaEnd);
  }

  protected override numberScope(state: ReadState): void {
    super.numberScope(state);
    this.scopeSchema.take(state, state.owner.scopeSchemaStart, state.owner.scopeSchemaEnd);
    this.scopeAttributes.take(state, state.owner.scopeAttributes);
    this.scopeDroppedNow = state.owner.scopeDropped;
  }

  private takeMetric(state: ReadState): void {
    const { metric } = state.point;
    const { tally } = this;
    const cutBefore = tally.cutValues;
    this.endShared();
    this.metricNumber = metric.number;
    this.metricName.take(state, metric.nameStart, metric.nameEnd);
    this.description.take(state, metric.descriptionStart, metric.descriptionEnd);
    this.unit.take(state, metric.unitStart, metric.unitEnd);
    this.metadata.take(state, metric.metadata);
    // Each row counts them for itself.
    this.metricCuts = tally.cutValues - cutBefore + metric.cutValues;
    tally.cutValues = cutBefore;
  }
}
