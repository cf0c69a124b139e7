import { errorText, Fault } from '../../model/fault.ts';
import { type RawSpanTime, validateSpanTime } from '../../model/span-time.ts';
import { messageKeyOf } from '../../outcomes/outcome-rows.ts';
import { addOutcome, addReceiverDrops, storedOutcome } from '../../outcomes/tally.ts';
import { isTransientAnswer, unclassifiedCode } from '../../stores/clickhouse/faults.ts';
import { insertId } from '../../stores/clickhouse/query-id.ts';
import type { BatchBounds } from '../../stores/clickhouse/span-statements.ts';
import type { SpanWriter, TraceTimes } from '../../stores/clickhouse/span-writer.ts';
import { type BlockKeys, readBlockKeys } from '../../wire/native/block-keys.ts';
import { mergeBlocks } from '../../wire/native/block-merger.ts';
import { UnreadableBlock } from '../../wire/native/block-reader.ts';
import { decodeSpansEnvelope, type SpansEnvelope, type SpansHeader } from '../../wire/spans-envelope.ts';
import { type HeldMessage, judgeSection, noVerdicts, type PassedItem } from '../held-message.ts';
import type { DeadLettered, Judged, Sink, WriteOutcome, Written } from '../sink.ts';
import type { Fence } from './fence.ts';
import { createLoneFailures } from './lone-failures.ts';
import { byDay, halvesOf, type Piece, piecesOf, refusedBlock, refusedPiece } from './span-pieces.ts';

export type SpansSinkOptions = {
  readonly stream: string;
  readonly boot: number;
  readonly ackWaitMs: number;
  /** The clock of `touchedAt`, ms. */
  readonly elapsed: () => number;
  /** `suspect`: only what may have been inserted before is compared with what is stored; `always`: everything. */
  readonly guard: 'suspect' | 'always';
};

export type SpansSinkEvents = {
  /** A guarded insert, and how many inserts of earlier attempts were ended before it. */
  readonly onGuarded: (killed: number) => void;
  /**
   * Two attempts at rows of this day (since 1970 UTC) had overlapped: some are there twice until they merge. Resolves once that cannot be
   * forgotten any more.
   */
  readonly onOverlap: (day: number) => Promise<void>;
  /** The store returned an unclassified error code. */
  readonly onUnclassified: (code: string) => void;
};

type Held = HeldMessage<SpansEnvelope>;

/** What was refused in one write: each a span or a block of its message. */
type Refusals = { readonly of: Map<Held, DeadLettered[]>; count: number };

const refusalsMax = 1_000;

/** Blocks larger than this cost ClickHouse hardly less for a row. */
const mergeBounds = { rowsMax: 8_192, bytesMax: 4 * 2 ** 20 };
/** A batch that the store answers with a passing error so often is written message by message, to find the one it is about. */
const triesTogetherMax = 6;
/** Messages in a row that fail with none stored: from this number on, the store is at fault. */
const failuresApartMax = 3;
/** Failures of a single message, while others are stored, after which it is dead-lettered. */
const loneAttemptsMax = 5;

/** A span is one row. */
const rowsOf = ({ parts }: SpansHeader): number => parts.reduce((rows, part) => rows + part.rows, 0);

/** The same rows will always fail: by ClickHouse's word, or because a block does not even read as one. */
const isFaultOfRows = (error: unknown): boolean =>
  error instanceof UnreadableBlock || (error instanceof Fault && error.code === 'clickhouse_rows_refused');

/** The messages that an insert brings. */
const messagesOf = (pieces: readonly Piece[]) => {
  const sequences = [...new Set(pieces.map(({ message }) => message.delivery.streamSequence))];
  return { sequences, firstSequence: Math.min(...sequences), lastSequence: Math.max(...sequences) };
};

/** What the guard compares by: uids, times and names of these pieces. */
const boundsOf = (pieces: readonly Piece[], keys: readonly BlockKeys[]): BatchBounds => {
  let timeMin = BigInt(pieces[0]?.part.timeMin ?? 0);
  let timeMax = timeMin;
  for (const { part } of pieces) {
    const [min, max] = [BigInt(part.timeMin), BigInt(part.timeMax)];
    if (min < timeMin) timeMin = min;
    if (max > timeMax) timeMax = max;
  }
  return {
    uidRanges: pieces.map(({ part }) => [
      BigInt(part.base) + BigInt(part.first),
      BigInt(part.base) + BigInt(part.last),
    ]),
    timeMin,
    timeMax,
    names: keys.flatMap(({ names }) => names),
  };
};

