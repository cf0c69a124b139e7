import { resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRandom } from '../../bench/bodies.ts';
import {
  type AccountStack,
  startAccountStack,
  startWatch,
  type Watch,
} from '../support/account/account-stack.ts';
import { createPointMessages, createTableSql, unknownTable } from '../support/push/point-messages.ts';
import { produce } from '../support/push/producer.ts';
import type { RoleProcess } from '../support/stack/stack.ts';
import { limitStream } from '../support/stack/stream-limits.ts';
import { waitFor } from '../support/wait.ts';

/** `SEED=5 KILLS=200 make test-account` kills longer. */
const seed = Number(process.env['SEED'] || 17);
const kills = Number(process.env['KILLS'] || 8);

const hourBack = resolve(import.meta.dirname, '../support/account/hour-back.mjs');

let on: AccountStack;
let watch: Watch;

beforeAll(async () => {
  on = await startAccountStack({
    ingress: 2,
    transfer: 2,
    duplicateWindowSeconds: 4,
    roleEnv: async (role): Promise<Record<string, string>> =>
      role === 'ingress-1' ? { NODE_OPTIONS: `--import=${hourBack}` } : {},
  });
  watch = startWatch(on);
});
afterAll(async () => {
  await watch?.stop();
  await on?.stop();
});

const urlOf = (role: RoleProcess | undefined): string => `http://127.0.0.1:${role?.ports['push']}/v2/push/`;

const lastOf = async (stream: 'METRICS' | 'TRACES'): Promise<number> =>
  (await on.stack.streamState(stream)).last_seq;

/** An application, an export of three spans of it, and whether ClickHouse takes the middle one. */
const prepareSpans = async (name: string) => {
  const application = await on.stack.createApplication(name);
  const time = `${Date.now()}000000`;
  const spans = ['first', name, 'last'].map((each, index) => ({
    traceId: String(application.app_id).padStart(32, 'd'),
    spanId: String(index + 1).padStart(16, '0'),
    name: each,
    startTimeUnixNano: time,
    endTimeUnixNano: time,
  }));
  const table = 'ALTER TABLE otel.otel_traces';
  return {
    send: async (): Promise<void> => {
      const response = await fetch(`http://127.0.0.1:${on.stack.ingress[0]?.ports['otlp']}/v1/traces`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-mon-token': application.token },
        body: JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }),
      });
      expect(response.status).toBe(200);
    },
    refuse: () => on.change(`${table} ADD CONSTRAINT ${name} CHECK SpanName != '${name}'`),
    accept: () => on.change(`${table} DROP CONSTRAINT ${name}`),
    letters: async (): Promise<number[]> => {
      const { body } = await on.stack.api('GET', `/api/v1/dead-letters?app_id=${application.app_id}`);
      const { items }: { items: { sequence: number }[] } = JSON.parse(JSON.stringify(body));
      return items.map(({ sequence }) => sequence);
    },
    /** Waits until the account says so much, with nothing on its way. */
    shows: (figures: Record<string, number>) =>
      waitFor(`the account of ${name} shows ${JSON.stringify(figures)}`, 120_000, async () => {
        const account = (await on.accounts()).find(({ app_id: appId }) => appId === application.app_id);
        const found: Record<string, unknown> = { ...account, ...account?.dropped };
        const all = { in_flight: 0, ...figures };
        for (const [key, value] of Object.entries(all))
          if ((found[key] ?? 0) !== value) throw new Error(JSON.stringify(account));
        if (account?.adds_up !== true) throw new Error(JSON.stringify(account));
        return account;
      }),
  };
};

