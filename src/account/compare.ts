import { type Difference, type DifferenceKind, pipelineOf } from './difference.ts';

/** An owner by its ids; both 0: nobody. */
type OwnerIds = { readonly dataId: number; readonly appId: number };

/** An owner in a minute, Unix seconds. */
export type OwnerMinute = OwnerIds & { readonly minute: number };

/** The sum of the publishers' lines of one life, minute and owner; owner 0 (both ids 0) counts messages. */
export type Published = OwnerMinute & {
  readonly life: number;
  readonly messages: number;
  readonly items: number;
  /** Least and greatest sequence of a PubAck; 0 without one. */
  readonly sequenceFirst: number;
  readonly sequenceLast: number;
  /** It holds the serials up to this one: the last `closed` of the life, or of this line where only that one arrived. */
  readonly reach: number;
};

/** The settled items of one life, minute and owner, by how the publishers' book has their serials. */
export type Settled = OwnerMinute & {
  readonly life: number;
  /** Of serials that the life has counted. */
  readonly counted: number;
  /** Of serials beyond its last count. */
  readonly beyond: number;
  /** Of doubtful serials. */
  readonly doubtful: number;
  /** Messages of serials that the life has counted. */
  readonly countedMessages: number;
};

/** The settled messages of one life and minute. */
export type SettledMessages = {
  readonly life: number;
  readonly minute: number;
  readonly counted: number;
  readonly beyond: number;
  /** Counted ones that have fewer lines than owners. */
  readonly short: number;
};

/** A message that is in its stream and has no line. */
export type HeldMessage = {
  readonly sequence: number;
  readonly life: number;
  readonly serial: number;
  readonly minute: number;
  readonly items: readonly (OwnerIds & { readonly items: number })[];
};

/** The state of a stream and its consumer at the look; `exists` false: the stream is gone. */
export type Queue = {
  readonly exists: boolean;
  /** The sequence that it began with: lower ones are those of an earlier stream of this name. */
  readonly begin: number;
  readonly first: number;
  readonly last: number;
  readonly messages: number;
  /** The last sequence when the books had been read: a PubAck beyond it is of a tail that was cut. */
  readonly end: number;
  /** Every message up to this sequence was acknowledged, as the server has it. */
  readonly floor: number;
};

/** What is known of the minutes that are compared. */
export type Evidence = {
  readonly stream: string;
  readonly queue: Queue;
  readonly published: readonly Published[];
  readonly settled: readonly Settled[];
  readonly messages: readonly SettledMessages[];
  /** Messages at or below the floor that are there and were never settled. */
  readonly stuck: readonly HeldMessage[];
  /** All messages of the stream without a line, where they were read; undefined where they were not. */
  readonly held: readonly HeldMessage[] | undefined;
  /** Messages without a line that the floor has passed just now: they are there. */
  readonly passed?: readonly HeldMessage[];
  /** Whether the publish of a message ended without an answer: then no line of a publisher has it. */
  readonly isDoubtful: (message: HeldMessage) => boolean;
  /** Lives that ended without a last line. */
  readonly silent: ReadonlySet<number>;
  /** Sequences from the first to the last of this line that are neither settled nor in the stream. */
  readonly gapsOf: (head: Published) => number;
};

export type Comparison = {
  readonly differences: readonly Difference[];
  /** Items that were published and are on their way. */
  readonly inFlight: number;
  /** Minutes (Unix seconds) in which something is on its way: to be compared again. */
  readonly pending: ReadonlySet<number>;
  /** Of these, minutes of which it is not known what else waits: what was found of them before stands. */
  readonly unjudged: ReadonlySet<number>;
  /** Messages that were lost in the stream, by minute. */
  readonly lost: ReadonlyMap<number, number>;
};

const placeOf = ({ life, minute }: { readonly life: number; readonly minute: number }): string =>
  `${life} ${minute}`;

const ownerOf = ({ dataId, appId }: OwnerIds): string => `${dataId} ${appId}`;

/** The last sequence of a PubAck in any line of a life and minute, as far as the stream still reaches. */
const endOf = (head: Published, lines: readonly Published[], { end }: Queue): number =>
  Math.min(
    end,
    lines.reduce((last, { sequenceLast }) => Math.max(last, sequenceLast), head.sequenceLast),
  );

/**
 * Whether every message up to this sequence has had its chance to settle: the floor has passed it, or the stream is gone. Of a stream that
 * has fewer messages than its PubAcks named (a cut tail, an older copy) all of those have to be acknowledged.
 */
const isDue = (end: number, { exists, floor }: Queue): boolean => !exists || floor >= end;

/** Sums by kind, owner and minute over all lives. */
class Differences {
  readonly lost = new Map<number, number>();
  private readonly sums = new Map<string, Difference>();
  private readonly stream: string;

