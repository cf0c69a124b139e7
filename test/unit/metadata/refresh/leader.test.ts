import { Registry } from 'prom-client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parseCron } from '../../../../src/config/cron.ts';
import { Leader, noteSchema } from '../../../../src/metadata/refresh/leader.ts';
import { createLease } from '../../../../src/metadata/refresh/lease.ts';
import { createRefreshMetrics } from '../../../../src/telemetry/refresh-metrics.ts';
import { createMemoryKv } from '../../../support/metadata/refresh-memory-kv.ts';
import {
  createRigNodeManagement,
  createRigRecords,
  rigRunDeps,
} from '../../../support/metadata/refresh-rig.ts';
import { until } from '../../../support/until.ts';

const at = (time: string): number => Date.parse(`2026-03-01T${time}Z`);

/** Metadata processes over one bucket, one report and one node management API. */
const setUp = () => {
  const kv = createMemoryKv();
  const reports = createRigRecords();
  reports.add(1);
  const api = createRigNodeManagement();
  /** A process whose clock reads `clock.now`. */
  const open = (clock: { now: number }) => {
    const stopping = new AbortController();
    const metrics = createRefreshMetrics(new Registry());
    const given = { records: reports.records, nodeManagement: api.nodeManagement, now: () => clock.now };
    const run = rigRunDeps({ ...given, stopping: stopping.signal }, kv);
    const lease = createLease(kv, 'lease.refresh', noteSchema);
    const leader = new Leader({ run, lease, table: parseCron('*/5 * * * *'), metrics, lookEveryMs: 1 });
    onTestFinished(async () => {
      stopping.abort();
      await leader.idle();
    });
    /** Its schedule comes to a time; resolves when this process is done with it. */
    const tick = async (time: number): Promise<void> => {
      clock.now = time;
      leader.follow(time);
      await leader.idle();
    };
    const records = () => run.runs.list();
    const runs = async (): Promise<number> => (await records()).length;
    return { leader, metrics, tick, records, runs };
  };
  return { kv, reports, api, open };
};

describe('the run of a time', () => {
  it('is one of all processes, also where their clocks differ by less than an interval', async () => {
    const { open } = setUp();
    const [left, right] = [open({ now: at('10:00:00') }), open({ now: at('10:00:00') })];
    await left.tick(at('10:05:00'));
    await right.tick(at('10:05:00'));
    expect(await left.runs()).toBe(1);
    // The one whose clock is ahead was first.
    await left.tick(at('10:10:00'));
    expect(await left.runs()).toBe(2);
    await right.tick(at('10:05:00'));
    await right.tick(at('10:10:00'));
    expect(await left.runs()).toBe(2);
  });

  it('comes after a process whose clock was a year ahead had its own', async () => {
    const { kv, open } = setUp();
    await open({ now: 0 }).tick(Date.parse('2027-03-01T10:00:00Z'));
    const right = open({ now: at('10:04:00') });
    await right.tick(at('10:05:00'));
    expect(await right.runs()).toBe(2);
    expect((await kv.get('lease.refresh'))?.value).toMatchObject({ note: { tick: at('10:05:00') } });
    await right.tick(at('10:05:00'));
    expect(await right.runs()).toBe(2);
  });
});

describe('the run of a time that comes during another run of its process', () => {
  type Process = ReturnType<ReturnType<typeof setUp>['open']>;
  it.each([
    ['by hand', ({ leader }: Process) => leader.runByHand()],
    ['of an earlier time', ({ leader }: Process) => leader.follow(at('10:00:00'))],
  ])('%s begins after that one, so that it has what changed since', async (_, begin) => {
    const { kv, reports, api, open } = setUp();
    const gate = Promise.withResolvers<void>();
    api.gate = gate.promise;
    const one = open({ now: at('10:04:50') });
    const earlier = begin(one);
    await until('the run asks node management', () => api.calls.length > 0);
    reports.add(2);
    const timed = one.tick(at('10:05:00'));
    gate.resolve();
    await Promise.all([earlier, timed]);
    expect(await one.records()).toMatchObject([
      { run_id: 2, trigger: 'schedule', created: 1, unchanged: 1 },
      { run_id: 1, created: 1 },
    ]);
    expect((await kv.get('lease.refresh'))?.value).toMatchObject({ note: { tick: at('10:05:00') } });
  });
});

describe('times that come during a long run', () => {
  it('have one run together after it: that of the last of them has what the others would have', async () => {
    const { kv, api, open } = setUp();
    const gate = Promise.withResolvers<void>();
    api.gate = gate.promise;
    const clock = { now: at('10:05:00') };
    const one = open(clock);
    one.leader.follow(clock.now);
    await until('the run asks node management', () => api.calls.length > 0);
    for (const time of ['10:10:00', '10:15:00', '10:20:00', '10:25:00']) {
      clock.now = at(time);
      one.leader.follow(clock.now);
    }
    gate.resolve();
    await one.leader.idle();
    expect(await one.runs()).toBe(2);
    expect((await kv.get('lease.refresh'))?.value).toMatchObject({ note: { tick: at('10:25:00') } });
  });
});

describe('the figure of failures', () => {
  const failuresOf = async ({ metrics }: ReturnType<ReturnType<typeof setUp>['open']>) =>
    (await metrics.lastFailed.get()).values[0]?.value;

  it('is that of the last run of all processes in each of them, so that it ends with the fault', async () => {
    const { api, open } = setUp();
    const [left, right] = [open({ now: at('10:00:00') }), open({ now: at('10:00:00') })];
    api.refuses = true;
    await left.tick(at('10:05:00'));
    await right.tick(at('10:05:00'));
    expect(await Promise.all([left, right].map(failuresOf))).toEqual([1, 1]);
    // From here on the other process is the first at each time.
    api.refuses = false;
    await right.tick(at('10:10:00'));
    await left.tick(at('10:10:00'));
    expect(await Promise.all([left, right].map(failuresOf))).toEqual([0, 0]);
  });
});

describe('a run by hand', () => {
  const byHand = ({ leader }: ReturnType<ReturnType<typeof setUp>['open']>) => leader.runByHand();

  /** A run of `left` that waits for node management. */
  const inTheMidst = async () => {
    const { reports, api, open } = setUp();
    const gate = Promise.withResolvers<void>();
    api.gate = gate.promise;
    const [left, right] = [open({ now: at('10:00:00') }), open({ now: at('10:00:00') })];
    const earlier = byHand(left);
    await until('the run asks node management', () => api.calls.length > 0);
    return { reports, left, right, earlier, go: gate.resolve };
  };

  it('that was asked for during a run begins after it, so that it has every change before the call', async () => {
    const { reports, left, earlier, go } = await inTheMidst();
    reports.setEnabled(1, false);
    const later = [byHand(left), byHand(left)];
    go();
    expect(await earlier).toMatchObject({ run_id: 1, created: 1, deleted: 0 });
    for (const run of later) expect(await run).toMatchObject({ run_id: 2, state: 'done', deleted: 1 });
    expect(await left.runs()).toBe(2);
  });

  it('does the same during a run of another process, and callers share it', async () => {
    const { left, right, earlier, go } = await inTheMidst();
    const later = [byHand(right), byHand(right)];
    await new Promise((resolve) => setImmediate(resolve));
    go();
    expect(await earlier).toMatchObject({ run_id: 1 });
    for (const run of later) expect(await run).toMatchObject({ run_id: 2, state: 'done' });
    expect(await left.runs()).toBe(2);
  });
});
