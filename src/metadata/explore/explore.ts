import type { readerUrls } from '../../config/reader-urls.ts';
import type { Settings } from '../../config/settings.ts';
import { systemOwners } from '../../directory/system-owners.ts';
import { type ClickhouseReader, createClickhouseReader } from '../../stores/clickhouse/reader.ts';
import { createQuestdbReader, type QuestdbReader } from '../../stores/questdb/reader.ts';
import type { Records } from '../records/store.ts';
import { createGate, type NextBounds } from './gate.ts';
import { queryLogs } from './logs.ts';
import { queryLastValues, queryMetrics } from './metrics.ts';
import { queryPoints, queryValues } from './points.ts';
import { queryRed } from './red.ts';
import { queryTraces, readServices, readTrace } from './traces.ts';

/** Who asks: the id of its token, and a signal that it has gone. */
export type Asker = { readonly tokenId: number; readonly signal: AbortSignal };

/** The clients of readers: of each QuestDB instance by its name, and of ClickHouse. */
export type Readers = {
  readonly questdb: ReadonlyMap<string, QuestdbReader>;
  readonly clickhouse: ClickhouseReader;
  close(): Promise<void>;
};

/** Bounded queries of stored points, spans, log records and data points. */
export type Explore = ReturnType<typeof createExplore>;

export const openReaders = (urls: ReturnType<typeof readerUrls>): Readers => {
  const questdb = new Map(urls.questdb.map(({ name, url }) => [name, createQuestdbReader({ url })]));
  const clickhouse = createClickhouseReader(urls.clickhouse);
  return {
    questdb,
    clickhouse,
    close: async () => {
      await Promise.all([...questdb.values(), clickhouse].map((reader) => reader.close()));
    },
  };
};

type Deps = {
  readonly role: Settings['consoleExplore'];
  readonly records: Records;
  readonly readers: Readers;
  readonly now: () => number;
};

/** Every call but `role` may throw a transient Fault `too_many_queries`, and those of the query that it runs. */
export const createExplore = ({ role, records, readers, now }: Deps) => {
  const gate = createGate();
  const points = { records, readers: readers.questdb, now };
  const items = {
    reader: readers.clickhouse,
    now,
    systemApps: () => systemOwners(records).appIds,
  };
  const gated =
    <S, A, R>(source: S, query: (source: S, asked: A, bounds: NextBounds) => Promise<R>) =>
    ({ tokenId, signal }: Asker, asked: A): Promise<R> =>
      gate.run(tokenId, signal, (bounds) => query(source, asked, bounds));
  return {
    /** The least role that may query; off = nobody. */
    role,
    points: gated(points, queryPoints),
    values: gated(points, queryValues),
    traces: gated(items, queryTraces),
    red: gated(items, queryRed),
    metrics: gated(items, queryMetrics),
    lastValues: gated(items, queryLastValues),
    logs: gated(items, queryLogs),
    trace: gated(items, readTrace),
    services: gated(items, readServices),
  };
};