  constructor(stream: string) {
    this.stream = stream;
  }

  add(
    kind: DifferenceKind,
    minute: number,
    { dataId, appId }: OwnerIds,
    items: number,
    messages: number,
  ): void {
    const key = `${kind} ${minute} ${dataId} ${appId}`;
    const known = this.sums.get(key);
    this.sums.set(key, {
      kind,
      stream: this.stream,
      pipeline: pipelineOf(this.stream),
      dataId,
      appId,
      minute,
      items: items + (known?.items ?? 0),
      messages: messages + (known?.messages ?? 0),
    });
  }

  get all(): Difference[] {
    return [...this.sums.values()];
  }
}

const nobody: OwnerIds = { dataId: 0, appId: 0 };

/** Messages and items of an owner. */
type OwnerSum = { messages: number; items: number };

/** By owner: what messages that wait have of the items that the owner's line has counted. */
const countedByOwner = (
  messages: readonly HeldMessage[],
  reachOf: (owner: string) => number,
): Map<string, OwnerSum> => {
  const sums = new Map<string, OwnerSum>();
  for (const { serial, items } of messages)
    for (const each of items) {
      const owner = ownerOf(each);
      if (serial > reachOf(owner)) continue;
      const known = sums.get(owner) ?? { messages: 0, items: 0 };
      sums.set(owner, { messages: known.messages + 1, items: known.items + each.items });
    }
  return sums;
};

/** A message with a serial is one message, regardless of its copies in the stream. */
const distinct = (messages: readonly HeldMessage[]): HeldMessage[] => [
  ...new Map(messages.map((each) => [nameOf(each), each])).values(),
];

const nameOf = ({ life, serial, sequence }: HeldMessage): string =>
  life === 0 ? `sequence ${sequence}` : `${life}.${serial}`;

/** Sequences of these messages from one to another, both included. A message may be in the list twice: a stuck one that was also held. */
export const countThere = (messages: readonly HeldMessage[], first: number, last: number): number =>
  new Set(
    messages.map(({ sequence }) => sequence).filter((sequence) => sequence >= first && sequence <= last),
  ).size;

/** Messages of an owner that are neither settled nor there: of the missing ones, those that named it. */
const missingOf = (
  line: Published | undefined,
  settled: Settled | undefined,
  there: number,
  missingMessages: number,
): number => {
  const missing = (line?.messages ?? 0) - (settled?.countedMessages ?? 0) - there;
  return Math.max(1, Math.min(missing, missingMessages));
};

/** Messages of one life and minute that have no line, each once, doubtful ones not among them. */
type Waiting = { readonly stuck: readonly HeldMessage[]; readonly held: readonly HeldMessage[] };

/** Compares one life in one minute. Returns the items on their way. */
const comparePlace = (
  evidence: Evidence,
  head: Published,
  lines: readonly Published[],
  settled: readonly Settled[],
  messages: SettledMessages | undefined,
  waiting: Waiting,
  found: Differences,
): { readonly onTheWay: number; readonly isDue: boolean; readonly isWhole: boolean } => {
  const { queue, held } = evidence;
  const end = endOf(head, lines, queue);
  const hasSettled = isDue(end, queue);
  // What came after the stream was read is not among the held messages.
  const isWhole = hasSettled || (held !== undefined && queue.last >= end);
  const settledOf = new Map(settled.map((each) => [ownerOf(each), each]));
  const published = new Map(lines.map((line) => [ownerOf(line), line]));
  const owners = new Map<string, OwnerIds>();
  const ofWaiting = [...waiting.stuck, ...waiting.held].flatMap(({ items }) => items);
  for (const each of [...lines, ...settled, ...ofWaiting]) owners.set(ownerOf(each), each);
  const reachOf = (owner: string): number => published.get(owner)?.reach ?? head.reach;
  const stuckOf = countedByOwner(waiting.stuck, reachOf);
  const heldOf = countedByOwner(waiting.held, reachOf);
  const there = [...waiting.stuck, ...waiting.held].filter(({ serial }) => serial <= head.reach).length;

  const missingMessages = isWhole ? Math.max(0, head.messages - (messages?.counted ?? 0) - there) : 0;
  const inStream = missingMessages === 0 ? 0 : Math.min(missingMessages, evidence.gapsOf(head));
  const byEngine = missingMessages - inStream;
  if (inStream > 0) found.lost.set(head.minute, inStream + (found.lost.get(head.minute) ?? 0));
  let named = 0;
  let onTheWay = 0;
  for (const [key, owner] of owners) {
    const stuck = stuckOf.get(key) ?? { messages: 0, items: 0 };
    const waits = heldOf.get(key) ?? { messages: 0, items: 0 };
    const missing = (published.get(key)?.items ?? 0) - (settledOf.get(key)?.counted ?? 0) - stuck.items;
    if (!isWhole) {
      onTheWay += Math.max(0, missing);
      continue;
    }
    onTheWay += waits.items;
    const gone = missing - waits.items;
    if (gone < 0) found.add('not_counted', head.minute, owner, -gone, 0);
    if (gone <= 0) continue;
    named += gone;
    if (missingMessages === 0) {
      // Without a message it would be a difference with a store.
      found.add('unrecorded', head.minute, owner, gone, Math.max(1, messages?.short ?? 0));
      continue;
    }
    const waiting = stuck.messages + waits.messages;
    const own = missingOf(published.get(key), settledOf.get(key), waiting, missingMessages);
    const partOfStream = (count: number): number =>
      byEngine === 0 ? count : Math.floor((count * inStream) / missingMessages);
    const ofStream = partOfStream(gone);
    const messagesOfStream = partOfStream(own);
    if (inStream > 0) found.add('lost_in_the_stream', head.minute, owner, ofStream, messagesOfStream);
    if (byEngine > 0)
      found.add('lost_by_the_engine', head.minute, owner, gone - ofStream, own - messagesOfStream);
  }
  // Messages without items, or whose items no line of the publisher names.
  if (named === 0 && inStream > 0) found.add('lost_in_the_stream', head.minute, nobody, 0, inStream);
  if (named === 0 && byEngine > 0) found.add('lost_by_the_engine', head.minute, nobody, 0, byEngine);
  return { onTheWay, isDue: hasSettled, isWhole };
};

