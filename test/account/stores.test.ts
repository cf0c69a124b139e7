import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AccountStack, startAccountStack } from '../support/account/account-stack.ts';
import { openQuestdbProxy, type QuestdbProxy } from '../support/account/questdb-proxy.ts';
import { requestOf, spanAt } from '../support/otlp/trace-cases.ts';
import type { Application, Report } from '../support/stack/stack.ts';
import { waitFor } from '../support/wait.ts';

let on: AccountStack;
let questdb: QuestdbProxy;

beforeAll(async () => {
  on = await startAccountStack({
    roleEnv: async (role, engines): Promise<Record<string, string>> => {
      if (!role.startsWith('transfer')) return {};
      questdb = await openQuestdbProxy(engines.questdb.url);
      return { TIDEMARK_QUESTDB_URL: questdb.url };
    },
  });
});
afterAll(async () => {
  await on?.stop();
  await questdb?.close();
});

const tableOf = (report: Report): string => report.result_table.table_id;

/** A line of a table, and the same for the next millisecond, which is another row with the same uid. */
const isOf = (report: Report) => (line: string) => line.startsWith(`${tableOf(report)},`);
const aMillisecondLater = (line: string): string => {
  const space = line.lastIndexOf(' ');
  return `${line.slice(0, space)} ${Number(line.slice(space + 1)) + 1}`;
};

const postSpans = async (application: Application, spans: readonly object[]): Promise<void> => {
  const response = await fetch(`http://127.0.0.1:${on.stack.ingress[0]?.ports['otlp']}/v1/traces`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-mon-token': application.token },
    body: JSON.stringify(requestOf(spans)),
  });
  expect(response.status).toBe(200);
};

/** Spans of an application, and waits until they are settled. */
const exportSpans = async (application: Application, count: number): Promise<void> => {
  const start = BigInt(Date.now()) * 1_000_000n;
  await postSpans(
    application,
    Array.from({ length: count }, (_, index) => spanAt(start, index, { name: `span ${index}` })),
  );
  await waitFor(`${count} spans are whole`, 120_000, async () => {
    const now = await on.account(application);
    return now?.received === count && now.stored === count && now.in_flight === 0;
  });
};

/** One span is lost, and another one is there twice. */
const swapSpans = async ({ app_id: appId }: Application): Promise<void> => {
  const ours = `AppId = ${appId}`;
  await on.change(
    `ALTER TABLE otel.otel_traces DELETE WHERE ${ours} AND SpanName = 'span 3' SETTINGS mutations_sync = 2`,
  );
  await on.change(
    `INSERT INTO otel.otel_traces SELECT * FROM otel.otel_traces WHERE ${ours} AND SpanName = 'span 4'`,
  );
};

const inStore = (kind: string, items: number, stream = 'METRICS') => ({ kind, stream, items, messages: 0 });

describe('rows that a store lacks or has too many of', () => {
  it('one row of a message that the writer leaves out is missing in the store', async () => {
    const report = await on.stack.createReport('left out');
    let left = 0;
    questdb.change((lines) => {
      const place = lines.findIndex(isOf(report));
      if (place === -1 || left > 0) return lines;
      left++;
      return lines.toSpliced(place, 1);
    });
    const startedAt = performance.now();
    await on.pushEach(report, 3, 10);
    await on.seen('a row left out', report, [inStore('missing_in_the_store', 1)], startedAt);
    expect(left).toBe(1);
  });

  it('one row lost and another doubled are one row missing and one that no record names', async () => {
    const report = await on.stack.createReport('lost and doubled');
    let done = 0;
    questdb.change((lines) => {
      const [first, second] = lines.flatMap((line, index) => (isOf(report)(line) ? [index] : []));
      if (first === undefined || second === undefined || done > 0) return lines;
      done++;
      return lines.with(first, aMillisecondLater(lines[second] ?? ''));
    });
    const startedAt = performance.now();
    await on.pushEach(report, 3, 10);
    await on.seen(
      'a row lost and another doubled',
      report,
      [inStore('missing_in_the_store', 1), inStore('unrecorded', 1)],
      startedAt,
    );
    expect(done).toBe(1);
  });

  it('a table of QuestDB that is truncated lacks all its rows, and has the later ones', async () => {
    const report = await on.stack.createReport('truncated');
    await on.pushEach(report, 4, 5);
    await on.whole(report, 20);
    await on.stack.waitForRows(tableOf(report), 20);
    const startedAt = performance.now();
    await on.stack.query(`TRUNCATE TABLE "${tableOf(report)}"`);
    await on.pushEach(report, 1, 5);
    await on.seen('a truncated table', report, [inStore('missing_in_the_store', 20)], startedAt);
  });

  it('a span lost and another doubled are one span missing', async () => {
    const application = await on.stack.createApplication('lost and doubled');
    await exportSpans(application, 10);
    const startedAt = performance.now();
    await swapSpans(application);
    await on.seen(
      'a span lost and another doubled',
      application,
      [inStore('missing_in_the_store', 1, 'TRACES')],
      startedAt,
    );
  });

  it('a day that is dropped in ClickHouse lacks all its spans', async () => {
    const application = await on.stack.createApplication('day dropped');
    await exportSpans(application, 7);
    const startedAt = performance.now();
    const days = await on.stack.spansQuery(
      'SELECT DISTINCT toString(toDate(Timestamp)) AS day FROM otel.otel_traces',
    );
    for (const { day } of days) await on.change(`ALTER TABLE otel.otel_traces DROP PARTITION '${day}'`);
    await on.seen('a dropped day', application, [inStore('missing_in_the_store', 7, 'TRACES')], startedAt);
  });

  it('a span lost and another doubled are seen also while another application exports without a pause', async () => {
    const [application, other] = [
      await on.stack.createApplication('at rest'),
      await on.stack.createApplication('at work'),
    ];
    await exportSpans(application, 10);
    let isOver = false;
    let exported = 0;
    const exporting = (async (): Promise<void> => {
      for (; !isOver; exported++)
        await postSpans(other, [spanAt(BigInt(Date.now()) * 1_000_000n, exported, { name: 'at work' })]);
    })();
    try {
      const startedAt = performance.now();
      await swapSpans(application);
      await on.seen(
        'a span lost and another doubled beside other spans',
        application,
        [inStore('missing_in_the_store', 1, 'TRACES')],
        startedAt,
      );
    } finally {
      isOver = true;
      await exporting;
    }
  });

  it('nothing else was found', async () => {
    expect(await on.unexpected()).toEqual([]);
  });
});
