import type { BodyTokens, EncodedItems, ItemsContext, ItemsOwner } from '../../wire/otlp/types.ts';
import type { OtlpEncoding } from '../otlp/reply.ts';
import type { OtlpPipeline } from '../otlp/signals.ts';
import type { EncodedPush, PushTask, RefusedPush } from '../push/encode.ts';
import type { SeriesSeen, SeriesShare } from '../series/series-gate.ts';

// Tasks and results of the thread of large bodies. They pass between threads by structured clone, except bodies and encoded blocks,
// which are transferred. (Shared memory would do without, but the garbage collector does not know its size.)

/** Names that senders use, with their columns. */
export type ColumnList = readonly (readonly [name: string, column: string])[];

export type PushJob = {
  readonly kind: 'push';
  readonly task: Omit<PushTask, 'table'>;
  readonly table: Pick<PushTask['table'], 'tableId' | 'layout'>;
  readonly metrics: ColumnList;
  readonly dimensions: ColumnList;
  readonly fullDimensions: ReadonlySet<string>;
};

export type TokensJob = {
  readonly kind: 'tokens';
  readonly pipeline: OtlpPipeline;
  readonly encoding: OtlpEncoding;
  readonly tokenKeys: readonly string[];
};

export type ItemsJob = {
  readonly kind: 'items';
  readonly pipeline: OtlpPipeline;
  readonly encoding: OtlpEncoding;
  readonly tokenKeys: readonly string[];
  readonly owners: ReadonlyMap<string | undefined, ItemsOwner | 'invalid' | 'disabled'>;
  readonly context: Omit<ItemsContext, 'resolve' | 'tokenKeys' | 'wantsSample' | 'admitsSeries'>;
  readonly elementsMax: number;
  /** Of each application with a bound, as they are when the body goes to the thread. */
  readonly series: readonly SeriesShare[];
};

export type Job = PushJob | TokensJob | ItemsJob;

/** The shown parts of the sampled points, and the names of the points, for `last_seen` of the registry. */
export type PushResult = {
  readonly kind: 'push';
  readonly push: Omit<EncodedPush, 'pointAt'> | RefusedPush;
  readonly shown: ReadonlyMap<number, unknown>;
  readonly metrics: readonly string[];
  readonly dimensions: readonly string[];
};

/** The errors that a reader of OTLP throws. */
export type Thrown =
  | { readonly what: 'malformed'; readonly message: string; readonly field: string }
  | { readonly what: 'too_many_items'; readonly message: string; readonly items: number }
  | { readonly what: 'too_many_tokens' | 'too_many_elements'; readonly message: string };

export type Result =
  | PushResult
  | { readonly kind: 'tokens'; readonly tokens: BodyTokens }
  | { readonly kind: 'items'; readonly encoded: EncodedItems; readonly seen: readonly SeriesSeen[] }
  | { readonly kind: 'thrown'; readonly thrown: Thrown };

/** One message each way. The body comes back: its receiver may need it again. */
export type Asked = { readonly bytes: Uint8Array<ArrayBuffer>; readonly job: Job };
export type Answered = { readonly bytes: Uint8Array<ArrayBuffer> } & (
  | { readonly result: Result }
  | { readonly defect: string }
);
