import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Cluster, createCluster } from '../../../support/push/rate-cluster.ts';

beforeEach(() => {
  vi.useFakeTimers();
  vi.setSystemTime(Date.UTC(2026, 5, 1, 12, 0, 0, 137));
});
afterEach(() => {
  vi.useRealTimers();
});

/** Three receivers, the first with ten times the load of each other one, three times the rate in total. */
const threeOf = (rate: number, seed = 1, delayMsMax = 20): Cluster => {
  const cluster = createCluster(rate, seed, delayMsMax);
  for (const part of [10, 1, 1]) cluster.join((part * 3 * rate) / 12);
  return cluster;
};

/**
 * Within a tenth of the number that the rate allows in this many seconds, or this many requests where a tenth is less.
 */
const expectRate = (admitted: number, rate: number, seconds: number, slack = 1): void => {
  const allowed = rate * seconds;
  expect(Math.abs(admitted - allowed)).toBeLessThanOrEqual(Math.max(slack, allowed / 10));
};

describe('a rate over several receivers', () => {
  // What is protected behind the limit feels the sum of what all receivers admit.
  it.each([1, 2, 3, 10, 50, 200, 1000])('of %d holds over ten seconds from the first request', (rate) => {
    expectRate(threeOf(rate).run(10), rate, 10);
  });

  it.each([1, 2, 3, 4, 5])('holds whenever the reports arrive and requests come (seed %d)', (seed) => {
    const cluster = threeOf(200, seed, 100);
    for (const receiver of cluster.receivers) receiver.isByChance = true;
    expectRate(cluster.run(10), 200, 10);
  });

  it('holds when each of them alone would use it up', () => {
    for (const rate of [10, 200]) {
      const cluster = createCluster(rate);
      for (let count = 0; count < 3; count++) cluster.join(rate);
      expectRate(cluster.run(10), rate, 10);
    }
  });

  it.each([1, 2, 3, 10, 200])('of %d is all for the only sender, at any receiver', (rate) => {
    const cluster = createCluster(rate);
    for (let count = 0; count < 3; count++) cluster.join(0);
    cluster.run(3);
    const sender = cluster.receivers[1];
    if (sender === undefined) throw new Error('no receiver');
    sender.load = rate;
    cluster.run(20);
    // One refusal while the others' equal parts move over.
    expect(sender.refused).toBeLessThanOrEqual(1);
    expect(sender.admitted).toBeGreaterThanOrEqual(20 * rate - 2);
  });

  it('of 1 serves a sender that goes from receiver to receiver', () => {
    const cluster = createCluster(1);
    for (let count = 0; count < 3; count++) cluster.join(0);
    let admitted = 0;
    for (let second = 0; second < 30; second++) {
      const receiver = cluster.receivers[second % 3];
      if (receiver === undefined) throw new Error('no receiver');
      receiver.load = 1000;
      admitted += cluster.run(0.001);
      receiver.load = 0;
      admitted += cluster.run(0.999);
    }
    expect(admitted).toBeGreaterThanOrEqual(27);
  });

  it('holds while receivers come, go and die, and is used up again within seconds', () => {
    const cluster = threeOf(200);
    cluster.run(5);
    cluster.join(300);
    expectRate(cluster.run(10), 200, 10);
    cluster.receivers[0]?.die();
    const lost = cluster.run(4);
    expect(lost).toBeLessThanOrEqual(4.5 * 200);
    expectRate(cluster.run(10), 200, 10);
    cluster.receivers[3]?.stop();
    cluster.run(1);
    // What is left is below the rate, and all of it is admitted.
    expect(cluster.run(10)).toBeGreaterThanOrEqual(990);
  });

  it('moves over within three seconds when a loaded receiver goes quiet and an idle one is loaded', () => {
    const cluster = createCluster(200);
    const [one, other] = [cluster.join(600), cluster.join(0)];
    cluster.run(5);
    [one.load, other.load] = [0, 600];
    cluster.run(3);
    expectRate(cluster.run(10), 200, 10);
  });

  it('stays as it was shared while reports are lost, and is shared again when they are back', () => {
    const cluster = threeOf(200);
    cluster.run(5);
    cluster.isAway = true;
    expectRate(cluster.run(60), 200, 60);
    const [loaded, idle] = cluster.receivers;
    if (loaded === undefined || idle === undefined) throw new Error('no receiver');
    [loaded.load, idle.load] = [50, 500];
    cluster.run(5);
    // The shares are the old ones: no process takes a share that another may still use.
    expect(cluster.run(10)).toBeLessThan(0.6 * 2000);
    cluster.isAway = false;
    cluster.run(3);
    expectRate(cluster.run(10), 200, 10);
  });

  it('holds at once when it is changed, up or down', () => {
    const cluster = threeOf(200);
    cluster.run(5);
    cluster.rate = 40;
    expectRate(cluster.run(10), 40, 10);
    cluster.rate = 300;
    expectRate(cluster.run(10), 300, 10);
  });

  it('costs one report a second, and five where demand surges', () => {
    const cluster = createCluster(0);
    for (let count = 0; count < 3; count++) cluster.join(1000);
    cluster.run(10);
    expect(new Set(cluster.reports.map((report) => report.replace(/\d+/, '')))).toEqual(
      new Set(['{"tick":,"rest":0,"demand":{}}']),
    );
    expect(cluster.reports).toHaveLength(33);
    cluster.rate = 200;
    for (let second = 0; second < 5; second++) {
      const before = cluster.reports.length;
      cluster.run(1);
      expect(cluster.reports.length - before).toBeLessThanOrEqual(15);
    }
  });
});
