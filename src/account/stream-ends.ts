import { z } from 'zod';
import { errorText, Fault } from '../model/fault.ts';
import { type Clickhouse, database } from '../stores/clickhouse/client.ts';
import type { Log } from '../telemetry/log.ts';
import type { HeldMessage, Queue } from './compare.ts';
import { type Difference, pipelineOf } from './difference.ts';
import { firstSeconds } from './due-minutes.ts';
import { mergeEqual } from './explain-losses.ts';
import type { FoundDifferences } from './found.ts';
import { countNameless, type LostStretch } from './lost-ends.ts';
import type { Stretch } from './uncounted.ts';

/** The NATS that the streams are in. */
export type NatsIdentity = {
  /** Tells it from an empty or restored one; an older copy of its folder has the same. Undefined while it is not known. */
  id(): Promise<string | undefined>;
  /** No life has begun beyond this number; undefined while that is not known. */
  lastLife(): Promise<number | undefined>;
};

/**
 * Finds what was lost at the end of a stream that has become shorter, where no line of a publisher says so: NATS was put back from an older
 * copy of its folder, with LEDGER in it, after every receiver had ended. ClickHouse has how far each stream was at the looks.
 */
export type StreamEnds = {
  /** Begins a look, before the streams are read. Throws the Faults of NATS and ClickHouse. */
  begin(): Promise<void>;
  /**
   * Notes how far the stream is. True where the next look should come soon. What is shorter at two looks is so: a server that has just
   * become the leader may be late at one.
   */
  note(stream: string, queue: Queue): Promise<boolean>;
  /**
   * Stores what is lost at the ends of the stream, as far as no other difference names it. Where ClickHouse cannot count it now, as where
   * there are too many lines, what is stored stays.
   */
  find(stream: string, now: StreamNow, found: FoundDifferences): Promise<void>;
};

/** A stream as the look found it. */
export type StreamNow = {
  readonly queue: Queue;
  /** All of its messages without a line, where they were read. */
  readonly held: readonly HeldMessage[] | undefined;
  /** Where the redrives of lost dead letters were: the letters are a difference already. */
  readonly redrives: readonly Stretch[];
};

export type StreamEndsDependencies = {
  readonly clickhouse: Clickhouse;
  readonly nats: NatsIdentity;
  /** Ms of a clock that is never set. */
  readonly elapsed: () => number;
  readonly log: Pick<Log, 'warn'>;
};

/** Ends are dated by this second of the minute in which they were found: no comparison of a minute replaces them. */
const endsSecond = 45;

/** Whether the end of a stream found it. */
export const isOfEnds = ({ kind, minute }: Difference): boolean =>
  kind === 'lost_in_the_stream' && minute % 60 === endsSecond;

const count = z.coerce.number();
const row = z.object({
  stream: z.string(),
  ...{ generation: count, began_with: count, last_seen: count, floor_seen: count, life_seen: count },
  ...{ since_at: count, since_seconds: count, seconds: count },
});
type Generation = z.output<typeof row>;

const query = `
  SELECT stream, generation, max(ends.began) AS began_with, max(ends.last) AS last_seen, max(ends.floor) AS floor_seen,
    max(ends.life) AS life_seen, toUnixTimestamp(min(ends.since)) AS since_at,
    toUnixTimestamp(now()) - since_at AS since_seconds, toUnixTimestamp(now()) - toUnixTimestamp(max(ends.at)) AS seconds
  FROM ${database}.ingest_stream_ends AS ends WHERE nats = {nats:String}
  GROUP BY stream, generation ORDER BY stream, generation`;

/** An unchanged end is written again after this time, so that it does not expire. */
const keptSeconds = 86_400;
/** Lines may still come for a while, and later ones are rare. */
const oftenSeconds = 900;
const seldomMs = 600_000;
/** Messages that nobody has read for this long count as those of the lost ones' numbers. */
const unreadMsMax = 12 * 3_600_000;

/** All up to here were settled, or are gaps that other rules report. */
const floorOf = ({ messages, first, last, floor }: Queue): number =>
  messages === 0 ? last : Math.max(first - 1, Math.min(floor, last));