/** Least and greatest start of each trace in these blocks. */
const traceTimesOf = (keys: readonly BlockKeys[]): TraceTimes[] => {
  const traces = new Map<string, { min: bigint; max: bigint }>();
  for (const { traceIds, times } of keys) {
    for (const [row, traceId] of traceIds.entries()) {
      const time = times[row] ?? 0n;
      const known = traces.get(traceId);
      if (known === undefined) traces.set(traceId, { min: time, max: time });
      else {
        if (time < known.min) known.min = time;
        if (time > known.max) known.max = time;
      }
    }
  }
  return [...traces].map(([traceId, { min, max }]) => ({ traceId, min, max }));
};

const rawTime = (value: unknown): RawSpanTime => {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? undefined : String(value);
};

const field = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;

const passedSpan = ({ owner, base, ordinal, arrivedAt, text }: PassedItem): DeadLettered => ({
  reason: 'deferred_item_valid',
  why: 'the receiver deferred a span, and this version finds its times valid',
  bytes: Buffer.from(text),
  identity: `${base}:${ordinal}`,
  items: 1,
  place: { appId: owner, uid: `${base}+${ordinal}` },
  uid: BigInt(base) + BigInt(ordinal),
  arrivedAt,
});

/** Judges the deferred spans with the arrival and the windows that travel with them (architecture 6.3). */
const judge = ({ header, deferredBytes }: SpansEnvelope): Judged => {
  const verdicts = noVerdicts();
  const { dropped, tally, passed } = verdicts;
  for (const [index, group] of header.deferred.entries()) {
    judgeSection(verdicts, group.appId, group, deferredBytes[index], (item) => {
      const span = field(item, 'span');
      const start = rawTime(field(span, 'startTimeUnixNano'));
      const end = rawTime(field(span, 'endTimeUnixNano'));
      return validateSpanTime(start, end, group.arrivedAt, group.policy);
    });
  }
  for (const { appId, rows } of header.parts) addOutcome(tally, appId, storedOutcome, rows);
  for (const { appId, dropped: drops } of header.outcomes) addReceiverDrops(tally, appId, drops);
  const rows = rowsOf(header);
  return {
    arrivedAt: header.arrivedAt,
    key: messageKeyOf(header),
    kept: rows,
    rows,
    dropped,
    tally,
    passed: passed.map(passedSpan),
    unreadableItems: verdicts.unreadableItems,
    redrive: header.redrive,
  };
};

/**
 * Spans: TRACES -> ClickHouse (architecture 7.2). Fresh messages are inserted as they are; what may have been inserted before
 * goes through the guard, after inserts of an earlier attempt were killed.
 */
