import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { keepFleetingBucket } from '../../src/bus/fleeting-bucket.ts';
import { buckets } from '../../src/directory/keys.ts';
import { ratesLimits } from '../../src/directory/rates-bucket.ts';
import { createReportChannel } from '../../src/ingress/rates/channel.ts';
import { startRateExchange } from '../../src/ingress/rates/exchange.ts';
import { notedFault } from '../support/lasting-faults.ts';
import { createPushClient, type PushClient } from '../support/push/client.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { type Report, type Stack, startStack } from '../support/stack/stack.ts';
import { waitFor } from '../support/wait.ts';

/** Calls `send` at this rate, evenly, for this long: it makes up for late calls at once. */
const atRate = (perSecond: number, seconds: number, send: () => void): Promise<void> =>
  new Promise((resolve) => {
    const start = performance.now();
    let sent = 0;
    const timer = setInterval(() => {
      const elapsed = Math.min(seconds, (performance.now() - start) / 1000);
      for (; sent < elapsed * perSecond; sent++) send();
      if (elapsed < seconds) return;
      clearInterval(timer);
      resolve();
    }, 2);
  });

describe('max_rate of a data id over three receivers', () => {
  let stack: Stack;
  let clients: PushClient[];
  beforeAll(async () => {
    stack = await startStack({ ingress: 3 });
    clients = stack.ingress.map(({ ports }) => createPushClient(ports['push'] ?? 0));
  });
  afterAll(async () => {
    for (const client of clients ?? []) client.close();
    await stack?.stop();
  });

  const bodyOf = ({ data_source: { mon_data_id: dataId, token } }: Report): string =>
    JSON.stringify({ data_id: dataId, access_token: token, data: [{ metrics: { load: 1 } }] });

  // What is protected behind the limit feels the sum of what all receivers admit, however a balancer spreads the senders.
  it('of 100 admits 1000 requests in ten seconds, a tenth more or less, cold and with one of them ten times as loaded', async () => {
    const limited = await stack.createReport('limited', { max_rate: 100 });
    const known = await stack.createReport('known', { max_rate: 0 });
    // Only proves that every receiver has read the records: all of them apply a report that is later than the limited
    // one.
    for (const client of clients) {
      await waitFor('the record to be known', 60_000, async () => {
        return (await client.send({ body: bodyOf(known) })).status === 200;
      });
    }
    const body = bodyOf(limited);
    const answers: { status: number; atMs: number }[] = [];
    const send = async (client: PushClient): Promise<void> => {
      const { status } = await client.send({ body });
      answers.push({ status, atMs: performance.now() });
    };
    const pending = clients.map(() => new Set<Promise<void>>());
    const startMs = performance.now();
    await Promise.all(
      clients.map((client, index) => {
        const own = pending[index] ?? new Set();
        return atRate(index === 0 ? 250 : 25, 10, () => {
          // Requests that pile up on a slow machine would be admitted after the ten seconds.
          if (own.size >= 50) return;
          const sending = send(client).finally(() => own.delete(sending));
          own.add(sending);
        });
      }),
    );
    await Promise.all(pending.flatMap((each) => [...each]));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 429]));
    const inTime = answers.filter(({ atMs }) => atMs <= startMs + 10_000);
    // Less than twice the rate would prove nothing: the machine was too slow for the load.
    expect(inTime.length).toBeGreaterThanOrEqual(2000);
    const admitted = inTime.filter(({ status }) => status === 200).length;
    expect(admitted).toBeGreaterThanOrEqual(900);
    expect(admitted).toBeLessThanOrEqual(1100);
    await stack.waitForRows(
      limited.result_table.table_id,
      answers.filter(({ status }) => status === 200).length,
    );
  });
});

