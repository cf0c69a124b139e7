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
    const runs = async (): Promise<number> => (await run.runs.list()).length;
    return { leader, metrics, tick, runs };
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