export const createSpansSink = (
  writer: SpanWriter,
  fence: Fence,
  options: SpansSinkOptions,
  events: SpansSinkEvents,
): Sink<SpansEnvelope> => {
  const sent = new WeakSet<Held>();
  const tries = new WeakMap<Held, number>();
  const lone = createLoneFailures(loneAttemptsMax);
  let attempts = 0;

  const isSuspect = (message: Held): boolean =>
    options.guard === 'always' ||
    sent.has(message) ||
    message.delivery.redelivered ||
    message.delivery.redrive > 0 ||
    message.envelope.header.mayOverlap === true ||
    !fence.isFresh(message.delivery.streamSequence);

  const attemptOf = (pieces: readonly Piece[]) => {
    const { sequences, firstSequence: first, lastSequence: last } = messagesOf(pieces);
    const queryId = insertId({
      stream: options.stream,
      first,
      last,
      boot: options.boot,
      attempt: ++attempts,
    });
    const blocks = mergeBlocks(
      pieces.map(({ block }) => block),
      mergeBounds,
    );
    return { queryId, sequences, blocks };
  };

  /** Not kept alive for so long that another worker may have been given it meanwhile: this process was paused. */
  const isOverdue = ({ message }: Piece): boolean =>
    options.elapsed() - message.touchedAt > options.ackWaitMs / 2;

  const reportOverlap = async (pieces: readonly Piece[], bounds: BatchBounds): Promise<void> => {
    if ((await writer.countRepeats(bounds)) === 0) return;
    for (const day of byDay(pieces).keys()) await events.onOverlap(day);
  };

  const insertPlain = async (pieces: readonly Piece[]): Promise<void> => {
    const attempt = attemptOf(pieces);
    await writer.insertPlain(attempt);
    if (pieces.some(isOverdue))
      await reportOverlap(pieces, boundsOf(pieces, attempt.blocks.map(readBlockKeys)));
  };

  const insertGuarded = async (pieces: readonly Piece[]): Promise<void> => {
    const killed = await writer.killCovering({ stream: options.stream, ...messagesOf(pieces) });
    events.onGuarded(killed);
    const attempt = attemptOf(pieces);
    const keys = attempt.blocks.map(readBlockKeys);
    const bounds = boundsOf(pieces, keys);
    await writer.insertGuarded({ ...attempt, ...bounds });
    await writer.repairTraceLookup(traceTimesOf(keys));
    const isTakeover =
      killed > 0 ||
      pieces.some(({ message: { delivery, envelope } }) => {
        return delivery.redelivered || envelope.header.mayOverlap === true;
      });
    if (isTakeover || pieces.some(isOverdue)) await reportOverlap(pieces, bounds);
  };

  /**
   * Inserts the pieces; when the store refuses rows, halves them until each refused row stands alone. Past `refusalsMax` of one
   * write, pieces are no longer halved: whole blocks are dead-lettered, with valid rows, instead of an insert for each row.
   */
  const insertOrSplit = async (
    pieces: readonly Piece[],
    insert: (pieces: readonly Piece[]) => Promise<void>,
    refused: Refusals,
  ): Promise<void> => {
    try {
      await insert(pieces);
    } catch (error) {
      if (!isFaultOfRows(error)) throw error;
      const [only] = pieces;
      const halves = pieces.length === 1 && refused.count >= refusalsMax ? undefined : halvesOf(pieces);
      if (halves !== undefined) {
        for (const half of halves) await insertOrSplit(half, insertGuarded, refused);
      } else if (only !== undefined) {
        refused.count++;
        refused.of.set(only.message, [
          ...(refused.of.get(only.message) ?? []),
          refusedPiece(only, errorText(error)),
        ]);
      }
    }
  };

  const writeAll = async (
    messages: readonly Held[],
    insert: (pieces: readonly Piece[]) => Promise<void>,
    refused: Refusals,
    onWrite: (outcome: WriteOutcome, seconds: number) => void,
  ): Promise<void> => {
    for (const pieces of byDay(piecesOf(messages)).values()) {
      const startedAt = performance.now();
      const seconds = (): number => (performance.now() - startedAt) / 1000;
      try {
        await insertOrSplit(pieces, insert, refused);
      } catch (error) {
        onWrite('failed', seconds());
        const code = unclassifiedCode(error);
        if (code !== undefined) events.onUnclassified(code);
        throw error;
      }
      onWrite('stored', seconds());
    }
  };

  const writeTogether: Sink<SpansEnvelope>['write'] = async (batch, onWrite) => {
    const suspects: Held[] = [];
    const fresh: Held[] = [];
    for (const message of batch) (isSuspect(message) ? suspects : fresh).push(message);
    if (fresh.length > 0 && !(await fence.holds())) suspects.push(...fresh.splice(0));
    for (const message of batch) sent.add(message);
    const refused: Refusals = { of: new Map(), count: 0 };
    await writeAll(fresh, insertPlain, refused, onWrite);
    await writeAll(suspects, insertGuarded, refused, onWrite);
    lone.stored();
    return { deadLettered: refused.of, retryLater: new Set(), purged: new Set() };
  };

  /** Message by message: a failing message waits while the others are stored, and is dead-lettered if it alone keeps failing. */
  const writeApart = async (
    batch: readonly Held[],
    onWrite: (outcome: WriteOutcome, seconds: number) => void,
  ): Promise<Written<SpansEnvelope>> => {
    const refused: Refusals = { of: new Map(), count: 0 };
    const waiting = new Set<Held>();
    let hasStored = false;
    let problem = '';
    for (const message of batch) {
      if (!hasStored && waiting.size >= failuresApartMax) {
        waiting.add(message);
        continue;
      }
      try {
        await writeAll([message], insertGuarded, refused, onWrite);
        lone.stored();
        hasStored = true;
      } catch (error) {
        if (!isTransientAnswer(error)) throw error;
        problem = errorText(error);
        if (lone.failed(message.delivery.streamSequence)) {
          const why = `the block fails in each try while others are stored: ${problem}`;
          refused.of.set(
            message,
            piecesOf([message]).map((piece) => refusedBlock(piece, why)),
          );
        } else waiting.add(message);
      }
    }
    const hasSettled = hasStored || refused.of.size > 0;
    return {
      deadLettered: refused.of,
      retryLater: waiting,
      purged: new Set(),
      ...(hasSettled ? {} : { problem }),
    };
  };

  return {
    pipeline: 'traces',
    store: 'ClickHouse',
    read: decodeSpansEnvelope,
    rowsOf: ({ header }) => rowsOf(header),
    write: async (batch, onWrite) => {
      if (batch.every((message) => (tries.get(message) ?? 0) >= triesTogetherMax))
        return writeApart(batch, onWrite);
      try {
        return await writeTogether(batch, onWrite);
      } catch (error) {
        if (isTransientAnswer(error))
          for (const message of batch) tries.set(message, (tries.get(message) ?? 0) + 1);
        throw error;
      }
    },
    judge,
  };
};
