import { Fault } from '../model/fault.ts';
import { pipelines } from '../model/signals.ts';
import { type Balance, readBalances } from '../outcomes/balance.ts';
import { type FailingSender, readConstantlyFailing } from '../outcomes/failing-senders.ts';
import type { Clickhouse } from '../stores/clickhouse/client.ts';
import { readTableParts } from '../stores/clickhouse/table-parts.ts';
import type { WatchMetrics } from '../telemetry/watch-metrics.ts';
import { silentProducers, type UsageRecords } from './usage.ts';

/** Feeds figures that ClickHouse has into the metrics of metadata: each rejects where they could not be read. */
export type StoreFigures = {
  parts(): Promise<void>;
  outcomes(): Promise<void>;
  usage(): Promise<void>;
};

export type StoreFiguresDeps = {
  readonly clickhouse: Clickhouse;
  /** Undefined until they were read. */
  readonly records: () => UsageRecords | undefined;
  readonly metrics: WatchMetrics;
  readonly now: () => number;
  /** Never a wall clock, ms. */
  readonly elapsed: () => number;
};

/** Items that are still on their way belong to no balance yet. */
const unsettledMs = 5 * 60_000;
const hourMs = 3_600_000;

/** Older figures are none: alarms take the largest of all processes, so those of one that reads nothing hid the true ones. */
const figuresMsMax = 600_000;

/** Owners and senders that are named at once; their numbers count all. */
const namedMax = 50;

const lookAtParts = async ({ clickhouse, metrics }: StoreFiguresDeps): Promise<void> => {
  const { most, delayAt } = await readTableParts(clickhouse);
  metrics.parts.reset();
  for (const [table, parts] of most) metrics.parts.set({ table }, parts);
  metrics.partsDelay.set(delayAt);
};

const itemsOf = (balances: readonly Balance[]): Record<string, number> => {
  const items = { received: 0, stored: 0, dropped: 0, dead_lettered: 0 };
  for (const { received, stored, dropped, deadLettered } of balances) {
    items.received += received;
    items.stored += stored;
    items.dead_lettered += deadLettered;
    for (const count of Object.values(dropped)) items.dropped += count;
  }
  return items;
};

const lookAtOutcomes = async ({ clickhouse, metrics, now }: StoreFiguresDeps): Promise<void> => {
  const untilMs = now() - unsettledMs;
  const balances = await readBalances(clickhouse, { sinceMs: untilMs - hourMs, untilMs });
  for (const pipeline of pipelines) {
    const items = itemsOf(balances.filter((balance) => balance.pipeline === pipeline));
    for (const [outcome, count] of Object.entries(items))
      metrics.outcomeItems.set({ pipeline, outcome }, count);
  }
};

type NamedSender = {
  readonly owner: string;
  readonly address: string;
  readonly hours: number;
  readonly firstAt: number;
};

/** One for each owner, and for each address without one: that with most hours. The newest, so that none is hidden by many older ones. */
const namedOf = (failing: readonly FailingSender[]): NamedSender[] => {
  const named = new Map<string, NamedSender>();
  for (const { dataId, appId, sender, hours, firstAt } of failing) {
    const owner = dataId || appId;
    const address = owner === 0 ? sender : '';
    const key = `${owner} ${address}`;
    const known = named.get(key);
    named.set(key, {
      ...{ owner: String(owner), address },
      hours: Math.max(hours, known?.hours ?? 0),
      firstAt: Math.max(firstAt, known?.firstAt ?? 0),
    });
  }
  return [...named.values()].toSorted((left, right) => right.firstAt - left.firstAt).slice(0, namedMax);
};

const lookAtUsage = async ({ clickhouse, metrics, now, ...deps }: StoreFiguresDeps): Promise<void> => {
  const records = deps.records();
  if (records === undefined) throw new Fault('transient', 'records_unread', 'the records were not read yet');
  const seconds = Math.floor(now() / 1000);
  const silent = await silentProducers(clickhouse, records, seconds);
  metrics.silentOwners.set(silent.length);
  metrics.silentOwner.reset();
  for (const { dataId, appId, lastAt } of silent.slice(0, namedMax))
    metrics.silentOwner.set({ owner: String(dataId || appId) }, Math.floor(lastAt));
  const failing = await readConstantlyFailing(clickhouse, seconds);
  metrics.failingSenders.set(failing.length);
  metrics.failingSender.reset();
  for (const { owner, address, hours } of namedOf(failing))
    metrics.failingSender.set({ owner, address }, hours);
};

export const createStoreFigures = (deps: StoreFiguresDeps): StoreFigures => {
  const { metrics, elapsed } = deps;
  const forgetting = (look: (deps: StoreFiguresDeps) => Promise<void>, forget: () => void) => {
    let readAt: number | undefined;
    return async (): Promise<void> => {
      try {
        await look(deps);
        readAt = elapsed();
      } catch (error) {
        if (readAt !== undefined && elapsed() - readAt > figuresMsMax) {
          readAt = undefined;
          forget();
        }
        throw error;
      }
    };
  };
  return {
    parts: forgetting(lookAtParts, () => {
      metrics.parts.reset();
      metrics.partsDelay.remove();
    }),
    outcomes: forgetting(lookAtOutcomes, () => metrics.outcomeItems.reset()),
    usage: forgetting(lookAtUsage, () => {
      metrics.silentOwners.remove();
      metrics.silentOwner.reset();
      metrics.failingSenders.remove();
      metrics.failingSender.reset();
    }),
  };
};
