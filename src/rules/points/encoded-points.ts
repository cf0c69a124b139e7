import type { DropReason, TimeReason, ValueReason } from '../../model/reasons.ts';
import type { RunDay } from './day-tally.ts';

/** One point that was not encoded in the normal way; `got` is the value of the field, shortened, and empty where none is shown. */
export type Example = { index: number; reason: DropReason; field: string; detail: string; got: string };

/** The share of one message in a request: the rows of a run of points, and the points of that run whose time failed. */
export type Run = {
  first: number;
  last: number;
  rows: number;
  points: number;
  text: string;
  /** The rows in place of `text`, where they pass between threads: UTF-8. */
  bytes?: Uint8Array<ArrayBuffer>;
  timeMin: number;
  timeMax: number;
  /** The rows by event day; empty with rows where they have too many days (`runDaysMax`). */
  days: RunDay[];
  deferred: string[];
  deferredOrdinals: number[];
  dropped: Map<DropReason, number>;
};

/** A request's points after the rules. accepted + all dropped (deferred among them) = points in the request. */
export type EncodedPoints = {
  runs: Run[];
  accepted: number;
  ordinals: number;
  dropped: Map<DropReason, number>;
  deferred: Map<TimeReason, number>;
  valuesDropped: Map<ValueReason, number>;
  /** Integers that no double holds: their nearest double is stored. */
  valuesRounded: number;
  /** Kept points that are older than the default retention, which removes them. */
  pointsExpiring: number;
  examples: Example[];
  /** The first point of each reason that came too late for `examples`. */
  lateExamples: Example[];
  /** The first names that lost their values in kept points, each with its first point: as many as `examples` at most. */
  lostExamples: Example[];
  /** First ordinal of each point in the three lists, by its index. */
  exampleOrdinals: Map<number, number>;
  /** The request needs more messages than the limit: reading stopped there, and no other field counts. */
  isTooMuch: boolean;
  /** Names without a registry entry; when there are any, the runs are void until the names are registered. */
  unknownMetrics: Set<string>;
  unknownDimensions: Set<string>;
};

/** A run without points yet. */
export const newRun = (first: number): Run => ({
  first,
  last: first,
  rows: 0,
  points: 0,
  text: '',
  timeMin: Number.MAX_SAFE_INTEGER,
  timeMax: 0,
  days: [],
  deferred: [],
  deferredOrdinals: [],
  dropped: new Map(),
});

/** The result before the first point, with one run to begin with. */
export const nothingEncoded = (run: Run): EncodedPoints => ({
  runs: [run],
  accepted: 0,
  ordinals: 0,
  dropped: new Map(),
  deferred: new Map(),
  valuesDropped: new Map(),
  valuesRounded: 0,
  pointsExpiring: 0,
  examples: [],
  lateExamples: [],
  lostExamples: [],
  exampleOrdinals: new Map(),
  isTooMuch: false,
  unknownMetrics: new Set(),
  unknownDimensions: new Set(),
});

/** The approximate bytes of a run in a message: rows, and deferred points as they were sent. */
export const runLength = ({ text, bytes, deferred }: Run): number => {
  let length = text.length + (bytes?.length ?? 0);
  for (const each of deferred) length += each.length;
  return length;
};

/** The approximate bytes of the messages of these points. */
export const encodedLength = ({ runs }: EncodedPoints): number => {
  let length = 0;
  for (const run of runs) length += runLength(run);
  return length;
};

/** All points that are shown, those that lost a value among them. */
export const shownExamples = ({ examples, lateExamples, lostExamples }: EncodedPoints): Example[] => [
  ...examples,
  ...lateExamples,
  ...lostExamples,
];
