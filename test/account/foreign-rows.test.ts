import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AccountStack, startAccountStack } from '../support/account/account-stack.ts';
import { requestOf, spanAt } from '../support/otlp/trace-cases.ts';
import { messagesOf } from '../support/outcomes/books.ts';
import type { Application, Report, RoleProcess } from '../support/stack/stack.ts';
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

const tableOf = (report: Report): string => report.result_table.table_id;

const exportSpans = async (application: Application, name: string, count: number): Promise<void> => {
  const start = BigInt(Date.now()) * 1_000_000n;
  const spans = Array.from({ length: count }, (_, index) => spanAt(start, index, { name }));
  const response = await fetch(`http://127.0.0.1:${on.stack.ingress[0]?.ports['otlp']}/v1/traces`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-mon-token': application.token },
    body: JSON.stringify(requestOf(spans)),
  });
  expect(response.status).toBe(200);
};

/** Copies the first point of a table under other times, with the same uid. */
const copyPoints = (report: Report, times: number, from: number): Promise<unknown> =>
  on.stack.query(
    `INSERT INTO "${tableOf(report)}" (timestamp, uid, up) SELECT dateadd('u', cast(x as int) + ${from}, timestamp) timestamp, uid, up
      FROM (SELECT timestamp, uid, up FROM "${tableOf(report)}" LIMIT 1) CROSS JOIN long_sequence(${times})`,
  );

/** Copies spans that arrived minutes ago under other uids. */
const copySpans = ({ app_id: appId }: Application, rows: number): Promise<void> =>
  on.change(
    `INSERT INTO otel.otel_traces SELECT * REPLACE (uid + 1000 AS uid, ArrivedAt - INTERVAL 5 MINUTE AS ArrivedAt)
      FROM otel.otel_traces WHERE AppId = ${appId} ORDER BY uid LIMIT ${rows}`,
  );

const deleteSecond = async (stream: 'METRICS' | 'TRACES'): Promise<void> => {
  const [, message] = await messagesOf(on.bus, stream);
  await (await on.bus.manager()).streams.deleteMessage(stream, message?.sequence ?? 0);
};

const lost = (stream: string, items: number) => ({ kind: 'lost_in_the_stream', stream, items, messages: 1 });
const unrecorded = (stream: string, items: number) => ({ kind: 'unrecorded', stream, items, messages: 0 });

describe('rows that another program writes', () => {
  it('hide no loss of a message of their owner, before and after a restart of metadata', async () => {
    const report = await on.stack.createReport('foreign points');
    const application = await on.stack.createApplication('foreign spans');
    await on.pushEach(report, 2, 5);
    await exportSpans(application, 'before', 4);
    await on.whole(report, 10);
    await waitFor('4 spans are whole', 120_000, async () => (await on.account(application))?.stored === 4);
    await on.settled();
    await transfer().kill();
    await on.pushEach(report, 3, 5);
    for (const name of ['first', 'second']) await exportSpans(application, name, 4);
    const startedAt = performance.now();
    await deleteSecond('METRICS');
    await deleteSecond('TRACES');
    await copyPoints(report, 5, 0);
    await copySpans(application, 4);
    transfer().start();
    await transfer().ready();
    const seen = async (what: string, points: number): Promise<void> => {
      await on.seen(
        `${what}: points`,
        report,
        [lost('METRICS', 5), unrecorded('METRICS', points)],
        startedAt,
      );
      await on.seen(`${what}: spans`, application, [lost('TRACES', 4), unrecorded('TRACES', 4)], startedAt);
    };
    await seen('foreign rows beside a loss', 5);
    await copyPoints(report, 2, 5);
    await on.stack.metadata.kill();
    on.stack.metadata.start();
    await on.stack.metadata.ready();
    await seen('more foreign rows after a restart', 7);
  });

  it('nothing else was found', async () => {
    expect(await on.unexpected()).toEqual([]);
  });
});
