import type { NamedColumn } from '../native/column.ts';
import { nameColumn } from '../native/encode-block.ts';
import { ArrayColumn } from '../native/nested-columns.ts';
import { WordColumn } from '../native/number-columns.ts';
import { TextColumn } from '../native/text-columns.ts';
import { FloatColumn, NullableColumn } from '../native/value-columns.ts';
import { AttributeWriter } from './attribute-writer.ts';
import { exemplarIdPlaces } from './data-point-slots.ts';
import { endArray, pushAnyTime } from './item-block.ts';
import type { ItemTally } from './place.ts';
import type { ReadState } from './read-state.ts';

/** The columns of the exemplars of a block. */
export class ExemplarColumns {
  private count = 0;
  private readonly offsets = new WordColumn('UInt64');
  private readonly attributes: AttributeWriter;
  private readonly times = new WordColumn('DateTime64(9)');
  private readonly values = new FloatColumn();
  private readonly integers = new NullableColumn('Int64');
  private readonly spanIds = new TextColumn();
  private readonly traceIds = new TextColumn();
  private readonly all: readonly NamedColumn[];

  constructor(tally: ItemTally) {
    this.attributes = new AttributeWriter(tally);
    const { offsets } = this;
    this.all = [
      nameColumn('Exemplars.FilteredAttributes', new ArrayColumn(this.attributes.column, offsets)),
      nameColumn('Exemplars.TimeUnix', new ArrayColumn(this.times, offsets)),
      nameColumn('Exemplars.Value', new ArrayColumn(this.values, offsets)),
      nameColumn('Exemplars.SpanId', new ArrayColumn(this.spanIds, offsets)),
      nameColumn('Exemplars.TraceId', new ArrayColumn(this.traceIds, offsets)),
      nameColumn('Exemplars.ValueInt', new ArrayColumn(this.integers, offsets)),
    ];
  }

  /** None without an exemplar: a column that a block does not send is filled with empty arrays, and most points have none. */
  get columns(): readonly NamedColumn[] {
    return this.count > 0 ? this.all : [];
  }

  /** Appends the exemplars of the current data point, which is this row. */
  append(state: ReadState, row: number): void {
    const { point } = state;
    if (point.exemplarCount === 0 && this.count === 0) return;
    for (let index = 0; index < point.exemplarCount; index++) {
      const exemplar = point.exemplars[index];
      if (exemplar === undefined) continue;
      const { value, ids } = exemplar;
      this.attributes.append(state, point.exemplarAttributes, exemplar.attributesFrom, exemplar.attributesTo);
      pushAnyTime(this.times, exemplar.time);
      this.values.push(value.double);
      if (value.isInteger) this.integers.push(value.low, value.high);
      else this.integers.pushNull();
      if (exemplar.hasSpan) this.spanIds.push(ids, exemplarIdPlaces.span, exemplarIdPlaces.end);
      else this.spanIds.pushEmpty();
      if (exemplar.hasTrace) this.traceIds.push(ids, exemplarIdPlaces.trace, exemplarIdPlaces.span);
      else this.traceIds.pushEmpty();
      this.count++;
    }
    endArray(this.offsets, row, this.count);
  }

  clear(): void {
    this.count = 0;
    for (const { column } of this.all) column.clear();
    this.attributes.clear();
  }
}
