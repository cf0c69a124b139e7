import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type AccountStack,
  type ExpectedDifference,
  startAccountStack,
  startWatch,
  type Watch,
} from '../support/account/account-stack.ts';
import { messagesOf } from '../support/outcomes/books.ts';
import type { Report, RoleProcess } from '../support/stack/stack.ts';
import { waitFor } from '../support/wait.ts';

// More of them, and those that take minutes: `make test-account`.
type Provoked = { readonly report: Report; readonly startedAt: number };

let on: AccountStack;
let watch: Watch;
let purged: Provoked;
let deleted: Provoked;
let withoutLines: Provoked;
let killed: Provoked;

const only = (roles: readonly RoleProcess[]): RoleProcess => {
  const [role] = roles;
  if (role === undefined) throw new Error('there is none');
  return role;
};

/** Pushes while nothing takes messages from the streams, and does something to METRICS. */
const provoke = async (name: string, messages: number, fault: () => Promise<unknown>): Promise<Provoked> => {
  const report = await on.stack.createReport(name);
  await on.settled();
  await only(on.stack.transfer).kill();
  await on.pushEach(report, messages, 3);
  const startedAt = performance.now();
  await fault();
  only(on.stack.transfer).start();
  await on.received(report, 3 * messages);
  return { report, startedAt };
};

const provokeLines = async (): Promise<Provoked> => {
  const report = await on.stack.createReport('without lines');
  await on.pushEach(report, 6, 3);
  await on.whole(report, 18);
  const id = report.data_source.mon_data_id;
  // Without the receiver's own lines, nobody could know the owner of what is deleted.
  await waitFor('the lines of the receiver', 30_000, async () => {
    const [line] = await on.stack.spansQuery(
      `SELECT max(items) AS items FROM otel.ingest_published WHERE data_id = ${id}`,
    );
    return Number(line?.['items']) === 18;
  });
  const rows = await on.stack.spansQuery(
    `SELECT serial FROM otel.ingest_settled WHERE data_id = ${id} ORDER BY serial LIMIT 2`,
  );
  const serials = rows.map(({ serial }) => serial).join();
  const startedAt = performance.now();
  await on.change(
    `ALTER TABLE otel.ingest_settled DELETE WHERE data_id = ${id} AND serial IN (${serials}) SETTINGS mutations_sync = 2`,
  );
  return { report, startedAt };
};

const provokeKill = async (): Promise<Provoked> => {
  const report = await on.stack.createReport('killed ingress');
  await on.pushEach(report, 10, 3);
  await only(on.stack.ingress).kill();
  only(on.stack.ingress).start();
  await only(on.stack.ingress).ready();
  await on.pushEach(report, 10, 3);
  return { report, startedAt: performance.now() };
};

// All of it first, so that the same looks see it.
beforeAll(async () => {
  on = await startAccountStack();
  watch = startWatch(on);
  const { streams } = await on.bus.manager();
  deleted = await provoke('deleted', 10, async () => {
    const messages = await messagesOf(on.bus, 'METRICS');
    for (const { sequence } of messages.filter((_, index) => index % 2 === 0))
      await streams.deleteMessage('METRICS', sequence);
  });
  purged = await provoke('purged', 20, () => streams.purge('METRICS'));
  withoutLines = await provokeLines();
  killed = await provokeKill();
});
afterAll(async () => {
  await watch?.stop();
  await on?.stop();
});

const lost = (messages: number): ExpectedDifference[] => [
  { kind: 'lost_in_the_stream', stream: 'METRICS', items: 3 * messages, messages },
];

describe('the account shows within two minutes', () => {
  it('the messages of a purged stream as lost', async () => {
    const account = await on.seen('a purge', purged.report, lost(20), purged.startedAt);
    expect(account).toMatchObject({ received: 60, stored: 0, lost: 60, in_flight: 0 });
  });

  it('5 of 10 messages that were deleted as lost', async () => {
    const account = await on.seen('a deletion', deleted.report, lost(5), deleted.startedAt);
    expect(account).toMatchObject({ received: 30, stored: 15, lost: 15, in_flight: 0 });
  });

  it('messages whose settlement lines were deleted as unrecorded', async () => {
    const unrecorded = [{ kind: 'unrecorded', stream: 'METRICS', items: 6, messages: 2 }];
    await on.seen('lines deleted', withoutLines.report, unrecorded, withoutLines.startedAt);
  });

  it('no loss of a receiver that was killed, nor of anyone else', async () => {
    await on.whole(killed.report, 60);
    expect(await on.unexpected()).toEqual([]);
    const id = killed.report.data_source.mon_data_id;
    expect(watch.falseAnswers.filter((answer) => answer.includes(`"data_id":${id},`))).toEqual([]);
  });
});
