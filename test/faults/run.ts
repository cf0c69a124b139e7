import { setTimeout as delay } from 'node:timers/promises';
import { inspect } from 'node:util';
import { waitFor } from '../support/wait.ts';
import { ackWaitSeconds, type Cluster, startCluster } from './cluster.ts';
import { type DoneFault, drive, untilReady, untilReceiving } from './driver.ts';
import { isOfApplication, type World } from './items.ts';
import { judge, untilSettled, type Verdict } from './judge.ts';
import { startLoad } from './load.ts';
import { mendBrokenTables } from './mend.ts';
import { type Claim, createOracle, type Oracle, type Target } from './oracle.ts';
import { readRows } from './rows.ts';
import { isProcessFault, type ProcessKind, planFaults, weightOf } from './schedule.ts';

export type RunOptions = {
  readonly seed: number;
  /** Kills, pauses and stops in all. */
  readonly kills: number;
  /** Whether pauses and stops come on top of the kills instead of being some of them; default false. */
  readonly isKillsAlone?: boolean;
  /** Kills, pauses and stops of one round: after each the streams are emptied and everything is checked. */
  readonly killsPerRound: number;
  /** From one fault of a process to the next, on average, ms. */
  readonly gapMs: number;
  readonly sendersEach: number;
  readonly duplicateWindowSeconds: number;
  readonly hasOutcomes: boolean;
  readonly hasNatsCluster?: boolean;
  /** The kinds of process that are killed, paused and stopped; default all. */
  readonly processKinds?: readonly ProcessKind[];
  /** Whether the faults begin only once every source has rows, so that QuestDB has made the first columns of its tables. */
  readonly isWarm: boolean;
  /** Rounds, counted from 0, that spare NATS and transfer. */
  readonly calmRounds: readonly number[];
  /** No more faults after this time. */
  readonly msMax: number;
  /** Ends the run where it is, with all that it started. */
  readonly interrupt?: AbortSignal;
  readonly say: (line: string) => void;
};

/** What one round came to. */
export type Round = {
  readonly claims: readonly Claim[];
  readonly verdict: Verdict;
  readonly done: readonly DoneFault[];
  readonly crashes: readonly string[];
  /** Inserts of spans without the guard, by the transfer processes at the end of the round. */
  readonly plainInserts: number;
  /** Tables that QuestDB could not change any more, created again as an operator would. */
  readonly mended: readonly string[];
  readonly seconds: Readonly<Record<'driving' | 'settling' | 'judging', number>>;
};

export type Run = {
  readonly rounds: readonly Round[];
  readonly isWhole: boolean;
  /** Why the run could not be brought to its end: something did not come back, or did not empty. */
  readonly failure: string | undefined;
  /** All that was done, in unfinished rounds too. */
  readonly faults: readonly { readonly round: number; readonly done: DoneFault }[];
  readonly seconds: number;
  /** What each process wrote, by its name. */
  readonly logs: ReadonlyMap<string, readonly string[]>;
};

/** A slow machine may lose a call of the harness too: a call that only reads, or creates something new, is retried. */
const callMsMax = 120_000;
/** Longest to wait for the answers to what is sent again, once every fault is over. */
const finishMsMax = 180_000;

/** Each round has its own sources: a judge reads no more than one round's rows. */
const createTargets = async ({ stack }: Cluster, round: number): Promise<Target[]> => {
  let tries = 0;
  const create = async (name: string, layout: Target['layout'], hasSwing: boolean): Promise<Target> => {
    const common = { name: `${name}, round ${round}`, layout, hasSwing };
    return waitFor(`${common.name} is made`, callMsMax, async () => {
      const unique = `${layout}_${round}_${++tries}`;
      if (isOfApplication(layout)) {
        const { app_id: id, token } = await stack.createApplication(unique);
        return { ...common, id, tokens: [token] };
      }
      const report = await stack.createReport(unique, { is_split_measurement: layout === 'narrow' });
      return { ...common, id: report.data_source.mon_data_id, tokens: [report.data_source.token] };
    });
  };
  return [
    await create('wide', 'wide', false),
    await create('narrow', 'narrow', false),
    await create('wide with changes', 'wide', true),
    await create('spans', 'spans', false),
    await create('spans with changes', 'spans', true),
    await create('log records with changes', 'logs', true),
    await create('data points with changes', 'data_points', true),
  ];
};

const figureIn = (metrics: string, name: RegExp): number =>
  metrics
    .split('\n')
    .filter((line) => name.test(line))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);

