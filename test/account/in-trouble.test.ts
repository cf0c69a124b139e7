import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type AccountStack,
  seenMsMax,
  startAccountStack,
  wrongIn,
} from '../support/account/account-stack.ts';
import { messagesOf, publishersBookIn, standing } from '../support/outcomes/books.ts';
import { createPointMessages, createTableSql, unknownTable } from '../support/push/point-messages.ts';
import type { Report, RoleProcess } from '../support/stack/stack.ts';
import { waitFor } from '../support/wait.ts';

let on: AccountStack;

beforeAll(async () => {
  on = await startAccountStack();
});
afterAll(() => on?.stop());

const only = (roles: readonly RoleProcess[]): RoleProcess => {
  const [role] = roles;
  if (role === undefined) throw new Error('there is none');
  return role;
};
const transfer = (): RoleProcess => only(on.stack.transfer);
const ingress = (): RoleProcess => only(on.stack.ingress);

type Load = { readonly messages: number; end(): Promise<number> };

/** Pushes of one point with a key, each a message of its own, until the end; answers how many were taken. */
const startLoad = (report: Report, connections: number): Load => {
  const agent = new Agent({ connections, pipelining: 1 });
  let isOver = false;
  let sent = 0;
  let taken = 0;
  const { mon_data_id: dataId, token } = report.data_source;
  const sender = async (): Promise<void> => {
    while (!isOver) {
      const number = sent++;
      const { statusCode, body } = await request(`http://127.0.0.1:${ingress().ports['push']}/v2/push/`, {
        method: 'POST',
        headers: { 'idempotency-key': `load ${number}` },
        body: `{"data_id":${dataId},"access_token":"${token}","data":[{"metrics":{"up":1},"timestamp":${Date.now() - (number % 1000)}}]}`,
        dispatcher: agent,
      });
      await body.dump();
      expect(statusCode).toBe(200);
      taken++;
    }
  };
  const running = Promise.all(Array.from({ length: connections }, sender));
  running.catch(() => undefined);
  return {
    get messages() {
      return taken;
    },
    end: async () => {
      isOver = true;
      await running;
      await agent.close();
      return taken;
    },
  };
};

const deliveredUpTo = async (): Promise<number> => {
  const { consumers } = await on.bus.manager();
  return (await consumers.info('METRICS', 'questdb')).delivered.stream_seq;
};