describe('no loss is shown', () => {
  it(`after kill -9 of each process in turn under load (seed ${seed}, ${kills} kills)`, async () => {
    const { stack } = on;
    const report = await stack.createReport('killed');
    const victims = [
      ...[...stack.ingress, ...stack.transfer, stack.metadata].map((role) => ({
        name: role.name,
        kill: () => role.kill(),
        start: async () => role.start(),
      })),
      ...(['nats', 'questdb', 'clickhouse'] as const).map((name) => stack.engines[name]),
    ];
    const random = createRandom(seed);
    const order: typeof victims = [];
    while (order.length < kills)
      order.push(
        ...victims
          .map((victim) => ({ victim, at: random() }))
          .toSorted((a, b) => a.at - b.at)
          .map(({ victim }) => victim),
      );
    const stopLoad = new AbortController();
    const producing = produce(report, Date.now() - 60_000, {
      seed,
      connections: 3,
      pointsMax: 50,
      until: stopLoad.signal,
      urls: stack.ingress.map(urlOf),
    });
    for (const victim of order.slice(0, kills)) {
      process.stdout.write(`  kill -9 ${victim.name}\n`);
      await victim.kill();
      await new Promise((resolve) => setTimeout(resolve, 200 + random() * 2_000));
      await victim.start();
      await stack.ready();
    }
    stopLoad.abort();
    const { acknowledged, uncertain } = await producing;
    await on.settled();
    const account = await waitFor('all of it is stored, and nothing is on its way', 120_000, async () => {
      const now = await on.account(report);
      const isStored = now !== undefined && now.stored >= acknowledged.size;
      if (!isStored || now.in_flight !== 0 || now.adds_up !== true) throw new Error(JSON.stringify(now));
      return now;
    });
    process.stdout.write(
      `  ${acknowledged.size} points acknowledged, ${uncertain.size} uncertain: received ${account.received}, stored ${account.stored}\n`,
    );
    expect(account.stored).toBeLessThanOrEqual(acknowledged.size + uncertain.size);
    expect(account.received).toBe(account.stored + account.repeated);
    expect(watch.falseAnswers).toEqual([]);
  });

  it('with a receiver whose clock is an hour late, beside one whose clock is right', async () => {
    const report = await on.stack.createReport('late clock');
    const answers = { seed, connections: 1, pointsMax: 20, points: 400 };
    const books = await produce(report, Date.now() - 60_000, {
      ...answers,
      urls: on.stack.ingress.map(urlOf),
    });
    expect(books.acknowledged.size).toBe(400);
    await on.whole(report, 400);
    // A receiver's book is written a moment after what it counts was stored.
    await waitFor('the books of both receivers', 60_000, async () => {
      const [minutes] = await on.stack.spansQuery(
        `SELECT toUInt32(max(minute) - min(minute)) AS seconds FROM otel.ingest_published WHERE data_id = ${report.data_source.mon_data_id}`,
      );
      return Number(minutes?.['seconds']) >= 3_540;
    });
  });

  it('with messages of a receiver of an earlier version, which have no serial', async () => {
    const dataId = 2_950_000;
    await on.stack.query(createTableSql(unknownTable(dataId)));
    const publish = createPointMessages(on.bus);
    for (let count = 0; count < 30; count++) await publish(dataId, count);
    const account = await waitFor('they are counted', 120_000, async () => {
      const now = (await on.accounts()).find((each) => each.data_id === dataId);
      if (now?.stored !== 30 || now.in_flight !== 0) throw new Error(JSON.stringify(now));
      return now;
    });
    expect(account).toMatchObject({ received: 30, stored: 30, repeated: 0 });
  });

  it('with a request that is repeated after the duplicate window', async () => {
    const report = await on.stack.createReport('repeated');
    const body = JSON.stringify({
      data_id: report.data_source.mon_data_id,
      access_token: report.data_source.token,
      data: [1, 2, 3].map((a) => ({ metrics: { a }, timestamp: Date.now() })),
    });
    const send = async (): Promise<void> => {
      const response = await fetch(urlOf(on.stack.ingress[0]), {
        method: 'POST',
        headers: { 'Idempotency-Key': 'named' },
        body,
      });
      expect(response.status).toBe(200);
    };
    await send();
    await on.whole(report, 3);
    const before = await lastOf('METRICS');
    await waitFor('NATS has forgotten the request', 60_000, async () => {
      await send();
      return (await lastOf('METRICS')) > before;
    });
    await waitFor('the repeat is counted as such', 120_000, async () => {
      const now = await on.account(report);
      const { received, stored, repeated, in_flight: inFlight, adds_up: addsUp } = now ?? {};
      const isSo = received === 6 && stored === 3 && repeated === 3 && inFlight === 0 && addsUp === true;
      if (!isSo) throw new Error(JSON.stringify(now));
      return true;
    });
  });

  it('with dead letters that are redriven, and purged', async () => {
    const redriven = await prepareSpans('redriven');
    await redriven.refuse();
    await redriven.send();
    await redriven.shows({ received: 3, stored: 2, dead_lettered: 1 });
    await redriven.accept();
    for (const sequence of await redriven.letters())
      expect((await on.stack.api('POST', `/api/v1/dead-letters/${sequence}/redrive`, {})).status).toBe(200);
    await redriven.shows({ received: 3, stored: 3, dead_lettered: 0 });
    const purged = await prepareSpans('purged');
    await purged.refuse();
    await purged.send();
    await purged.shows({ received: 3, stored: 2, dead_lettered: 1 });
    await purged.accept();
    for (const sequence of await purged.letters())
      expect((await on.stack.api('DELETE', `/api/v1/dead-letters/${sequence}`, {})).status).toBe(200);
    await purged.shows({ received: 3, stored: 2, dead_lettered: 0, purged_by_operator: 1 });
  });

  it('with a report that is purged while its messages wait', async () => {
    const report = await on.stack.createReport('purged');
    await on.pushEach(report, 5, 2);
    await on.whole(report, 10);
    for (const transfer of on.stack.transfer) await transfer.kill();
    await on.pushEach(report, 5, 2);
    const path = `/api/v1/custom-reports/${report.custom_report.custom_report_id}/purge`;
    const { status } = await on.stack.api('POST', path, { table_id: report.result_table.table_id });
    expect(status).toBe(200);
    for (const transfer of on.stack.transfer) transfer.start();
    await on.stack.ready();
    await waitFor('all of it is counted', 120_000, async () => {
      const now = await on.account(report);
      const dropped = Object.values(now?.dropped ?? {}).reduce((sum, count) => sum + count, 0);
      const isSo = now?.received === 20 && now.stored + dropped === 20 && now.in_flight === 0;
      if (!isSo || now.adds_up !== true) throw new Error(JSON.stringify(now));
      return true;
    });
  });

  it('with transfer stopped while LEDGER is full, and metadata restarted beside', async () => {
    const report = await on.stack.createReport('full ledger');
    await on.settled();
    const restore = await limitStream(on.bus, 'LEDGER', 1);
    await on.pushEach(report, 10, 2);
    await waitFor('LEDGER is full', 60_000, async () => {
      const answer = await fetch(`http://127.0.0.1:${on.stack.transfer[0]?.ports['ops']}/readyz`);
      return (await answer.text()).includes('the stream is full');
    });
    for (const transfer of on.stack.transfer) expect(await transfer.stop()).toBe(0);
    expect((await on.stack.streamState('METRICS')).messages).toBe(10);
    await on.stack.metadata.stop();
    await restore();
    on.stack.metadata.start();
    for (const transfer of on.stack.transfer) transfer.start();
    await on.stack.ready();
    await on.whole(report, 20);
  });

  it('at any time until a minute after all of it', async () => {
    const seenAt = performance.now();
    await waitFor('a minute of looks and more', 120_000, () => performance.now() - seenAt > 75_000);
    expect(watch.falseAnswers).toEqual([]);
    expect(watch.answers).toBeGreaterThan(30);
    expect(await on.unexpected()).toEqual([]);
  });
});
