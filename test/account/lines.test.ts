import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AccountStack, startAccountStack } from '../support/account/account-stack.ts';
import { storedIn } from '../support/outcomes/books.ts';
import type { Report, RoleProcess } from '../support/stack/stack.ts';
import { waitFor } from '../support/wait.ts';

let on: AccountStack;

beforeAll(async () => {
  on = await startAccountStack();
});
afterAll(() => on?.stop());

const transfer = (): RoleProcess => {
  const [role] = on.stack.transfer;
  if (role === undefined) throw new Error('there is no transfer');
  return role;
};

const idOf = (report: Report): number => report.data_source.mon_data_id;

/** Deletes rows of a table of the books, and waits until they are gone. */
const deleteRows = (table: string, where: string): Promise<unknown> =>
  on.change(`ALTER TABLE otel.${table} DELETE WHERE ${where} SETTINGS mutations_sync = 2`);

/** Messages of LEDGER that its consumer has not acknowledged. */
const ledgerMessages = async (): Promise<number> => (await on.stack.streamState('LEDGER')).messages;

describe('lines of the settlers that are lost', () => {
  // First of all: beside whole messages that are missing in the same minute, nothing shows which of them it is.
  it('of one of the two owners of a message are unrecorded items of that owner alone', async () => {
    const [one, other] = [await on.stack.createReport('owner one'), await on.stack.createReport('owner two')];
    await on.settled();
    await transfer().kill();
    // Those that arrive while a publish is in flight go together.
    const shared = await waitFor('a message of both owners', 60_000, async () => {
      await Promise.all(Array.from({ length: 20 }, (_, index) => on.push(index % 2 === 0 ? one : other, 2)));
      return (await storedIn(on.bus, 'METRICS')).find(({ items }) => items.size === 2);
    });
    const all = await storedIn(on.bus, 'METRICS');
    const sumOf = (report: Report): number =>
      all.reduce((sum, { items }) => sum + (items.get(idOf(report)) ?? 0), 0);
    transfer().start();
    await on.whole(one, sumOf(one));
    await on.whole(other, sumOf(other));
    const startedAt = performance.now();
    await deleteRows('ingest_settled', `data_id = ${idOf(other)} AND sequence = ${shared.sequence}`);
    await on.seen(
      'the line of one of two owners deleted',
      other,
      [
        {
          kind: 'unrecorded',
          stream: 'METRICS',
          items: shared.items.get(idOf(other)) ?? 0,
          messages: 1,
        },
      ],
      startedAt,
    );
    expect((await on.account(one))?.adds_up).toBe(true);
  });

  it('with LEDGER purged while it holds them are shown with their items', async () => {
    const report = await on.stack.createReport('ledger purged');
    await on.pushEach(report, 3, 1);
    await on.whole(report, 3);
    await on.settled();
    const { consumers, streams } = await on.bus.manager();
    await consumers.pause('LEDGER', 'ledger', new Date(Date.now() + 600_000));
    await on.pushEach(report, 8, 5);
    await on.stack.waitForEmptyStream('METRICS');
    expect(await ledgerMessages()).toBeGreaterThan(0);
    const startedAt = performance.now();
    await streams.purge('LEDGER');
    await consumers.resume('LEDGER', 'ledger');
    const { received, stored, lost, unrecorded } = await on.seen(
      'LEDGER purged with the lines of 8 messages',
      report,
      [{ kind: 'unrecorded', stream: 'METRICS', items: 40, messages: 8 }],
      startedAt,
    );
    expect({ received, stored, known: lost + unrecorded }).toEqual({ received: 43, stored: 3, known: 40 });
  });

  it('one message of LEDGER deleted is shown with its items', async () => {
    const report = await on.stack.createReport('ledger message deleted');
    await on.settled();
    const { consumers, streams } = await on.bus.manager();
    await consumers.pause('LEDGER', 'ledger', new Date(Date.now() + 600_000));
    await on.pushEach(report, 1, 5);
    await on.stack.waitForEmptyStream('METRICS');
    const { state } = await streams.info('LEDGER', { subjects_filter: 'ledger.settled' });
    expect(state.subjects).toEqual({ 'ledger.settled': 1 });
    const startedAt = performance.now();
    const message = await streams.getMessage('LEDGER', { last_by_subj: 'ledger.settled' });
    await streams.deleteMessage('LEDGER', message?.seq ?? 0);
    await consumers.resume('LEDGER', 'ledger');
    await on.seen(
      'a message of LEDGER deleted',
      report,
      [{ kind: 'unrecorded', stream: 'METRICS', items: 5, messages: 1 }],
      startedAt,
    );
  });

  it('deleted from the settlers’ table, after they were compared, are shown with their items', async () => {
    const report = await on.stack.createReport('line deleted');
    await on.pushEach(report, 6, 3);
    await on.whole(report, 18);
    const rows = await on.stack.spansQuery(
      `SELECT serial, life FROM otel.ingest_settled WHERE data_id = ${idOf(report)} ORDER BY serial LIMIT 2`,
    );
    const startedAt = performance.now();
    await deleteRows(
      'ingest_settled',
      `data_id = ${idOf(report)} AND serial IN (${rows.map(({ serial }) => serial).join()})`,
    );
    await on.seen(
      '2 lines of ingest_settled deleted',
      report,
      [{ kind: 'unrecorded', stream: 'METRICS', items: 6, messages: 2 }],
      startedAt,
    );
  });

  it('deleted from the outcomes, and not from the settlers’ table, are shown with their items, stored or dropped', async () => {
    const report = await on.stack.createReport('outcome deleted');
    await on.pushEach(report, 4, 3);
    await on.whole(report, 12);
    const { mon_data_id: data_id, token: access_token } = report.data_source;
    const points = [{ metrics: { up: 1 } }, ...Array.from({ length: 5 }, () => ({ metrics: {} }))];
    const answer = await fetch(`http://127.0.0.1:${on.stack.ingress[0]?.ports['push']}/v2/push/`, {
      method: 'POST',
      body: JSON.stringify({ data_id, access_token, data: points }),
    });
    expect(answer.status).toBe(200);
    await on.received(report, 18);
    await on.settled();
    const oneOf = async (outcome: string): Promise<string> => {
      const [row] = await on.stack.spansQuery(
        `SELECT base, first FROM otel.ingest_outcomes WHERE data_id = ${idOf(report)} AND outcomes['${outcome}'] > 0 ORDER BY at LIMIT 1`,
      );
      return `(data_id = ${idOf(report)} AND base = ${row?.['base']} AND first = ${row?.['first']})`;
    };
    const [stored, dropped] = [await oneOf('stored'), await oneOf('dropped/metrics_empty')];
    const startedAt = performance.now();
    await deleteRows('ingest_outcomes', `${stored} OR ${dropped}`);
    const { received, unrecorded, repeated } = await on.seen(
      'two rows of ingest_outcomes deleted, one of dropped items',
      report,
      [{ kind: 'unrecorded', stream: 'METRICS', items: 9, messages: 2 }],
      startedAt,
    );
    expect({ received, unrecorded, repeated }).toEqual({ received: 18, unrecorded: 9, repeated: 0 });
  });

  it('nothing else was found', async () => {
    expect(await on.unexpected()).toEqual([]);
  });
});