describe('a loss is seen with its number', () => {
  it('while the messages of a table wait', async () => {
    const report = await on.stack.createReport('beside a waiting table');
    const waitsId = 2_960_000;
    const publish = createPointMessages(on.bus);
    for (let count = 0; count < 3; count++) await publish(waitsId, count);
    await transfer().kill();
    await on.pushEach(report, 10, 3);
    const messages = (await messagesOf(on.bus, 'METRICS')).slice(-10);
    const { streams } = await on.bus.manager();
    const startedAt = performance.now();
    for (const { sequence } of messages.slice(2, 7)) await streams.deleteMessage('METRICS', sequence);
    transfer().start();
    await on.seen(
      '5 messages deleted while a table waits',
      report,
      [{ kind: 'lost_in_the_stream', stream: 'METRICS', items: 15, messages: 5 }],
      startedAt,
    );
    // The table comes, and its messages are no loss.
    await on.stack.query(createTableSql(unknownTable(waitsId)));
    await on.stack.waitForRows(unknownTable(waitsId), 3);
    expect(await on.unexpected()).toEqual([]);
  });

  it('in a long queue that does not move', async () => {
    const report = await on.stack.createReport('in a long queue');
    await on.settled();
    const { streams, consumers } = await on.bus.manager();
    await consumers.pause('METRICS', 'questdb', new Date(Date.now() + 3_600_000));
    const load = startLoad(report, 16);
    const waiting = async (): Promise<number> => (await on.stack.streamState('METRICS')).messages;
    await waitFor('a long queue', 120_000, async () => (await waiting()) > 6_000);
    const taken = await load.end();
    await on.received(report, taken);
    const { last_seq: last } = await on.stack.streamState('METRICS');
    const startedAt = performance.now();
    for (let back = 0; back < 7; back++) await streams.deleteMessage('METRICS', last - 3 * back);
    const expected = [{ kind: 'lost_in_the_stream', stream: 'METRICS', items: 7, messages: 7 }];
    await on.seen('7 messages deleted from a long queue', report, expected, startedAt);
    await consumers.resume('METRICS', 'questdb');
    await on.settled();
    await on.seen('the same once it moves', report, expected, performance.now());
    expect(await on.account(report)).toMatchObject({ stored: taken - 7, lost: 7, in_flight: 0 });
  });

  it('at full load of single points, while transfer is stopped', async () => {
    const report = await on.stack.createReport('under load');
    await on.settled();
    const load = startLoad(report, 16);
    const began = performance.now();
    await delay(4_000);
    const rate = (1_000 * load.messages) / (performance.now() - began);
    transfer().signal('SIGSTOP');
    const last = async (): Promise<number> => (await on.stack.streamState('METRICS')).last_seq;
    const deletions = 250;
    const first = await waitFor('messages that nobody was given', 60_000, async () => {
      const delivered = await deliveredUpTo();
      return (await last()) > delivered + 3 * deletions && delivered + 1;
    });
    const { streams } = await on.bus.manager();
    const startedAt = performance.now();
    await Promise.all(
      Array.from({ length: deletions }, (_, index) => streams.deleteMessage('METRICS', first + 2 * index)),
    );
    expect(await deliveredUpTo()).toBeLessThan(first);
    transfer().signal('SIGCONT');
    await delay(10_000);
    const taken = await load.end();
    process.stdout.write(`  ${Math.round(rate)} messages a second, ${taken} in all\n`);
    const account = await on.seen(
      `${deletions} messages deleted under load`,
      report,
      [{ kind: 'lost_in_the_stream', stream: 'METRICS', items: deletions, messages: deletions }],
      startedAt,
    );
    await on.settled();
    expect(account.received).toBe(taken);
    expect(await on.account(report)).toMatchObject({
      stored: taken - deletions,
      lost: deletions,
      in_flight: 0,
    });
  });

  it('when ingress is killed in the same second: what it had counted by owner, the rest as messages of nobody', async () => {
    const report = await on.stack.createReport('with ingress killed');
    await on.settled();
    await transfer().kill();
    await on.pushEach(report, 20, 2);
    await waitFor('they are in the book', 60_000, async () => {
      const lines = standing((await publishersBookIn(on.bus)).lines);
      const own = lines.filter(({ data_id: dataId }) => dataId === report.data_source.mon_data_id);
      return own.reduce((sum, { items }) => sum + items, 0) === 40;
    });
    await on.pushEach(report, 10, 2);
    expect(await messagesOf(on.bus, 'METRICS')).toHaveLength(30);
    const startedAt = performance.now();
    await (await on.bus.manager()).streams.purge('METRICS');
    await ingress().kill();
    ingress().start();
    transfer().start();
    const counted = await waitFor('30 messages are lost', seenMsMax, async () => {
      const accounts = await on.accounts();
      const own = accounts.filter(({ data_id: dataId }) => dataId === report.data_source.mon_data_id);
      const nobody = accounts.filter(({ data_id: dataId, app_id: appId }) => dataId === 0 && appId === 0);
      const lost = [...own, ...nobody].flatMap(wrongIn);
      const messages = lost.reduce((sum, difference) => sum + difference.messages, 0);
      if (messages !== 30) throw new Error(JSON.stringify(lost));
      return own.flatMap(wrongIn).reduce((sum, { items }) => sum + items, 0) / 2;
    });
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    process.stdout.write(
      `a purge with ingress killed: 30 messages seen after ${seconds} s, ${counted} of them by owner\n`,
    );
    expect(counted).toBeGreaterThanOrEqual(20);
    await on.stack.ready();
    const later = await on.stack.createReport('after the kill');
    await on.pushEach(later, 10, 1);
    await on.whole(later, 10);
  });
});