type DatedStretch = LostStretch & Pick<Generation, 'since_at'>;

/** What lay between the floor of a generation and its end, beyond what the next one began with. */
const stretchesOf = (generations: readonly Generation[]): DatedStretch[] =>
  generations.flatMap((each, index) => {
    const next = generations[index + 1];
    if (next === undefined || next.since_seconds > firstSeconds) return [];
    const first = Math.max(next.began_with, each.floor_seen) + 1;
    if (first > each.last_seen) return [];
    return [{ first, last: each.last_seen, life: each.life_seen, since_at: next.since_at }];
  });

const overlapOf = (one: Pick<Stretch, 'first' | 'last'>, other: Pick<Stretch, 'first' | 'last'>): number =>
  Math.max(0, Math.min(one.last, other.last) - Math.max(one.first, other.first) + 1);

class Ends implements StreamEnds {
  private readonly deps: StreamEndsDependencies;
  private id: string | undefined;
  private generations = new Map<string, Generation[]>();
  /** By stream that was shorter at the look before: its generation then, and its end. */
  private readonly short = new Map<string, { readonly generation: number; readonly end: number }>();
  private readonly foundAt = new Map<string, number>();
  /** The same where the messages were not read: what is stored only became less. */
  private readonly loweredAt = new Map<string, number>();
  /** When that was not so last; before that, when the stream was looked at first. */
  private readonly readAt = new Map<string, number>();
  /** Streams whose losses could not be counted. */
  private readonly uncounted = new Set<string>();

  constructor(deps: StreamEndsDependencies) {
    this.deps = deps;
  }

  async begin(): Promise<void> {
    this.id = await this.deps.nats.id();
    const params = { nats: this.id ?? '' };
    const rows = this.id === undefined ? [] : await this.deps.clickhouse.rows(row, query, { params });
    this.generations = Map.groupBy(rows, ({ stream }) => stream);
  }

  async note(stream: string, queue: Queue): Promise<boolean> {
    if (this.id === undefined || !queue.exists) return false;
    const known = this.generations.get(stream)?.at(-1);
    if (known === undefined || queue.last >= known.last_seen) {
      this.short.delete(stream);
      const isSame = known?.last_seen === queue.last && known.floor_seen >= floorOf(queue);
      if (!isSame || known.seconds > keptSeconds)
        await this.write(stream, known?.generation ?? 0, known?.began_with ?? 0, queue);
      return known !== undefined && known.generation > 0 && known.since_seconds < oftenSeconds / 10;
    }
    const before = this.short.get(stream);
    if (before?.generation !== known.generation)
      this.short.set(stream, { generation: known.generation, end: queue.last });
    else {
      await this.write(stream, known.generation + 1, Math.min(before.end, queue.last), queue);
      await this.begin();
    }
    return true;
  }

  async find(stream: string, now: StreamNow, found: FoundDifferences): Promise<void> {
    const { queue, held } = now;
    const at = this.deps.elapsed();
    const generations = this.generations.get(stream) ?? [];
    const stretches = stretchesOf(generations);
    const known = [...found.all].filter((each) => each.stream === stream && isOfEnds(each));
    // Of messages that were not read it is not known which ones are later ones under the numbers of lost ones.
    const isUnread =
      held === undefined && known.length > 0 && stretches.some((each) => overlapOf(each, queue) > 0);
    if (!isUnread || !this.readAt.has(stream)) this.readAt.set(stream, at);
    const lastAt = isUnread ? this.loweredAt : this.foundAt;
    const isLate = at - (lastAt.get(stream) ?? Number.NEGATIVE_INFINITY) >= seldomMs;
    const isFresh = !this.uncounted.has(stream) && (generations.at(-1)?.since_seconds ?? 0) < oftenSeconds;
    if (stretches.length === 0 || !(isLate || (isFresh && !isUnread))) return;
    const counted = await this.count(stream, stretches);
    if (counted !== undefined) {
      // They may be the lost ones, which then must not stay lost for ever; but a queue that moves is read again soon.
      const areTakenOff = !isUnread || at - (this.readAt.get(stream) ?? at) >= unreadMsMax;
      const losses = counted.map((each) => lossOf(stream, each, now, areTakenOff ? thereIn(each, now) : 0));
      await replace(found, stream, mergeEqual(losses), isUnread ? known : undefined);
    }
    lastAt.set(stream, this.deps.elapsed());
  }

