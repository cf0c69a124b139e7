import type { Bus } from '../../bus/connection.ts';
import { inTime } from '../../bus/in-time.ts';
import { listen } from '../../bus/listen.ts';
import { startPulse } from '../../bus/pulse-publisher.ts';
import { readServerTimeMs } from '../../bus/stream-state.ts';
import type { Pipelines } from '../../config/pipelines.ts';
import type { SystemOwners } from '../../directory/system-owners.ts';
import { errorText } from '../../model/fault.ts';
import type { Readiness } from '../../runtime/checks.ts';
import type { Parts } from '../../runtime/run-role.ts';
import type { Clickhouse } from '../../stores/clickhouse/client.ts';
import type { Log } from '../../telemetry/log.ts';
import type { MetadataMetrics } from '../../telemetry/metadata-metrics.ts';
import { pulseSubjects } from '../../telemetry/pulse.ts';
import { createMetadataFigures } from '../../telemetry/pulse-figures.ts';
import type { AccountState } from '../account/account-watch.ts';
import type { UnreadStreams } from '../account/unread-streams.ts';
import type { Line, LineStore, ProcessWithSeries } from '../answers/line.ts';
import type { FurtherStreams } from '../further-streams.ts';
import type { Upkeep } from '../upkeep.ts';
import type { Watch } from '../watch.ts';
import { type Acts, createActs, shownActs } from './acts.ts';
import { createHourAccount } from './hour-account.ts';
import { type LedgerGap, ledgerGap, ledgerSecondsMax } from './ledger-gap.ts';
import { drawLine, shownProcess } from './line.ts';
import { createLive, type Live } from './live.ts';
import { createProcesses, type Processes } from './processes.ts';

/** What this process knows of all processes, and of the line that they are. */
export type PulseReads = {
  /** The line, drawn at most once a second. */
  line(): Promise<Line>;
  /** The same for one who asks once: where the account was not read yet, it awaits the reading that is under way. */
  lineOnce(): Promise<Line>;
  processes(): ProcessWithSeries[];
  /** Undefined where LEDGER brings the lines of both books. */
  ledgerGap(): LedgerGap | undefined;
  readonly live: Live;
  readonly acts: Acts;
};

export type PulseReadsOptions = {
  readonly bus: Bus;
  readonly clickhouse: Clickhouse;
  readonly pipelines: Pipelines;
  /** The QuestDB instances, each with why it does not answer. */
  readonly instances: readonly { readonly name: string; why(): string | undefined }[];
  readonly watch: Pick<Watch, 'missing' | 'trends' | 'clickhouseProblem'>;
  readonly upkeep: Pick<Upkeep, 'disks'>;
  readonly accountState: () => AccountState;
  readonly unreadStreams: UnreadStreams;
  readonly furtherStreams: Pick<FurtherStreams, 'there'>;
  readonly systemOwners: () => SystemOwners;
  readonly metrics: Pick<MetadataMetrics, 'requests' | 'pulsesIgnored'>;
  readonly readiness: Readiness;
  readonly log: Log;
};

/** Below a second, so that a tick of a second never finds the figures of the tick before. */
const freshMs = 900;
const listenAgainMs = 1_000;
const tickMs = 1_000;
const natsTimeMs = 500;

const elapsed = (): number => performance.now();

/** Listens from now on; where NATS does not answer, again and again. */
const follow = (bus: Bus, processes: Processes, log: Log): { stop(): void } => {
  let unsubscribe = (): void => {};
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  const begin = (): void => {
    listen(bus, pulseSubjects, processes.take).then(
      (end) => {
        unsubscribe = end;
        if (isStopped) end();
      },
      (error: unknown) => {
        log.debug({ error: errorText(error) }, 'no pulses have arrived yet');
        if (!isStopped) timer = setTimeout(begin, listenAgainMs).unref();
      },
    );
  };
  begin();
  bus.onReconnect(processes.reconnected);
  const ticking = setInterval(processes.tick, tickMs).unref();
  return {
    stop: () => {
      isStopped = true;
      clearTimeout(timer);
      clearInterval(ticking);
      unsubscribe();
    },
  };
};

