import { z } from 'zod';
import { type Clickhouse, database } from '../stores/clickhouse/client.ts';

/** Lives of a stream that have fallen silent, each with its newest minute (Unix seconds). */
export type SilentLives = ReadonlyMap<number, number>;

/** A life that wrote lines of late. */
export type SeenLife = {
  readonly stream: string;
  readonly life: number;
  /** The newest minute of its lines, Unix seconds. */
  readonly minute: number;
  /** It wrote nothing for a while, and no last line. */
  readonly isSilent: boolean;
  /** How long ago its newest line was written; 0 where it has written a last one. */
  readonly quietSeconds: number;
  /** It wrote a line itself just now, or its last one: that its messages settle says no such thing. */
  readonly isWriting: boolean;
};

const count = z.coerce.number();
const lifeRow = z.object({
  ...{ stream: z.string(), life: count, minute_at: count, quiet_seconds: count, is_writing: count },
});

const query = `
  SELECT stream, life, toUnixTimestamp(max(minute)) AS minute_at,
    if(max(ended) = 0, greatest(0, dateDiff('second', max(at), now())), 0) AS quiet_seconds,
    max(ended) = 1 OR max(published_at) >= now() - {silent:UInt32} AS is_writing
  FROM
  (
    SELECT stream, life, minute, at, ended, at AS published_at FROM ${database}.ingest_published
    WHERE at >= now() - {published:UInt32}
    UNION ALL
    SELECT stream, life, minute, at, 0, toDateTime(0) FROM ${database}.ingest_settled
    WHERE life > 0 AND at >= now() - {settled:UInt32}
  )
  GROUP BY stream, life`;

/** After this time without a line and without a last one, a life is silent. */
const silentSeconds = 60;

/** The lives with lines of the publishers in the last `published` seconds, or of the settlers in the last `settled`. Throws the Faults of ClickHouse. */
export const readLives = async (
  clickhouse: Clickhouse,
  seconds: { readonly published: number; readonly settled: number },
): Promise<SeenLife[]> => {
  const params = { ...seconds, silent: silentSeconds };
  const rows = await clickhouse.rows(lifeRow, query, { params });
  return rows.map(({ minute_at: minute, quiet_seconds: quietSeconds, is_writing, ...each }) => ({
    ...{ ...each, minute, quietSeconds },
    isSilent: quietSeconds > silentSeconds,
    isWriting: is_writing === 1,
  }));
};

/** Knows the lives that have fallen silent. */
export type SilentLivesWatch = {
  /**
   * Those of a stream. Asks ClickHouse twice a minute at most, because a silent life stays silent; and not before one can have fallen
   * silent, or written again. Throws its Faults.
   */
  of(stream: string): Promise<SilentLives>;
};

const everyMsMin = 30_000;
/** A line of the settlers shows that its life is at work, which that of a few minutes ago does not: there are many of them. */
const settledSeconds = 150;

/** `windowSeconds`: how far back lines are compared. `elapsed`: ms of a clock that is never set. */
export const createSilentLives = (
  read: (seconds: { readonly published: number; readonly settled: number }) => Promise<readonly SeenLife[]>,
  windowSeconds: number,
  elapsed: () => number,
): SilentLivesWatch => {
  const silent = new Map<string, Map<number, number>>();
  let dueAt: number | undefined;

  const note = ({ stream, life, minute, isSilent, isWriting }: SeenLife): void => {
    const lives = silent.get(stream) ?? new Map<number, number>();
    silent.set(stream, lives);
    if (isSilent) lives.set(life, minute);
    else if (isWriting) lives.delete(life);
  };

  return {
    of: async (stream) => {
      const now = elapsed();
      if (dueAt === undefined || now >= dueAt) {
        // At first all lines that are compared; later on what fell silent before is remembered.
        const settled = dueAt === undefined ? windowSeconds : settledSeconds;
        let quietSecondsMax = 0;
        for (const life of await read({ published: windowSeconds, settled })) {
          note(life);
          quietSecondsMax = Math.max(quietSecondsMax, life.quietSeconds);
        }
        dueAt = now + Math.max(everyMsMin, (silentSeconds - quietSecondsMax) * 1000);
      }
      return silent.get(stream) ?? new Map();
    },
  };
};

/** Knows under which minutes silent lives of a stream were found to have ended, so that this is taken back where one writes again. */
export type NotedLives = {
  has(stream: string, life: number): boolean;
  /** Minutes of lives that are silent no more, and of no life that is. */
  wokenAt(stream: string, silent: SilentLives): ReadonlySet<number>;
  /** These were compared, with these lines. Forgets the lives that are silent no more. */
  compared(stream: string, silent: SilentLives, lines: readonly Pick<SeenLife, 'life' | 'minute'>[]): void;
};

export const createNotedLives = (): NotedLives => {
  const noted = new Map<string, ReadonlyMap<number, ReadonlySet<number>>>();
  const minutesOf = (stream: string, isWanted: (life: number) => boolean): Set<number> =>
    new Set(
      [...(noted.get(stream) ?? [])].flatMap(([life, minutes]) => (isWanted(life) ? [...minutes] : [])),
    );
  return {
    has: (stream, life) => noted.get(stream)?.has(life) === true,
    wokenAt: (stream, silent) =>
      minutesOf(stream, (life) => !silent.has(life)).difference(
        minutesOf(stream, (life) => silent.has(life)),
      ),
    compared: (stream, silent, lines) => {
      const now = new Map<number, Set<number>>();
      for (const life of silent.keys()) now.set(life, new Set(noted.get(stream)?.get(life)));
      for (const { life, minute } of lines) now.get(life)?.add(minute);
      noted.set(stream, now);
    },
  };
};
