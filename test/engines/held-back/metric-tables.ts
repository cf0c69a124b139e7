import { beforeAll, describe, expect, it } from 'vitest';
import { askEngine } from '../../support/stack/fetch-engine.ts';
import { missedByTransfer } from '../../support/stack/readiness.ts';
import type { Application, Stack } from '../../support/stack/stack.ts';
import { waitFor } from '../../support/wait.ts';
import { sharedStack } from './stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await sharedStack();
});

const run = async (sql: string): Promise<string> => {
  const { status, text } = await askEngine(stack.engines.clickhouse.url, sql);
  expect([status, text]).toEqual([200, expect.any(String)]);
  return text;
};

const kinds = {
  gauge: (at: string) => ({ gauge: { dataPoints: [{ timeUnixNano: at, asDouble: 1 }] } }),
  summary: (at: string) => ({ summary: { dataPoints: [{ timeUnixNano: at, count: '1', sum: 1 }] } }),
};

const send = async ({ token }: Application, ...of: (keyof typeof kinds)[]): Promise<void> => {
  const metrics = of.map((kind) => ({ name: kind, ...kinds[kind](`${Date.now()}000000`) }));
  const response = await fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['otlp']}/v1/metrics`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-mon-token': token },
    body: JSON.stringify({ resourceMetrics: [{ scopeMetrics: [{ metrics }] }] }),
  });
  expect(response.status).toBe(200);
};

const rowsOf = async (table: string): Promise<number> =>
  Number(await run(`SELECT count() FROM otel.otel_metrics_${table}`));

const letters = async (): Promise<unknown> => {
  const { body } = await stack.api('GET', '/api/v1/dead-letters');
  return body;
};

describe('one of the tables of data points in trouble', () => {
  it('holds back its own data points alone, is named in readiness, and has each of them once when it is back', async () => {
    const app = await stack.createApplication('metrics');
    await send(app, 'gauge', 'summary');
    await waitFor('the first data points', 60_000, async () => (await rowsOf('summary')) === 1);
    const before = await letters();
    const created = await run('SHOW CREATE TABLE otel.otel_metrics_summary FORMAT TSVRaw');
    await run('DROP TABLE otel.otel_metrics_summary SYNC');
    await send(app, 'summary');
    await send(app, 'gauge', 'summary');
    for (let gauges = 2; gauges < 6; gauges++) {
      await send(app, 'gauge');
      await waitFor(`${gauges + 1} gauges`, 20_000, async () => (await rowsOf('gauge')) >= gauges + 1);
    }
    await waitFor('readiness names the table', 20_000, async () =>
      /takes no rows, its messages wait: otel_metrics_summary \(ClickHouse answered 60 /.test(
        (await missedByTransfer(stack))['clickhouse'] ?? '',
      ),
    );
    await run(created);
    await stack.waitForEmptyStream('OTEL_METRICS');
    expect([await rowsOf('gauge'), await rowsOf('summary')]).toEqual([6, 2]);
    expect(await letters()).toEqual(before);
    expect((await missedByTransfer(stack))['clickhouse']).toBeUndefined();
  });

  it('that has too many parts loses none to the dead letters, and holds up no other', async () => {
    const app = await stack.createApplication('parts');
    const [gauges, summaries] = [await rowsOf('gauge'), await rowsOf('summary')];
    await run('SYSTEM STOP MERGES otel.otel_metrics_summary');
    await run(
      'ALTER TABLE otel.otel_metrics_summary MODIFY SETTING parts_to_throw_insert = 1, parts_to_delay_insert = 1',
    );
    for (let sent = 1; sent <= 5; sent++) {
      await send(app, 'summary');
      await send(app, 'gauge', 'summary');
      await waitFor(`gauge ${sent}`, 20_000, async () => (await rowsOf('gauge')) === gauges + sent);
    }
    expect((await missedByTransfer(stack))['clickhouse']).toContain(
      'otel_metrics_summary (ClickHouse answered 252',
    );
    const before = await letters();
    await run(
      'ALTER TABLE otel.otel_metrics_summary RESET SETTING parts_to_throw_insert, parts_to_delay_insert',
    );
    await run('SYSTEM START MERGES otel.otel_metrics_summary');
    await stack.waitForEmptyStream('OTEL_METRICS');
    expect([await rowsOf('gauge'), await rowsOf('summary')]).toEqual([gauges + 5, summaries + 10]);
    expect(await letters()).toEqual(before);
  });
});
