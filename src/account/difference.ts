import { type Pipeline, pipelineOfStream, signals } from '../model/signals.ts';

/** The name of a difference between the books, or between a book and a store (architecture 10.2). */
export const differenceKinds = [
  'lost_in_the_stream',
  'lost_by_the_engine',
  'not_counted',
  'stuck',
  'orphan',
  'missing_in_the_store',
  'unrecorded',
  'unmerged',
  'not_known',
] as const;

export type DifferenceKind = (typeof differenceKinds)[number];

/** Kinds that mean that the account is wrong, while one is open: a loss, an excess, or items that never settle. */
const wrongKinds: ReadonlySet<DifferenceKind> = new Set([
  'lost_in_the_stream',
  'lost_by_the_engine',
  'stuck',
  'missing_in_the_store',
  'unrecorded',
]);

/** A data id (`appId` is 0), or an application in one of its signals (`dataId` is 0); both 0 where the owner is not known. */
export type Owner = { readonly pipeline: Pipeline; readonly dataId: number; readonly appId: number };

/** A difference of one owner, stream and minute. */
export type Difference = Owner & {
  readonly kind: DifferenceKind;
  readonly stream: string;
  /** Unix seconds: the minute of the arrival; for a difference with a store, the start of the event day. */
  readonly minute: number;
  readonly items: number;
  readonly messages: number;
  /** Of the items of an unrecorded one, those whose message has its place in the settlers' book: only their record is gone. */
  readonly placedItems?: number;
  /** When this figure was stored, Unix seconds; of one that was read. */
  readonly foundAt?: number;
};

/** A difference as it was found, and what an operator has closed of it. */
export type FoundDifference = Difference & {
  readonly closedItems: number;
  readonly closedMessages: number;
  /** Why; empty where nothing is closed. */
  readonly reason: string;
};

/** The signal of a stream with items. */
export const pipelineOf = (stream: string): Pipeline => pipelineOfStream(stream) ?? 'metrics';

/** Whether more was found than an operator has closed. */
export const isOpen = ({ items, messages, closedItems, closedMessages, reason }: FoundDifference): boolean =>
  reason === '' || items > closedItems || messages > closedMessages;

/** Whether an open difference makes the account false. */
export const isWrong = (difference: FoundDifference): boolean =>
  wrongKinds.has(difference.kind) && isOpen(difference);

/** 0: open ones of this kind make the account false, 1: they leave open whether it is true, 2: neither. */
export const rankOf = ({ kind }: Pick<Difference, 'kind'>): number => {
  if (wrongKinds.has(kind)) return 0;
  return kind === 'not_known' ? 1 : 2;
};

/** Whether it leaves open whether the account is true: rows that its store refuses to read. */
export const isUnsure = (difference: FoundDifference): boolean =>
  difference.kind === 'not_known' && isOpen(difference);

/** Identifies a difference: another figure under the same key replaces it. */
export const differenceKey = ({ kind, stream, dataId, appId, minute }: Difference): string =>
  `${kind} ${stream} ${dataId} ${appId} ${minute}`;

/** The stream whose name stands for all streams of a signal, in differences with a store. */
export const streamOfStore = (pipeline: Pipeline): string => signals[pipeline].stream;

/** The reason of a `not_known` of a stream that is missing, that NATS does not answer for, or that metadata may not read. */
export const streamNotRead = 'cannot be read';

/** `not_known` of the books is no difference of its own: it holds for all owners. */
export const storeKinds = ['missing_in_the_store', 'unmerged', 'not_known'] as const;
const ofStoreAlone: ReadonlySet<DifferenceKind> = new Set(storeKinds);

/** Whether a comparison with a store found it: its minute is the start of an event day, and it counts no messages. */
export const isOfStore = ({ kind, messages }: Difference): boolean =>
  ofStoreAlone.has(kind) || (kind === 'unrecorded' && messages === 0);
