import { setTimeout as delay } from 'node:timers/promises';
import type { Registry } from 'prom-client';
import { sumDifferences } from '../account/accounts.ts';
import { isWrong } from '../account/difference.ts';
import { readDifferences } from '../account/difference-table.ts';
import { createLook, type Look } from '../account/look.ts';
import type { Bus } from '../bus/connection.ts';
import type { Pipelines } from '../config/pipelines.ts';
import { errorText, Fault } from '../model/fault.ts';
import type { Clickhouse } from '../stores/clickhouse/client.ts';
import { createAccountMetrics } from '../telemetry/account-metrics.ts';
import type { Log } from '../telemetry/log.ts';

/** What is known of the account now. */
export type AccountState = {
  /** Ms since the epoch: since when the looks fail; undefined while they succeed. Before the first look, the start of the process. */
  readonly notKnownSince: number | undefined;
  /** Why they fail. */
  readonly why: string | undefined;
};

/** Compares the books at an interval, until it is stopped. */
export type AccountWatch = { readonly state: AccountState; stop(): Promise<void> };

export type AccountWatchDependencies = {
  readonly look: Look;
  /** Called after each look, with the state. */
  readonly onLook: (state: AccountState) => Promise<void>;
  readonly now: () => number;
  readonly log: Log;
  readonly everyMs?: number;
};

/** A look takes at most this share of the time, so that long books do not keep ClickHouse busy. */
const shareMax = 0.25;

/** One failed look says little: the books are compared again soon. */
const failuresMax = 3;

export const startAccountWatch = ({
  look,
  onLook,
  now,
  log,
  everyMs = 10_000,
}: AccountWatchDependencies): AccountWatch => {
  const stopping = new AbortController();
  let state: AccountState = { notKnownSince: now(), why: 'the books were not compared yet' };
  let failures = 0;

  const once = async (): Promise<void> => {
    try {
      await look();
      if (failures >= failuresMax) log.info({}, 'the account is known again');
      failures = 0;
      state = { notKnownSince: undefined, why: undefined };
    } catch (error) {
      failures++;
      const why = errorText(error);
      if (failures === failuresMax)
        log.warn({ error: why }, 'the account is not known: the books cannot be compared');
      if (failures >= failuresMax || state.notKnownSince !== undefined)
        state = { notKnownSince: state.notKnownSince ?? now(), why };
    }
    await onLook(state).catch((error: unknown) =>
      log.debug({ error: errorText(error) }, 'the figures of the account were not read'),
    );
  };

  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const startedAt = performance.now();
      await once();
      const restMs = Math.max(everyMs, (performance.now() - startedAt) / shareMax);
      await delay(restMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  };
  const running = run();
  return {
    get state() {
      return state;
    },
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
};

/** Open differences that the metrics name one by one. */
const namedMax = 50;

export type OpenAccountWatch = {
  readonly bus: Bus;
  readonly clickhouse: Clickhouse;
  readonly pipelines: Pipelines;
  readonly metrics: { readonly registry: Registry };
  readonly log: Log;
};

const timeText = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 16);

/** The looks of this process at the account, and their metrics. */
export const openAccountWatch = ({
  bus,
  clickhouse,
  pipelines,
  metrics: { registry },
  log,
}: OpenAccountWatch): AccountWatch => {
  const metrics = createAccountMetrics(registry);
  const stop = new AbortController();
  const streams = pipelines.streams.flatMap(({ name, consumer }) =>
    consumer === undefined ? [] : [{ name, consumer: consumer.name }],
  );
  const ledger = streams.find(({ name }) => name === 'LEDGER');
  if (ledger === undefined) throw new Fault('internal', 'no_ledger', 'the pipelines have no stream LEDGER');
  const isAccounted = ({ name }: { readonly name: string }): boolean => name !== ledger.name;
  const look = createLook({
    bus,
    clickhouse,
    streams: streams.filter(isAccounted),
    ledger,
    stop: stop.signal,
  });
  const report = async ({ notKnownSince }: AccountState): Promise<void> => {
    metrics.notKnown.set(notKnownSince === undefined ? 0 : Math.max(0, (Date.now() - notKnownSince) / 1000));
    const found = await readDifferences(clickhouse, {});
    const open = found.filter(isWrong);
    metrics.unbalanced.set(
      new Set(open.map(({ pipeline, dataId, appId }) => `${pipeline} ${dataId} ${appId}`)).size,
    );
    metrics.openItems.reset();
    for (const { kind, stream, dataId, appId, from, until, items } of sumDifferences(open).slice(0, namedMax))
      metrics.openItems.set(
        { kind, stream, owner: String(dataId || appId), from: timeText(from), until: timeText(until) },
        items,
      );
  };
  const watch = startAccountWatch({ look, onLook: report, now: Date.now, log });
  return {
    get state() {
      return watch.state;
    },
    stop: async () => {
      stop.abort();
      await watch.stop();
    },
  };
};
