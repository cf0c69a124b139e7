import { type Difference, type DifferenceKind, pipelineOf } from './difference.ts';

/** The sum of the publishers' lines of one life, minute and owner; owner 0 (both ids 0) counts messages. Minutes in Unix seconds. */
export type Published = {
  readonly life: number;
  readonly minute: number;
  readonly dataId: number;
  readonly appId: number;
  readonly messages: number;
  readonly items: number;
  /** Least and greatest sequence of a PubAck; 0 without one. */
  readonly sequenceFirst: number;
  readonly sequenceLast: number;
};

/** The settled items of one life, minute and owner, by how the publishers' book has their serials. */
export type Settled = {
  readonly life: number;
  readonly minute: number;
  readonly dataId: number;
  readonly appId: number;
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
  readonly items: readonly { readonly dataId: number; readonly appId: number; readonly items: number }[];
};

/** The state of a stream and its consumer at the look; `exists` false: the stream is gone. */
export type Queue = {
  readonly exists: boolean;
  readonly first: number;
  readonly last: number;
  readonly messages: number;
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
  /** Messages that were lost in the stream, by minute. */
  readonly lost: ReadonlyMap<number, number>;
};

const placeOf = ({ life, minute }: { readonly life: number; readonly minute: number }): string =>
  `${life} ${minute}`;

type OwnerIds = { readonly dataId: number; readonly appId: number };

const ownerOf = ({ dataId, appId }: OwnerIds): string => `${dataId} ${appId}`;

const grouped = <T>(rows: readonly T[], keyOf: (row: T) => string): Map<string, T[]> => {
  const groups = new Map<string, T[]>();
  for (const row of rows) {
    const key = keyOf(row);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [row]);
    else group.push(row);
  }
  return groups;
};

/**
 * Whether every message of a line has had its chance to settle: the floor has passed its last PubAck; or the stream has fewer messages
 * than its PubAcks named (a cut tail, an older copy) and all of those were acknowledged; or the stream is gone.
 */
const isDue = ({ sequenceLast }: Published, { exists, last, floor }: Queue): boolean =>
  !exists || floor >= Math.min(sequenceLast, last);

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

/** Items by owner of messages that have no line. */
const itemsByOwner = (messages: readonly HeldMessage[]): Map<string, number> => {
  const sums = new Map<string, number>();
  for (const { items } of messages)
    for (const each of items) sums.set(ownerOf(each), (sums.get(ownerOf(each)) ?? 0) + each.items);
  return sums;
};

/** Messages of an owner that are neither settled nor there: of the missing ones, those that named it. */
const missingOf = (
  owner: string,
  line: Published | undefined,
  settled: Settled | undefined,
  waiting: readonly HeldMessage[],
  missingMessages: number,
): number => {
  const there = waiting.filter(({ items }) => items.some((each) => ownerOf(each) === owner)).length;
  const missing = (line?.messages ?? 0) - (settled?.countedMessages ?? 0) - there;
  return Math.max(1, Math.min(missing, missingMessages));
};

/** Compares one life in one minute. Returns the items on their way. */
const comparePlace = (
  evidence: Evidence,
  head: Published,
  lines: readonly Published[],
  settled: readonly Settled[],
  messages: SettledMessages | undefined,
  waiting: { readonly stuck: readonly HeldMessage[]; readonly held: readonly HeldMessage[] },
  found: Differences,
): number => {
  const { queue, held } = evidence;
  const isWhole = isDue(head, queue) || held !== undefined;
  const waitingAll = [...waiting.stuck, ...waiting.held];
  const unsettled = itemsByOwner(waitingAll);
  const settledOf = new Map(settled.map((each) => [ownerOf(each), each]));
  const published = new Map(lines.map((line) => [ownerOf(line), line]));
  const owners = new Map<string, OwnerIds>();
  for (const each of [...lines, ...settled]) owners.set(ownerOf(each), each);

  const missingMessages = isWhole
    ? Math.max(0, head.messages - (messages?.counted ?? 0) - waitingAll.length)
    : 0;
  const inStream = missingMessages === 0 ? 0 : Math.min(missingMessages, evidence.gapsOf(head));
  const byEngine = missingMessages - inStream;
  if (inStream > 0) found.lost.set(head.minute, inStream + (found.lost.get(head.minute) ?? 0));
  let named = 0;
  let inFlight = 0;
  for (const [key, owner] of owners) {
    const missing = (published.get(key)?.items ?? 0) - (settledOf.get(key)?.counted ?? 0);
    const waits = unsettled.get(key) ?? 0;
    const gone = missing - waits;
    if (!isWhole) {
      inFlight += Math.max(0, missing);
      continue;
    }
    inFlight += Math.max(0, waits);
    if (gone < 0) found.add('not_counted', head.minute, owner, -gone, 0);
    if (gone <= 0) continue;
    named += gone;
    if (missingMessages === 0) {
      found.add('unrecorded', head.minute, owner, gone, messages?.short ?? 0);
      continue;
    }
    const own = missingOf(key, published.get(key), settledOf.get(key), waitingAll, missingMessages);
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
  return inFlight;
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
 * Compares the two books over whole minutes (architecture 10.4): pure, so that random histories can be run against a model. `published`
 * and `settled` hold every line of these minutes. A difference is named once its messages have had their chance to settle; before that
 * their items are in flight.
 */
export const compareBooks = (evidence: Evidence): Comparison => {
  const { published, settled, messages, stuck, held, stream } = evidence;
  const found = new Differences(stream);
  const heads = published.filter(({ dataId, appId }) => dataId === 0 && appId === 0);
  const lines = grouped(
    published.filter(({ dataId, appId }) => dataId !== 0 || appId !== 0),
    placeOf,
  );
  const settledAt = grouped(settled, placeOf);
  const messagesAt = new Map(messages.map((each) => [placeOf(each), each]));
  const stuckAt = grouped(stuck, placeOf);
  const stuckSequences = new Set(stuck.map(({ sequence }) => sequence));
  const heldAt = grouped(held?.filter(({ sequence }) => !stuckSequences.has(sequence)) ?? [], placeOf);
  const pending = new Set<number>();
  let inFlight = 0;
  for (const head of heads) {
    const place = placeOf(head);
    const waiting = { stuck: stuckAt.get(place) ?? [], held: heldAt.get(place) ?? [] };
    const ofPlace = [lines.get(place) ?? [], settledAt.get(place) ?? []] as const;
    const onTheWay = comparePlace(evidence, head, ...ofPlace, messagesAt.get(place), waiting, found);
    inFlight += onTheWay;
    if (onTheWay > 0 || !isDue(head, evidence.queue)) pending.add(head.minute);
  }
  for (const { minute, items } of stuck)
    for (const { items: count, ...owner } of items.length > 0 ? items : [{ ...nobody, items: 0 }])
      found.add('stuck', minute, owner, count, 1);
  addNotCounted(evidence, found);
  return { differences: found.all, inFlight, pending, lost: found.lost };
};
