import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { TimeTable } from '../../config/cron.ts';
import { errorText, Fault } from '../../model/fault.ts';
import { type Rounds, startRounds } from '../../runtime/rounds.ts';
import { whenStopped } from '../../runtime/stop-signal.ts';
import type { RefreshMetrics } from '../../telemetry/refresh-metrics.ts';
import type { HeldLease, Lease, Observation } from './lease.ts';
import { type RunDeps, runOnce } from './run.ts';
import type { RefreshRun } from './runs.ts';

/** `run`: the last run that was begun. `tick`: the latest time of the table a run was begun for, ms since the epoch. */
export const noteSchema = z.object({ run: z.int().nonnegative(), tick: z.number() });
type Note = z.output<typeof noteSchema>;

export type LeaderDeps = {
  readonly run: RunDeps;
  readonly lease: Lease<Note>;
  readonly table: TimeTable;
  readonly metrics: RefreshMetrics;
  /** Between two looks at the lease of another process, ms. */
  readonly lookEveryMs: number;
};

/** `tick`: the latest time of the table that had a run by this one. */
type Led =
  | { readonly kind: 'ran'; readonly run: RefreshRun; readonly tick: number }
  | { readonly kind: 'passed' };

const showLast = (metrics: RefreshMetrics, run: RefreshRun): void => {
  metrics.lastFailed.set(run.failed_count);
  metrics.lastDurationSeconds.set((run.duration_ms ?? 0) / 1000);
};

const countRun = (metrics: RefreshMetrics, run: RefreshRun): void => {
  metrics.runs.inc({ trigger: run.trigger, state: run.state });
  for (const outcome of ['created', 'updated', 'unchanged', 'deleted'] as const) {
    metrics.reports.inc({ outcome }, run[outcome]);
  }
  metrics.reports.inc({ outcome: 'failed' }, run.failed_count);
  showLast(metrics, run);
  if (run.failed_count === 0 && run.state === 'done') metrics.lastSuccess.set(run.finished ?? 0);
};

/** How often a process reads the last run, which another one may have led. */
const showEveryMs = 60_000;

/** The runs of this process, each under the lease: of all processes one runs at a time. */
export class Leader {
  private readonly deps: LeaderDeps;
  private readonly run: RunDeps;
  private readonly stopped: Promise<void>;
  private leading: Promise<Led> | undefined;
  private readonly followers = new Set<Promise<void>>();

  constructor(deps: LeaderDeps) {
    this.deps = deps;
    this.run = deps.run;
    this.stopped = whenStopped(deps.run.stopping);
  }

  /** Under the lease: one run, its log line and its figures. */
  private async runUnder(held: HeldLease, note: Note, trigger: RefreshRun['trigger']): Promise<Led> {
    try {
      const run = await runOnce(this.run, held, note.run, trigger);
      countRun(this.deps.metrics, run);
      this.deps.metrics.subscriptions.set(this.run.subscriptions.list().length);
      const { failed: _, ...figures } = run;
      if (run.failed_count === 0) this.run.log.info(figures, 'the refresh job ran');
      else
        this.run.log.warn(
          figures,
          'the refresh job ran, and some reports failed; its record has their reasons',
        );
      return { kind: 'ran', run, tick: note.tick };
    } finally {
      await held.release();
    }
  }

  /** The noted time; 0 for one behind the next: a process whose clock was ahead must not stop the job until that date. */
  private believed(tick: number): number {
    return tick > (this.deps.table.next(this.run.now()) ?? Number.POSITIVE_INFINITY) ? 0 : tick;
  }

  /**
   * `passed` when another process has the lease, or the time `tick` had its run already. One at a time in this process:
   * during another run of it, the result of that one.
   */
  private lead(trigger: RefreshRun['trigger'], tick: number): Promise<Led> {
    const leadOnce = async (): Promise<Led> => {
      await Promise.race([Promise.all([this.run.records.ready, this.run.subscriptions.ready]), this.stopped]);
      let own: Note = { run: 0, tick: 0 };
      const held = await this.deps.lease.acquire(({ state, note = { run: 0, tick: 0 } }) => {
        if (this.run.stopping.aborted) return undefined;
        const lastTick = this.believed(note.tick);
        if (state !== 'expired' && lastTick >= tick) return undefined;
        own = { run: note.run + 1, tick: Number.isFinite(tick) ? Math.max(tick, lastTick) : lastTick };
        return own;
      });
      return held === undefined ? { kind: 'passed' } : this.runUnder(held, own, trigger);
    };
    this.leading ??= leadOnce().finally(() => {
      this.leading = undefined;
    });
    return this.leading;
  }