/** What the clock of NATS says; undefined where it does not answer soon: the line does not wait for it. */
const natsTime = async (bus: Bus, stream: string): Promise<number | undefined> => {
  if (!bus.connected) return undefined;
  const read = readServerTimeMs(bus, stream);
  return inTime('the clock of NATS', read, performance.now() + natsTimeMs).catch(() => undefined);
};

const storesOf = ({ instances, watch }: Pick<PulseReadsOptions, 'instances' | 'watch'>): LineStore[] => {
  const problem = watch.clickhouseProblem();
  return [
    ...instances.map(({ name, why }): LineStore => {
      const text = why();
      return { store: 'questdb', instance: name, ready: text === undefined, why: text ?? null };
    }),
    {
      store: 'clickhouse',
      instance: 'default',
      ready: problem === undefined ? null : problem === '',
      why: problem === undefined || problem === '' ? null : problem,
    },
  ];
};

const withSeries = (processes: Processes): ProcessWithSeries[] =>
  processes.list().map((each) => {
    const { items, bytes, dropped, refused, deadLettered, cpu, loopP99Ms } = processes.seriesOf(each.id);
    return {
      ...shownProcess(each),
      series: {
        items_per_second: items,
        bytes_per_second: bytes,
        dropped_per_second: dropped,
        refused_per_second: refused,
        dead_lettered_per_second: deadLettered,
        cpu,
        event_loop_p99_ms: loopP99Ms,
      },
    };
  });

/** Listens to the pulses of all processes and draws the line from them. Its parts stop with `parts`. */
export const openPulse = (options: PulseReadsOptions, parts: Parts): PulseReads => {
  const { bus, pipelines, instances, watch, accountState, metrics, log } = options;
  const processes = createProcesses({ elapsed, onIgnored: (why) => metrics.pulsesIgnored.inc({ why }) });
  const following = follow(bus, processes, log);
  parts.add('listening to pulses', () => following.stop());
  const acts = createActs(elapsed, Date.now);
  const figures = createMetadataFigures(metrics, acts.list);
  const pulse = startPulse({ ...options, role: 'metadata', figures });
  parts.add('pulse', () => pulse.stop());
  const ledgerMax = ledgerSecondsMax(pipelines.ledger);
  const ledgerGapNow = () => ledgerGap(watch.trends, ledgerMax, Date.now());
  const isLedgerBehind = (): boolean => ledgerGapNow() !== undefined;
  const account = createHourAccount({
    ...options,
    state: accountState,
    isLedgerBehind,
    now: Date.now,
    elapsed,
  });

  const draw = async (): Promise<Line> => {
    const read = await account.read();
    const natsMs = await natsTime(bus, pipelines.streams[0]?.name ?? '');
    return drawLine({
      nowMs: Date.now(),
      natsMs,
      isConnected: bus.connected,
      processes: processes.list(),
      isSettled: processes.isSettled,
      isFull: processes.isFull,
      streams: [...pipelines.streams, ...options.furtherStreams.there].map(({ name, consumer }) => ({
        name,
        consumer: consumer?.name,
        isMissing: watch.missing.has(name),
        trend: watch.trends.of(name),
      })),
      stores: storesOf(options),
      disks: options.upkeep.disks,
      instances: instances.map(({ name }) => name),
      account: read.account,
      accountWhy: read.why,
      notKnownSince: accountState().notKnownSince,
      isLedgerBehind: isLedgerBehind(),
    });
  };
  let drawn: { readonly at: number; readonly line: Promise<Line> } | undefined;
  const line = (): Promise<Line> => {
    if (drawn === undefined || elapsed() - drawn.at >= freshMs) drawn = { at: elapsed(), line: draw() };
    return drawn.line;
  };
  const lineOnce = async (): Promise<Line> => {
    const shown = await line();
    if (shown.account !== null || shown.account_why !== null || !(await account.ended())) return shown;
    drawn = undefined;
    return line();
  };
  const live = createLive({
    bus,
    line: async () => JSON.stringify(await line()),
    acts: () => shownActs(processes.list()),
    log,
  });
  return {
    line,
    lineOnce,
    processes: () => withSeries(processes),
    ledgerGap: ledgerGapNow,
    ...{ live, acts },
  };
};