const plainInsertsOf = async ({ stack }: Cluster): Promise<number> => {
  let plain = 0;
  for (const transfer of stack.transfer) {
    const metrics = await transfer.metrics();
    const stored = figureIn(
      metrics,
      /^tidemark_transfer_writes_total\{(?=.*pipeline="traces")(?=.*outcome="stored")/,
    );
    plain += stored - figureIn(metrics, /^tidemark_transfer_guarded_inserts_total\{.*pipeline="traces"/);
  }
  return Math.max(0, plain);
};

const untilRows = (
  { stack }: Cluster,
  targets: readonly Target[],
  world: World,
  oracle: Oracle,
): Promise<boolean> =>
  waitFor('every source has rows', callMsMax, async () => {
    for (const target of targets) {
      if ((await readRows(stack, target, oracle.claims, world)).length === 0) return false;
    }
    return true;
  });

const runRound = async (
  cluster: Cluster,
  oracle: Oracle,
  world: World,
  plan: {
    readonly seed: number;
    readonly kills: number;
    readonly round: number;
    readonly signal: AbortSignal;
    readonly onDone: (done: DoneFault) => void;
  },
  options: RunOptions,
): Promise<Round> => {
  await untilReady(cluster);
  const targets = await createTargets(cluster, plan.round);
  const load = startLoad({
    oracle,
    world,
    receivers: cluster.receivers,
    targets,
    sendersEach: options.sendersEach,
    pauseMsMax: 400,
  });
  const faults = planFaults({
    seed: plan.seed,
    processFaults: plan.kills,
    gapMs: options.gapMs,
    ackWaitMs: ackWaitSeconds * 1000,
    isCalm: options.calmRounds.includes(plan.round),
    processKinds: options.processKinds,
  });
  const [wide, , , spans] = targets;
  if (wide === undefined || spans === undefined) throw new Error('there are no targets to flood');
  if (options.isWarm) await untilRows(cluster, targets, world, oracle);
  const startedAt = Date.now();
  const { done, crashes } = await drive(faults, {
    cluster,
    load,
    targets,
    swinging: targets.filter(({ hasSwing }) => hasSwing),
    flooded: { METRICS: wide, TRACES: spans },
    signal: plan.signal,
    onDone: plan.onDone,
  });
  const drivenAt = Date.now();
  await untilReceiving(cluster);
  // The judge finds what is still open.
  await Promise.race([load.finish(), delay(finishMsMax, undefined, { ref: false })]);
  const mended = await mendBrokenTables(cluster.stack);
  await untilReady(cluster);
  await untilSettled(cluster.stack);
  const settledAt = Date.now();
  const claims = oracle.take();
  const verdict = await waitFor('all rows are read', callMsMax, () =>
    judge({ ...options, stack: cluster.stack, world, targets, claims }),
  );
  const seconds = {
    driving: (drivenAt - startedAt) / 1000,
    settling: (settledAt - drivenAt) / 1000,
    judging: (Date.now() - settledAt) / 1000,
  };
  const plainInserts = await waitFor('the metrics are read', callMsMax, () => plainInsertsOf(cluster));
  return { claims, verdict, done, crashes, plainInserts, mended, seconds };
};

/** Kills, pauses and stops of these faults; `isKillsAlone`: only the kills, each a SIGKILL. */
export const killsOf = (done: readonly DoneFault[], isKillsAlone = false): number =>
  done.reduce((sum, { fault }) => {
    if (!isProcessFault(fault)) return sum;
    const isKill = fault.kind === 'kill' || fault.kind === 'kill_twice';
    return isKill || !isKillsAlone ? sum + weightOf(fault) : sum;
  }, 0);

/**
 * Starts everything, drives faults in rounds and checks after each; ends all that it started, on every exit. Stops at
 * the first round with a violation, since it would make the following checks meaningless.
 */
export const run = async (options: RunOptions): Promise<Run> => {
  const startedAt = Date.now();
  const signal = AbortSignal.timeout(options.msMax);
  const baseMs = Math.floor(startedAt / 1000) * 1000 - 600_000;
  const world: World = { seed: options.seed, baseMs };
  const oracle = createOracle();
  const rounds: Round[] = [];
  const cluster = await startCluster(options);
  let kills = 0;
  let failure: string | undefined;
  const faults: { readonly round: number; readonly done: DoneFault }[] = [];
  const interrupted = new Promise<never>((_, reject) => {
    options.interrupt?.addEventListener('abort', () => reject(new Error('it was interrupted')));
  });
  interrupted.catch(() => undefined);
  try {
    while (kills < options.kills && !signal.aborted) {
      const round = rounds.length;
      // With the pauses and stops that come with them, and never a round of one.
      const left =
        options.isKillsAlone === true ? Math.max(6, 2 * (options.kills - kills)) : options.kills - kills;
      const wanted = Math.min(options.killsPerRound, left);
      const onDone = (done: DoneFault): void => {
        faults.push({ round, done });
      };
      const plan = { seed: options.seed * 1000 + round, kills: wanted, round, signal, onDone };
      const result = await Promise.race([runRound(cluster, oracle, world, plan, options), interrupted]);
      rounds.push(result);
      kills += killsOf(result.done, options.isKillsAlone);
      const { verdict, claims, seconds } = result;
      options.say(
        `round ${round}: ${killsOf(result.done)} kills, pauses and stops, ${claims.length} requests, ${verdict.rows} rows, ${verdict.findings.length} violations; ${seconds.driving.toFixed(0)} s of faults, ${seconds.settling.toFixed(0)} s until all was settled, ${seconds.judging.toFixed(0)} s of judging`,
      );
      if (verdict.findings.length > 0) break;
    }
  } catch (error) {
    failure = inspect(error);
  } finally {
    await cluster.stop();
  }
  return {
    rounds,
    isWhole: kills >= options.kills,
    failure,
    faults,
    seconds: (Date.now() - startedAt) / 1000,
    logs: new Map([...cluster.victims.keys()].map((name) => [name, cluster.linesOf(name)])),
  };
};
