import { setImmediate } from 'node:timers/promises';
import { errorText, Fault } from '../../model/fault.ts';
import type { Log } from '../../telemetry/log.ts';
import { createDelivery, type Delivery, type OrphanReason } from './delivery.ts';
import type { CollectorDefaults } from './document.ts';
import type { HeldLease } from './lease.ts';
import type { NodeManagement } from './node-management.ts';
import {
  type RefreshRecords,
  readRefusingValues,
  readWantedReport,
  requireReadable,
  type WantedReport,
  wantedReports,
} from './reports.ts';
import type { RefreshRun, Runs } from './runs.ts';
import type { Subscription, Subscriptions } from './subscriptions.ts';

/** The data ids of the last steps that were begun: of those that change something, and of those that only ask. */
export type Reached = { change: number; check: number };

export type RunDeps = {
  readonly records: RefreshRecords;
  readonly subscriptions: Subscriptions;
  readonly runs: Runs;
  readonly nodeManagement: NodeManagement;
  readonly defaults: CollectorDefaults;
  /** The platform prefix in the names that collectors read. */
  readonly documentPrefix: string;
  /**
   * How long a run may take: the reports that it has not begun by then fail, so that a run with a hanging node
   * management ends too.
   */
  readonly runMsMax: number;
  /** Where the last run of this process ended: the next one begins behind it. */
  readonly reached: Reached;
  /** By subscription id: the form in which node management shows what it was sent; of all runs of this process. */
  readonly otherForms: Map<number, string>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** The process is to end: the run stops where it is. */
  readonly stopping: AbortSignal;
  readonly log: Log;
};

type Outcome = 'created' | 'updated' | 'unchanged' | 'deleted';

/** One report's part of a run. */
type Step = {
  readonly dataId: number;
  readonly report: string;
  /** Whether it changes nothing and only asks node management; it may fail as `work` does. */
  readonly isCheck: () => boolean;
  readonly work: () => Promise<Outcome>;
};

const failuresShown = 1000;
/** Steps that only compare wait for nothing: after a hundred of them the process does something else. */
const stepsAtOnce = 100;

/** Errors of a report in the run record: the stable code, then the message. */
const codedText = (error: unknown): string =>
  error instanceof Fault ? `${error.code}: ${error.message}` : errorText(error);

const orphanTexts: Readonly<Record<OrphanReason, string>> = {
  api_left:
    'this subscription belongs to a node management API that is no longer configured; remove it there',
  create_refused:
    'the create call of this subscription got no answer, and node management refuses its repeat; if it has one of this data id and key, remove it there',
  create_repeated:
    'the create call of this subscription was made before and got no answer; if node management ignores Idempotency-Key, it may have others of this data id: remove them there',
};

/** All steps of a run, and the look at what node management has of the reports that only ask. */
type Plan = {
  readonly steps: readonly Step[];
  readonly look: (checks: readonly Step[], isOver: () => boolean) => Promise<void>;
};

const deliveryOf = (deps: RunDeps, lease: HeldLease, now: () => number): Delivery => {
  const { log } = deps;
  return createDelivery({
    ...deps,
    lease,
    now,
    onOrphan: ({ subscription_id, mon_data_id, intent }, why) =>
      log.warn({ subscription_id, mon_data_id, idempotency_key: intent?.key }, orphanTexts[why]),
    onOtherForm: (subscription_id, mon_data_id) =>
      log.warn(
        { subscription_id, mon_data_id },
        'node management shows this subscription otherwise than it was sent, right after an update too; it is not sent again while that stays so',
      ),
    onBlind: (error) =>
      log.warn(
        {},
        `node management does not show what it has, so this run takes it for what was sent: ${codedText(error)}`,
      ),
  });
};

const planOf = (deps: RunDeps, lease: HeldLease): Plan => {
  const { records, subscriptions, nodeManagement, defaults } = deps;
  const now = (): number => Math.floor(deps.now() / 1000);
  const delivery = deliveryOf(deps, lease, now);
  const wanted = wantedReports(records, defaults, now());
  const wantedIds = new Set(wanted.map(({ values }) => values.dataId));
  const names = new Map(records.groups.list().map(({ id, value }) => [id, value.time_series_group_name]));

  const requireOwnReadable = ({ customReportId, values: { dataId } }: WantedReport): void =>
    // A report that cannot be read is known by the subscription alone.
    requireReadable(records, customReportId ?? subscriptions.known(dataId)?.custom_report_id ?? null, dataId);

  const remove = async (held: Subscription): Promise<Outcome> => {
    // The copy of the records may be behind; a record that it lacks must not cost a live report its subscription.
    const { custom_report_id, mon_data_id } = held;
    requireReadable(records, custom_report_id, mon_data_id);
    const stillWanted = await readWantedReport(records, custom_report_id, mon_data_id, defaults, now());
    if (stillWanted !== undefined) return delivery.deliver(stillWanted);
    await delivery.remove(mon_data_id, await readRefusingValues(records, mon_data_id, defaults));
    return 'deleted';
  };
  /** Permanent Fault `record_invalid` unless its record can be read by now. */
  const removeUnread = async (dataId: number): Promise<Outcome> => {
    const held = await subscriptions.read(dataId);
    return held === undefined ? 'unchanged' : remove(held.value);
  };
  const removal = (dataId: number, work: () => Promise<Outcome>): Step => ({
    dataId,
    report: names.get(dataId) ?? `data id ${dataId}`,
    isCheck: () => false,
    work,
  });
  const steps: Step[] = [
    ...wanted.map((one) => ({
      dataId: one.values.dataId,
      report: one.name,
      isCheck: () => {
        requireOwnReadable(one);
        return nodeManagement.isRemote && delivery.isHeld(one);
      },
      work: () => delivery.deliver(one),
    })),
    ...subscriptions
      .list()
      .filter(({ mon_data_id }) => !wantedIds.has(mon_data_id))
      .map((held) => removal(held.mon_data_id, () => remove(held))),
    // Nothing else names them: a report that is gone would keep its file, and its token, without a word.
    ...subscriptions
      .unreadable()
      .filter((dataId) => !wantedIds.has(dataId))
      .map((dataId) => removal(dataId, () => removeUnread(dataId))),
  ];
  const look: Plan['look'] = (checks, isOver) => {
    const ids = new Set(checks.map(({ dataId }) => dataId));
    return delivery.look(
      wanted.filter(({ values }) => ids.has(values.dataId)),
      isOver,
    );
  };
  return { steps, look };
};