  private pause(): Promise<void> {
    return delay(this.deps.lookEveryMs, undefined, { signal: this.run.stopping }).catch(() => undefined);
  }

  /** The figures of a failed run would stay in its process for ever where another one leads each run after it. */
  private async showOthers(note: Note | undefined): Promise<void> {
    const last = note && (await this.run.runs.get(note.run));
    if (last !== undefined && last.state !== 'running') showLast(this.deps.metrics, last);
  }

  /** Leads the run of this time, or looks on while another process does, to take over if that one dies. */
  private async followTick(tick: number): Promise<void> {
    const until =
      this.deps.table.next(Number.isFinite(tick) ? tick : this.run.now()) ?? Number.POSITIVE_INFINITY;
    let lastMessage = '';
    // The next time has a follower of its own, whose run has what this one would have.
    const isPast = (): boolean => until <= this.run.now();
    while (!this.run.stopping.aborted) {
      const isOwn = this.leading === undefined;
      try {
        const led = await this.lead('schedule', tick);
        if (led.kind === 'ran') {
          if (led.tick >= tick || isPast()) return;
          // It began before this time, so it may lack what changed since.
          continue;
        }
        const { state, note } = await this.deps.lease.observe();
        if (state === 'free' && (this.believed(note?.tick ?? 0) >= tick || isPast()))
          return await this.showOthers(note);
        lastMessage = '';
      } catch (error) {
        const message = errorText(error);
        if (message !== lastMessage) this.run.log.warn({}, `the refresh job waits: ${message}`);
        lastMessage = message;
        const isTransient = error instanceof Fault && error.kind === 'transient';
        if ((isOwn && !isTransient) || isPast()) return;
      }
      await this.pause();
    }
  }

  /** Shows each minute how the last run ended, by whichever process and call it ran. */
  showLastRuns(): Rounds {
    return startRounds(async () => {
      try {
        const { state, note } = await this.deps.lease.observe();
        if (state === 'free') await this.showOthers(note);
      } catch (error) {
        this.run.log.debug({}, `the last refresh run was not read: ${errorText(error)}`);
      }
      return showEveryMs;
    }, showEveryMs);
  }

  follow(tick: number): void {
    const following = this.followTick(tick).finally(() => this.followers.delete(following));
    this.followers.add(following);
  }

  /** The record of the last run that was begun, if it has at least this number and is done. */
  private async doneSince(needed: number, seen: Observation<Note>): Promise<RefreshRun | undefined> {
    if (seen.state === 'held' || seen.note === undefined || seen.note.run < needed) return undefined;
    const run = await this.run.runs.get(seen.note.run);
    return run?.state === 'done' ? run : undefined;
  }

  /**
   * A call by hand: a run that was begun after it, by any process, so that it has every change before the call.
   * `Infinity` is later than any time of the table, so it always gets one, also where the caller has gone. `onAwaited` is called with its
   * least number.
   */
  async runByHand(onAwaited: (runId: number) => void = () => undefined): Promise<RefreshRun> {
    let needed: number | undefined;
    while (!this.run.stopping.aborted) {
      const seen = await this.deps.lease.observe();
      if (needed === undefined) {
        needed = (seen.note?.run ?? 0) + 1;
        onAwaited(needed);
      }
      const done = await this.doneSince(needed, seen);
      if (done !== undefined) return done;
      const led = await this.lead('manual', Number.POSITIVE_INFINITY);
      if (led.kind === 'passed') await this.pause();
      else if (led.run.run_id >= needed) return led.run;
    }
    throw new Fault('transient', 'refresh_stopped', 'this process is stopping');
  }

  /** Resolves when no run of this process goes on, after it was stopped. */
  async idle(): Promise<void> {
    await this.leading?.catch(() => undefined);
    await Promise.all(this.followers);
  }
}
