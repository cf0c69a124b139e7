import { Fault, messageOf } from '../model/fault.ts';
import { type RawSpanTime, validateSpanTime } from '../model/span-time.ts';
import { ordinalsMax } from '../model/uid.ts';
import { messageKeyOf } from '../outcomes/outcome-rows.ts';
import { addOutcome, addReceiverDrops, storedOutcome } from '../outcomes/tally.ts';
import { insertId } from '../stores/clickhouse/query-id.ts';
import type { BatchBounds } from '../stores/clickhouse/span-statements.ts';
import type { SpanWriter, TraceTimes } from '../stores/clickhouse/span-writer.ts';
import { type BlockKeys, readBlockKeys, UnreadableBlock } from '../wire/native/block-reader.ts';
import {
  decodeSpansEnvelope,
  type SpanPart,
  type SpansEnvelope,
  type SpansHeader,
} from '../wire/spans-envelope.ts';
import type { Fence } from './fence.ts';
import { type HeldMessage, judgeSection, noVerdicts, type PassedItem } from './held-message.ts';
import type { Judged, Lane, SetAside, WriteOutcome } from './lane.ts';

export type TracesLaneOptions = {
  readonly stream: string;
  readonly boot: number;
  readonly ackWaitMs: number;
  readonly now: () => number;
  /** `suspect`: only what may have been inserted before is compared with what is stored; `always`: everything. */
  readonly guard: 'suspect' | 'always';
};

export type TracesLaneEvents = {
  /** A guarded insert, and how many inserts of earlier attempts were ended before it. */
  readonly onGuarded: (killed: number) => void;
  /** Two attempts at rows of this day (since 1970 UTC) had overlapped: some are there twice until they merge. */
  readonly onOverlap: (day: number) => void;
};

type Held = HeldMessage<SpansEnvelope>;

/** A span is one row. */
const rowsOf = ({ parts }: SpansHeader): number => parts.reduce((rows, part) => rows + part.rows, 0);

/** One part of a message on its way into an insert. */
type Piece = { readonly message: Held; readonly part: SpanPart; readonly block: Uint8Array };

const piecesOf = (messages: readonly Held[]): Piece[] =>
  messages.flatMap((message) =>
    message.envelope.header.parts.flatMap((part, index) => {
      const block = message.envelope.partBytes[index];
      return block === undefined ? [] : [{ message, part, block }];
    }),
  );

/** An insert is of one day: ClickHouse makes and commits a part for each. */
const byDay = (pieces: readonly Piece[]): Map<number, Piece[]> => {
  const days = new Map<number, Piece[]>();
  for (const piece of pieces) {
    const group = days.get(piece.part.day);
    if (group === undefined) days.set(piece.part.day, [piece]);
    else group.push(piece);
  }
  return days;
};

/** Stands for a whole block in the key of its redrive's record: no request has an item of so high an ordinal. */
const blockUid = ({ base, day }: SpanPart): bigint => BigInt(base) + BigInt(ordinalsMax - 1 - day);

const refusedBlock = ({ part, block }: Piece, why: string): SetAside => ({
  reason: 'block_refused',
  why,
  bytes: block,
  identity: `${part.base}:${part.first}:${part.appId}:${part.day}`,
  items: part.rows,
  place: { appId: part.appId },
  uid: blockUid(part),
});

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
    names: keys.flatMap(({ services, names }) =>
      services.map((service, row): [string, string] => [service, names[row] ?? '']),
    ),
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

const passedSpan = ({ owner, base, ordinal, text }: PassedItem): SetAside => ({
  reason: 'deferred_item_valid',
  why: 'the receiver deferred a span whose times this program finds valid',
  bytes: Buffer.from(text),
  identity: `${base}:${ordinal}`,
  items: 1,
  place: { appId: owner, uid: `${base}+${ordinal}` },
  uid: BigInt(base) + BigInt(ordinal),
});

/** Judges the deferred spans with the arrival and the windows that travel with them (design decision D2). */
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
  };
};

/**
 * Spans: TRACES -> ClickHouse (design section 7.5). Fresh messages are inserted as they are; what may have been inserted before
 * goes through the guard, after whatever still inserts it was ended.
 */
