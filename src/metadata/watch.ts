import type { Bus } from '../bus/connection.ts';
import { isConsumerMissing, isStreamMissing, type StreamHealth, streamHealth } from '../bus/stream-state.ts';
import type { StreamDefinition } from '../config/pipelines.ts';
import { errorText } from '../model/fault.ts';
import { type Rounds, startRounds } from '../runtime/rounds.ts';
import type { Clickhouse } from '../stores/clickhouse/client.ts';
import type { Log } from '../telemetry/log.ts';
import type { WatchMetrics } from '../telemetry/watch-metrics.ts';
import type { StreamTrends } from './pulse/stream-trends.ts';
import { createStoreFigures, type StoreFigures } from './store-figures.ts';
import { createStreamLook, type StreamLook } from './stream-look.ts';
import type { UsageRecords } from './usage.ts';

/** Feeds figures of the bus and of ClickHouse into the metrics of metadata. */
export type Watch = {
  /** Streams that were missing at the last look. */
  readonly missing: ReadonlySet<string>;
  readonly trends: StreamTrends;
  /** Why ClickHouse did not answer the last look; empty where it did, undefined before the first one. */
  clickhouseProblem(): string | undefined;
  stop(): Promise<void>;
};

export type WatchDeps = {
  readonly bus: Bus;
  readonly clickhouse: Clickhouse;
  /** Undefined until they were read. */
  readonly records: () => UsageRecords | undefined;
  readonly streams: readonly StreamDefinition[];
  /** As in `StreamLookDeps`. */
  readonly furtherStreams?: () => Promise<readonly StreamDefinition[]>;
  readonly metrics: WatchMetrics;
  readonly now: () => number;
  readonly log: Log;
};

/** A missing stream reports nothing and does not hide the metrics of the others. */
const healthOf = async (
  { bus }: WatchDeps,
  { name, consumer }: StreamDefinition,
): Promise<StreamHealth | undefined> => {
  try {
    return await streamHealth(bus, name, consumer?.name);
  } catch (error) {
    if (isStreamMissing(error) || isConsumerMissing(error)) return undefined;
    throw error;
  }
};

const lookForClickhouse = async ({ clickhouse }: WatchDeps): Promise<void> => {
  await clickhouse.run('SELECT 1');
};

/** A look at ClickHouse takes at most this share of the time, so that a long table of outcomes does not keep it busy. */
const storeShare = 0.05;
/** That at the outcomes of an hour reads all of them, with a million for a second: its share is smaller, as long as the figures stay young. */
const outcomesShare = 0.01;
const youngMsMax = 300_000;

type WatchedLook = {
  readonly what: string;
  readonly everyMs: number;
  /** Of the time; 1 where the interval alone bounds it. */
  readonly shareMax: number;
  /** The smaller share that it takes as long as its figures stay young. */
  readonly share?: number;
  readonly look: (deps: WatchDeps, streams: StreamLook, figures: StoreFigures) => Promise<void>;
};

const looks: readonly WatchedLook[] = [
  // The input of transfer's scaling: never older than its interval, and cheap for the server at any size of the stream.
  { what: 'streams', everyMs: 5_000, shareMax: 1, look: (_, streams) => streams.look() },
  // One statement without a table: an outage of ClickHouse is named soon, and its end, too.
  { what: 'clickhouse', everyMs: 5_000, shareMax: 1, look: lookForClickhouse },
  { what: 'parts', everyMs: 30_000, shareMax: storeShare, look: (_, __, figures) => figures.parts() },
  {
    what: 'outcomes',
    everyMs: 60_000,
    shareMax: storeShare,
    share: outcomesShare,
    look: (_, __, figures) => figures.outcomes(),
  },
  // Of days and hours: a minute more is nothing.
  { what: 'usage', everyMs: 120_000, shareMax: storeShare, look: (_, __, figures) => figures.usage() },
];

/** The wait before a failed read is repeated. */
const retryMs = 5_000;

/**
 * Looks until it is stopped. After a failed read the last figures stay, those of streams for a minute, the others for ten, and at most
 * for about twenty where looks end without an answer, after which it rests longer, until ClickHouse answers again; the time of the
 * last success shows their age.
 */
export const startWatch = (deps: WatchDeps): Watch => {
  const { metrics, now, log } = deps;
  const elapsed = (): number => performance.now();
  const streams = createStreamLook({ ...deps, health: (stream) => healthOf(deps, stream), elapsed });
  const figures = createStoreFigures({ ...deps, elapsed });
  let clickhouseProblem: string | undefined;
  /** Looks that have failed or are under way. */
  const unread = new Set<string>();
  const rounds = new Map<string, Rounds>();

  /** A look that hung, or still hangs, rests for minutes: it need not once the store is back. */
  const clickhouseAnswered = (): void => {
    if (clickhouseProblem) for (const what of unread) rounds.get(what)?.wake();
    clickhouseProblem = '';
  };

  const lookOnce = async ({ what, everyMs, shareMax, share = shareMax, look }: WatchedLook) => {
    const startedAt = performance.now();
    let pauseMs = everyMs;
    unread.add(what);
    try {
      await look(deps, streams, figures);
      metrics.lastSuccess.set({ what }, Math.floor(now() / 1000));
      unread.delete(what);
      if (what === 'clickhouse') clickhouseAnswered();
    } catch (error) {
      pauseMs = retryMs;
      if (what === 'clickhouse') clickhouseProblem = errorText(error);
      log.debug({ what, error: errorText(error) }, 'metrics of the dependencies were not read');
    }
    const tookMs = performance.now() - startedAt;
    return Math.max(pauseMs, tookMs / shareMax, Math.min(tookMs / share, youngMsMax));
  };
  for (const { what } of looks) metrics.lastSuccess.set({ what }, 0);
  for (const each of looks)
    rounds.set(
      each.what,
      startRounds(() => lookOnce(each)),
    );
  return {
    missing: streams.missing,
    trends: streams.trends,
    clickhouseProblem: () => clickhouseProblem,
    stop: async () => {
      await Promise.all([...rounds.values()].map((each) => each.stop()));
    },
  };
};
