import type { ItemReason, TimeReason } from '../../model/reasons.ts';
import type { SpanTimePolicy } from '../../model/span-time.ts';
import type { ItemBlock } from '../../wire/otlp/item-block.ts';
import type { JsonFields } from '../../wire/otlp/json-fields.ts';
import type { JsonItemReader } from '../../wire/otlp/json-reader.ts';
import type { Levels } from '../../wire/otlp/levels.ts';
import type { ProtobufFields } from '../../wire/otlp/protobuf-fields.ts';
import type { ProtobufItemReader } from '../../wire/otlp/protobuf-reader.ts';
import type { ReadState } from '../../wire/otlp/read-state.ts';
import type { ResourceRow } from '../../wire/otlp/resource-row.ts';
import type { ItemSlots, TimeSlot } from '../../wire/otlp/slots.ts';
import type { SeriesSeed } from '../../wire/otlp/types.ts';

/** Computes the hash of a series: 64 bits as halves, the same for one seed. */
export type SeriesHash = {
  low: number;
  high: number;
  /** Sets `low` and `high` to the hash of the current item's series. */
  set(state: ReadState): void;
};

/** What is different for each signal in the line from a request's bytes to its blocks. */
export type ItemRules = {
  readonly levels: Levels;
  /** Its items in the singular, for senders. */
  readonly itemText: string;
  readonly jsonReader: (fields: JsonFields) => JsonItemReader;
  readonly protobufReader: (fields: ProtobufFields) => ProtobufItemReader;
  /** Where both readers leave an item. */
  readonly slotsOf: (state: ReadState) => ItemSlots;
  /** A block for rows of the table with this place in the list of the signal. */
  readonly newBlock: (table: number) => ItemBlock;
  /** The hash of the current item's series, for signals that have them. */
  readonly newSeries?: (row: ResourceRow, seed?: SeriesSeed) => SeriesHash;
  /** Field and verb of the time that decides the day of a row: `startTimeUnixNano`, `start`. */
  readonly dayField: string;
  readonly dayVerb: string;
  /** The first reason why the current item cannot be stored for its times; undefined when it can. */
  readonly judgeTimes: (
    state: ReadState,
    arrivedAtMs: number,
    policy: SpanTimePolicy,
  ) => TimeReason | undefined;
  /** The field with that time, and the time. */
  readonly faultyTime: (
    state: ReadState,
    arrivedAtMs: number,
    policy: SpanTimePolicy,
  ) => { readonly field: string; readonly time: TimeSlot };
  /** The current item as a JSON object of OTLP that is complete by itself (see DeferredItems). */
  readonly deferredText: (state: ReadState, row: ResourceRow) => string;
  /** The current item as it is shown. `row` is its resource as rows hold it; undefined for an item without an owner. */
  readonly sampledItem: (
    state: ReadState,
    row: ResourceRow | undefined,
    reason: ItemReason | TimeReason,
  ) => object;
};