export const createTracesLane = (
  writer: SpanWriter,
  fence: Fence,
  options: TracesLaneOptions,
  events: TracesLaneEvents,
): Lane<SpansEnvelope> => {
  const sent = new WeakSet<Held>();
  let attempts = 0;

  const isSuspect = (message: Held): boolean =>
    options.guard === 'always' ||
    sent.has(message) ||
    message.delivery.redelivered ||
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
    return { queryId, sequences, blocks: pieces.map(({ block }) => block) };
  };

  /** Not kept alive for so long that another worker may have been given it meanwhile: this process was paused. */
  const isOverdue = ({ message }: Piece): boolean =>
    options.now() - message.touchedAt > options.ackWaitMs / 2;

  const reportOverlap = async (pieces: readonly Piece[], bounds: BatchBounds): Promise<void> => {
    if ((await writer.countRepeats(bounds)) === 0) return;
    for (const day of byDay(pieces).keys()) events.onOverlap(day);
  };

  const insertPlain = async (pieces: readonly Piece[]): Promise<void> => {
    await writer.insertPlain(attemptOf(pieces));
    if (!pieces.some(isOverdue)) return;
    await reportOverlap(
      pieces,
      boundsOf(
        pieces,
        pieces.map(({ block }) => readBlockKeys(block)),
      ),
    );
  };

  const insertGuarded = async (pieces: readonly Piece[]): Promise<void> => {
    const killed = await writer.killCovering({ stream: options.stream, ...messagesOf(pieces) });
    events.onGuarded(killed);
    const keys = pieces.map(({ block }) => readBlockKeys(block));
    const bounds = boundsOf(pieces, keys);
    await writer.insertGuarded({ ...attemptOf(pieces), ...bounds });
    await writer.repairTraceLookup(traceTimesOf(keys));
    const isTakeover = killed > 0 || pieces.some(({ message }) => message.delivery.redelivered);
    if (isTakeover || pieces.some(isOverdue)) await reportOverlap(pieces, bounds);
  };

  /** Inserts the pieces; when the store refuses rows, halves them until the refused blocks stand alone. */
  const insertOrSplit = async (
    pieces: readonly Piece[],
    insert: (pieces: readonly Piece[]) => Promise<void>,
    refused: Map<Held, SetAside[]>,
  ): Promise<void> => {
    try {
      await insert(pieces);
    } catch (error) {
      if (!isFaultOfRows(error)) throw error;
      const [only] = pieces;
      if (pieces.length === 1 && only !== undefined) {
        refused.set(only.message, [
          ...(refused.get(only.message) ?? []),
          refusedBlock(only, messageOf(error)),
        ]);
        return;
      }
      const middle = Math.ceil(pieces.length / 2);
      await insertOrSplit(pieces.slice(0, middle), insertGuarded, refused);
      await insertOrSplit(pieces.slice(middle), insertGuarded, refused);
    }
  };

  const writeAll = async (
    messages: readonly Held[],
    insert: (pieces: readonly Piece[]) => Promise<void>,
    refused: Map<Held, SetAside[]>,
    onWrite: (outcome: WriteOutcome, seconds: number) => void,
  ): Promise<void> => {
    for (const pieces of byDay(piecesOf(messages)).values()) {
      const startedAt = performance.now();
      const seconds = (): number => (performance.now() - startedAt) / 1000;
      try {
        await insertOrSplit(pieces, insert, refused);
      } catch (error) {
        onWrite('failed', seconds());
        throw error;
      }
      onWrite('stored', seconds());
    }
  };

  return {
    pipeline: 'traces',
    store: 'ClickHouse',
    read: decodeSpansEnvelope,
    rowsOf: ({ header }) => rowsOf(header),
    write: async (batch, onWrite) => {
      const suspects: Held[] = [];
      const fresh: Held[] = [];
      for (const message of batch) {
        (isSuspect(message) ? suspects : fresh).push(message);
        sent.add(message);
      }
      const setAside = new Map<Held, SetAside[]>();
      await writeAll(fresh, insertPlain, setAside, onWrite);
      await writeAll(suspects, insertGuarded, setAside, onWrite);
      return { setAside, homeless: new Set(), purged: new Set() };
    },
    judge,
  };
};
