import { coalesceRanges, type Range } from './ranges.ts';

/** The parts of an insert's id: the messages of a stream that it brings, and its attempt. */
export type InsertAttempt = {
  readonly stream: string;
  /** Stream sequences of its first and its last message. */
  readonly first: number;
  readonly last: number;
  /** Epoch of the process, and its running count of attempts. */
  readonly boot: number;
  readonly attempt: number;
};

/** The common prefix of the ids of all inserts of a stream. Stream names hold no `-`. */
export const insertIdPrefix = (stream: string): string => `tm-${stream}-`;

/** `tm-<stream>-<first>-<last>-<boot>-<attempt>` (architecture 7.1). */
export const insertId = ({ stream, first, last, boot, attempt }: InsertAttempt): string =>
  `${insertIdPrefix(stream)}${first}-${last}-${boot}-${attempt}`;

/** Reads such an id; undefined for any other text. */
export const parseInsertId = (id: string): InsertAttempt | undefined => {
  const match = /^tm-([^-]+)-(\d{1,15})-(\d{1,15})-(\d{1,15})-(\d{1,15})$/.exec(id);
  if (match === null) return undefined;
  const [stream = '', ...numbers] = match.slice(1);
  const [first = 0, last = 0, boot = 0, attempt = 0] = numbers.map(Number);
  return { stream, first, last, boot, attempt };
};

const labelRangesMax = 1_000;

/**
 * The exact messages of an insert, for its `log_comment`: `3-7 9-9`. The range of an id also covers the messages that other workers
 * took in between. With very scattered messages it names a few more than the insert brings.
 */
export const messagesLabel = (sequences: readonly number[]): string =>
  coalesceRanges(
    sequences.map((sequence) => [sequence, sequence]),
    labelRangesMax,
  )
    .map(({ first, last }) => `${first}-${last}`)
    .join(' ');

/** Reads such a label; undefined for any other text. */
export const parseMessagesLabel = (label: string): Range[] | undefined => {
  const ranges: Range[] = [];
  for (const text of label.split(' ')) {
    const [, first, last] = /^(\d{1,20})-(\d{1,20})$/.exec(text) ?? [];
    if (first === undefined || last === undefined) return undefined;
    ranges.push({ first: BigInt(first), last: BigInt(last) });
  }
  return ranges;
};