describe('the exchange of shares', () => {
  let engines: TestEngines;
  const buses: Bus[] = [];
  let keeper: { stop(): void };
  const quiet = { info: () => {}, warn: () => {} };
  beforeAll(async () => {
    engines = await startEngines({ nats: true });
    const metadata = await connectBus(engines.asUser(engines.nats.url, 'metadata'), 'metadata');
    buses.push(metadata);
    keeper = keepFleetingBucket({ bus: metadata, name: buckets.rates, limits: ratesLimits, log: quiet });
  });
  afterAll(async () => {
    keeper?.stop();
    await Promise.all(buses.map((bus) => bus.close()));
    await engines?.stop();
  });

  const join = async () => {
    const bus = await connectBus(engines.asUser(engines.nats.url, 'ingress'), 'ingress');
    buses.push(bus);
    const { events, fault } = notedFault();
    return { bus, events, ...startRateExchange(createReportChannel(bus, fault)) };
  };
  type Receiver = Awaited<ReturnType<typeof join>>;

  /** How many of these requests of one instant a receiver admits: half a second of its share of 1000 a second. */
  const burst = ({ limiter }: Receiver, key: string): number => {
    const now = Date.now();
    return Array.from({ length: 600 }, () => limiter.admit(key, 1000, now)).filter(
      (verdict) => verdict?.isAdmitted === true,
    ).length;
  };

  let probes = 0;
  /** Waits until the rate of an unused key is divided into this many parts. */
  const untilSharedBy = (receiver: Receiver, parts: number): Promise<boolean> =>
    waitFor(`${parts} to share`, 60_000, () => {
      const admitted = burst(receiver, `d:probe-${probes++}`);
      if (Math.abs(admitted - 500 / parts) > 2) throw new Error(`${admitted} admitted`);
      return true;
    });

  it('counts live receivers, and those that stop and that are killed no more', async () => {
    const [one, two, three] = [await join(), await join(), await join()];
    await untilSharedBy(one, 3);
    await untilSharedBy(three, 3);
    await two.stop();
    await untilSharedBy(one, 2);
    await three.bus.close();
    await untilSharedBy(one, 1);
    await one.stop();
  });

  it('keeps the last shares while NATS is down, and continues by itself when it is back with an empty memory', async () => {
    const [one, two] = [await join(), await join()];
    await untilSharedBy(one, 2);
    await untilSharedBy(two, 2);
    await engines.nats.kill();
    await waitFor('the connections to be lost', 60_000, () => !one.bus.connected && !two.bus.connected);
    // Both have a load far beyond the rate: together they admit the rate, without any exchange.
    const admitted = { count: 0 };
    const seconds = 5;
    const load = (receiver: Receiver): Promise<void> =>
      atRate(500, seconds, () => {
        if (receiver.limiter.admit('d:1', 100, Date.now())?.isAdmitted === true) admitted.count++;
      });
    await Promise.all([load(one), load(two)]);
    expect(admitted.count).toBeGreaterThanOrEqual(0.9 * 100 * seconds);
    expect(admitted.count).toBeLessThanOrEqual(1.1 * 100 * seconds + 1);
    expect([burst(one, 'd:away'), burst(two, 'd:away')]).toEqual([250, 250]);
    await engines.nats.start();
    const three = await join();
    for (const receiver of [one, two, three]) await untilSharedBy(receiver, 3);
    // The log has the end of what failed meanwhile.
    for (const { events } of [one, two, three]) expect(events.at(-1)).toBe('worked');
    await Promise.all([one.stop(), two.stop(), three.stop()]);
  });

  it('starts again when its bucket is deleted', async () => {
    const [one, two] = [await join(), await join()];
    await untilSharedBy(one, 2);
    const remover = await connectBus(engines.nats.url, 'test');
    buses.push(remover);
    await (await remover.manager()).streams.delete(`KV_${buckets.rates}`);
    const three = await join();
    for (const receiver of [one, two, three]) await untilSharedBy(receiver, 3);
    await Promise.all([one.stop(), two.stop(), three.stop()]);
  });
});