/**
 * What lives that ended without a last line had not counted: what was settled of it is received. How many more messages there were is not
 * known, so each of these lives has a difference, with 0 items where nothing was found.
 */
const addNotCounted = ({ silent, settled, messages, published }: Evidence, found: Differences): void => {
  const named = new Set<number>();
  const messagesAt = new Map(messages.map((each) => [placeOf(each), each]));
  for (const { life, minute, beyond, dataId, appId } of settled) {
    if (beyond === 0 || !silent.has(life)) continue;
    named.add(life);
    found.add(
      'not_counted',
      minute,
      { dataId, appId },
      beyond,
      messagesAt.get(placeOf({ life, minute }))?.beyond ?? 0,
    );
  }
  const lastMinute = new Map<number, number>();
  for (const { life, minute } of published) lastMinute.set(life, Math.max(minute, lastMinute.get(life) ?? 0));
  for (const life of silent) {
    const minute = lastMinute.get(life);
    if (minute !== undefined && !named.has(life)) found.add('not_counted', minute, nobody, 0, 0);
  }
};

/**
 * Compares the two books over whole minutes (architecture 10.2): pure, so that random histories can be run against a model. `published`
 * and `settled` hold every line of these minutes. A difference is named once its messages have had their chance to settle; before that
 * their items are in flight.
 */
export const compareBooks = (evidence: Evidence): Comparison => {
  const { published, settled, messages, held, stream, isDoubtful } = evidence;
  const stuck = distinct(evidence.stuck);
  const found = new Differences(stream);
  const heads = published.filter(({ dataId, appId }) => dataId === 0 && appId === 0);
  const lines = Map.groupBy(
    published.filter(({ dataId, appId }) => dataId !== 0 || appId !== 0),
    placeOf,
  );
  const settledAt = Map.groupBy(settled, placeOf);
  const messagesAt = new Map(messages.map((each) => [placeOf(each), each]));
  const stuckNames = new Set(stuck.map(nameOf));
  const onlyHeld = distinct([...(held ?? []), ...(evidence.passed ?? [])]).filter(
    (each) => !stuckNames.has(nameOf(each)),
  );
  const isBooked = (each: HeldMessage): boolean => !isDoubtful(each);
  const stuckAt = Map.groupBy(stuck.filter(isBooked), placeOf);
  const heldAt = Map.groupBy(onlyHeld.filter(isBooked), placeOf);
  const pending = new Set<number>();
  const unjudged = new Set<number>();
  let inFlight = 0;
  for (const head of heads) {
    const place = placeOf(head);
    const waiting = { stuck: stuckAt.get(place) ?? [], held: heldAt.get(place) ?? [] };
    const ofPlace = [lines.get(place) ?? [], settledAt.get(place) ?? []] as const;
    const result = comparePlace(evidence, head, ...ofPlace, messagesAt.get(place), waiting, found);
    inFlight += result.onTheWay;
    if (result.onTheWay > 0 || !result.isDue) pending.add(head.minute);
    if (!result.isWhole) unjudged.add(head.minute);
  }
  for (const { minute, items } of stuck)
    for (const { items: count, ...owner } of items.length > 0 ? items : [{ ...nobody, items: 0 }])
      found.add('stuck', minute, owner, count, 1);
  addNotCounted(evidence, found);
  return { differences: found.all, inFlight, pending, unjudged, lost: found.lost };
};