  /** The stretches with what is nameless in them; undefined where that cannot be counted now. */
  private async count<S extends LostStretch>(
    stream: string,
    stretches: readonly S[],
  ): Promise<(S & { readonly nameless: number })[] | undefined> {
    const counted: (S & { readonly nameless: number })[] = [];
    try {
      for (const stretch of stretches)
        counted.push({
          ...stretch,
          nameless: await countNameless(this.deps.clickhouse, stream, stretch),
        });
    } catch (error) {
      // A query that is too heavy must not keep the whole account unknown. Without ClickHouse the look fails elsewhere.
      if (!(error instanceof Fault) || error.kind !== 'transient') throw error;
      const fields = { stream, error: errorText(error) };
      this.deps.log.warn(
        fields,
        'what is lost at the end of a stream was not counted; tried again in ten minutes',
      );
      this.uncounted.add(stream);
      return undefined;
    }
    this.uncounted.delete(stream);
    return counted;
  }

  private async write(stream: string, generation: number, began: number, queue: Queue): Promise<void> {
    // Read after the stream: every life that has published to it had begun.
    const life = await this.deps.nats.lastLife();
    if (life === undefined) return;
    const end = { nats: this.id, stream, generation, began, last: queue.last, floor: floorOf(queue), life };
    await this.deps.clickhouse.insert(`INSERT INTO ${database}.ingest_stream_ends FORMAT JSONEachRow`, [
      Buffer.from(`${JSON.stringify(end)}\n`),
    ]);
  }
}

/** Whether a message is one of the stretch, and none that came under its number later; of those without a serial it is not known. */
const isIn = (stretch: LostStretch, sequence: number, life: number): boolean =>
  sequence >= stretch.first && sequence <= stretch.last && life <= stretch.life;

/** Messages of the stretch that are in the stream; where they were not read, as many as may be. */
const thereIn = (stretch: LostStretch, { queue, held }: StreamNow): number =>
  held === undefined
    ? Math.min(queue.messages, overlapOf(stretch, queue))
    : held.filter(({ sequence, life }) => isIn(stretch, sequence, life)).length;

/** What is lost of the stretch beside the messages that are there. */
const lossOf = (
  stream: string,
  stretch: DatedStretch & { readonly nameless: number },
  { redrives }: StreamNow,
  there: number,
): Difference => {
  const ofLetters = redrives.map((each) => Math.min(each.messages, overlapOf(each, stretch)));
  const messages = ofLetters.reduce((left, each) => left - each, stretch.nameless - there);
  return {
    ...{ kind: 'lost_in_the_stream', stream, pipeline: pipelineOf(stream), dataId: 0, appId: 0, items: 0 },
    minute: 60 * Math.floor(stretch.since_at / 60) + endsSecond,
    messages: Math.max(0, messages),
  };
};

/** Stores these losses instead of earlier ones. With `lowered`, these only become less. */
const replace = async (
  found: FoundDifferences,
  stream: string,
  losses: readonly Difference[],
  lowered?: readonly Difference[],
): Promise<void> => {
  const minutes = new Set(losses.map(({ minute }) => minute));
  const figures = lowered && new Map(lowered.map(({ minute, messages }) => [minute, messages]));
  const now = losses.map((each) => ({
    ...each,
    messages: figures ? Math.min(each.messages, figures.get(each.minute) ?? 0) : each.messages,
  }));
  // A clock that was set back dates a generation earlier than before. What was found before all of these is judged no more.
  const from = Math.min(...minutes);
  const isJudged = (minute: number): boolean => (figures ? minutes.has(minute) : minute >= from);
  await found.replace(
    (each) => each.stream === stream && isOfEnds(each) && isJudged(each.minute),
    now.filter(({ messages }) => messages > 0),
  );
};

export const createStreamEnds = (deps: StreamEndsDependencies): StreamEnds => new Ends(deps);
