import type { readerUrls } from '../../config/reader-urls.ts';
import type { Settings } from '../../config/settings.ts';
import { systemOwners } from '../../directory/system-owners.ts';
import { type ClickhouseReader, createClickhouseReader } from '../../stores/clickhouse/reader.ts';
import { createQuestdbReader, type QuestdbReader } from '../../stores/questdb/reader.ts';
import type { Records } from '../records/store.ts';
import { createGate } from './gate.ts';
import { type AskedLogs, queryLogs } from './logs.ts';
import { type AskedLastValues, type AskedMetrics, queryLastValues, queryMetrics } from './metrics.ts';
import { type AskedPoints, type AskedValues, queryPoints, queryValues } from './points.ts';
import { type AskedRed, queryRed } from './red.ts';
import { type AskedTraces, queryTraces, readServices, readTrace } from './traces.ts';

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
  return {
    /** The least role that may query; off = nobody. */
    role,
    points: ({ tokenId, signal }: Asker, asked: AskedPoints) =>
      gate.run(tokenId, signal, (bounds) => queryPoints(points, asked, bounds)),
    values: ({ tokenId, signal }: Asker, asked: AskedValues) =>
      gate.run(tokenId, signal, (bounds) => queryValues(points, asked, bounds)),
    traces: ({ tokenId, signal }: Asker, asked: AskedTraces) =>
      gate.run(tokenId, signal, (bounds) => queryTraces(items, asked, bounds)),
    red: ({ tokenId, signal }: Asker, asked: AskedRed) =>
      gate.run(tokenId, signal, (bounds) => queryRed(items, asked, bounds)),
    metrics: ({ tokenId, signal }: Asker, asked: AskedMetrics) =>
      gate.run(tokenId, signal, (bounds) => queryMetrics(items, asked, bounds)),
    lastValues: ({ tokenId, signal }: Asker, asked: AskedLastValues) =>
      gate.run(tokenId, signal, (bounds) => queryLastValues(items, asked, bounds)),
    logs: ({ tokenId, signal }: Asker, asked: AskedLogs) =>
      gate.run(tokenId, signal, (bounds) => queryLogs(items, asked, bounds)),
    trace: ({ tokenId, signal }: Asker, id: string) =>
      gate.run(tokenId, signal, (bounds) => readTrace(items, id, bounds)),
    services: ({ tokenId, signal }: Asker, asked: Parameters<typeof readServices>[1]) =>
      gate.run(tokenId, signal, (bounds) => readServices(items, asked, bounds)),
  };
};