/** By ascending data id, beginning behind `reached`: steps that no time was left for are the first of the next run. */
const inTurn = (steps: readonly Step[], reached: number): Step[] => {
  const sorted = steps.toSorted((left, right) => left.dataId - right.dataId);
  return [
    ...sorted.filter(({ dataId }) => dataId > reached),
    ...sorted.filter(({ dataId }) => dataId <= reached),
  ];
};

/**
 * Takes every step, several in parallel, and counts into `run`: those that change something, then those of which node
 * management has other content, then those that only ask. A step that fails does not stop the others.
 */
const takeSteps = async (
  { steps, look }: Plan,
  run: RefreshRun,
  { nodeManagement, reached }: RunDeps,
  ending: AbortSignal,
  isLate: () => boolean,
): Promise<void> => {
  let checks: Step[] = [];
  const fail = ({ dataId, report }: Step, error: string): void => {
    run.failed_count++;
    if (run.failed.length < failuresShown) run.failed.push({ mon_data_id: dataId, report, error });
  };
  const take = async (step: Step, kind: keyof Reached): Promise<void> => {
    if (isLate()) return fail(step, 'run_deadline: the run ended before this report');
    reached[kind] = step.dataId;
    try {
      if (kind === 'change' && step.isCheck()) checks.push(step);
      else run[await step.work()]++;
    } catch (error) {
      fail(step, codedText(error));
    }
  };
  const takeAll = async (all: readonly Step[], kind: keyof Reached): Promise<void> => {
    const rest = inTurn(all, reached[kind]).values();
    let taken = 0;
    let pause: Promise<unknown> = Promise.resolve();
    const worker = async (): Promise<void> => {
      for (const step of rest) {
        if (ending.aborted) return;
        await take(step, kind);
        if (++taken % stepsAtOnce === 0) pause = setImmediate();
        await pause;
      }
    };
    await Promise.all(Array.from({ length: nodeManagement.atOnce }, worker));
  };
  await takeAll(steps, 'change');
  if (checks.length > 0) {
    const held = checks;
    checks = [];
    await look(held, () => ending.aborted || isLate());
    await takeAll(held, 'change');
  }
  await takeAll(checks, 'check');
  run.failed.sort((left, right) => left.mon_data_id - right.mon_data_id);
};

/** The run before, if its process did not live to conclude it. */
const concludeInterrupted = async ({ runs, now, log }: RunDeps, runId: number): Promise<void> => {
  const before = await runs.get(runId);
  if (before?.state !== 'running') return;
  const finished = Math.floor(now() / 1000);
  await runs.finish({ ...before, state: 'interrupted', finished, duration_ms: null });
  log.warn({ run_id: runId }, 'the previous refresh run did not end; this run resumes it');
};

/**
 * One run under the lease: every enabled, undeleted, active report gets its subscription, every other subscription is
 * removed, but for those whose records are not all there yet. Returns the run record, which is in KV. Transient Fault
 * when KV does not accept the record; `lease_lost` when another process may have taken over, which then marks this run
 * interrupted.
 */
export const runOnce = async (
  deps: RunDeps,
  lease: HeldLease,
  runId: number,
  trigger: RefreshRun['trigger'],
): Promise<RefreshRun> => {
  const { runs, now, stopping } = deps;
  await concludeInterrupted(deps, runId - 1);
  const startedMs = performance.now();
  const run: RefreshRun = {
    run_id: runId,
    trigger,
    state: 'running',
    started: Math.floor(now() / 1000),
    finished: null,
    duration_ms: null,
    created: 0,
    updated: 0,
    unchanged: 0,
    deleted: 0,
    failed_count: 0,
    failed: [],
  };
  await lease.check();
  await runs.begin(run);
  const elapsedMs = (): number => Math.round(performance.now() - startedMs);
  const ending = AbortSignal.any([lease.signal, stopping]);
  await takeSteps(planOf(deps, lease), run, deps, ending, () => elapsedMs() > deps.runMsMax);
  await lease.check();
  run.state = stopping.aborted ? 'interrupted' : 'done';
  run.finished = Math.floor(now() / 1000);
  run.duration_ms = elapsedMs();
  await runs.finish(run);
  return run;
};
