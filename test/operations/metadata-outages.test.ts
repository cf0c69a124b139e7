import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createReport, expectProblem, operations, tableNames } from '../support/metadata/admin-api.ts';
import {
  type MetadataRole,
  type MetadataStack,
  startMetadataRole,
  startMetadataStack,
} from '../support/metadata/role.ts';
import type { TestEngines } from '../support/stack/engines.ts';
import { until } from '../support/until.ts';

let stack: MetadataStack;
let engines: TestEngines;
let metadata: MetadataRole;

beforeAll(async () => {
  stack = await startMetadataStack();
  ({ engines, metadata } = stack);
});
afterAll(() => stack?.stop());

describe('the admin token', () => {
  const tokenFile = (role: MetadataRole): string => join(role.dataFolder, 'admin.token');

  it('is a file for its owner alone, and stays the same over a restart', async () => {
    const before = await readFile(tokenFile(metadata), 'utf8');
    expect((await stat(tokenFile(metadata))).mode & 0o777).toBe(0o600);
    await metadata.role.restart();
    expect(await readFile(tokenFile(metadata), 'utf8')).toBe(before);
    expect((await metadata.ask('GET', '/api/v1/custom-reports')).status).toBe(200);
  });

  it('is valid for a second metadata process as well, which creates none', async () => {
    const second = await startMetadataRole(engines, 'second');
    try {
      const token = (await readFile(tokenFile(metadata), 'utf8')).trim();
      expect((await second.askAs(token, 'GET', '/api/v1/custom-reports')).status).toBe(200);
      await expect(stat(tokenFile(second))).rejects.toThrow(/ENOENT/);
    } finally {
      await second.role.stop();
    }
  });

  it('is not replaced by a file with another one', async () => {
    const token = (await readFile(tokenFile(metadata), 'utf8')).trim();
    const second = await startMetadataRole(engines, 'third');
    try {
      await second.role.stop();
      await mkdir(second.dataFolder, { recursive: true });
      await writeFile(tokenFile(second), 'mine\n');
      await second.role.start();
      expect((await second.askAs('mine', 'GET', '/api/v1/custom-reports')).status).toBe(401);
      expect((await second.askAs(token, 'GET', '/api/v1/custom-reports')).status).toBe(200);
    } finally {
      await second.role.stop();
    }
  });
});

it('stops at once when it is stopped right after its start', async () => {
  for (let round = 0; round < 5; round++) {
    await (round === 0 ? metadata.role.restart() : metadata.role.start());
    const before = performance.now();
    await metadata.role.stop();
    expect(performance.now() - before).toBeLessThan(5_000);
  }
  await metadata.role.start();
});

describe('an outage of a dependency', () => {
  it('is a 503 that names it; the creation is finished by the same call when QuestDB is back', async () => {
    // The very first data id is checked in QuestDB: it must not be one that a table there has.
    await createReport(metadata, { mon_biz_id: 2, name: 'before' });
    await engines.questdb.kill();
    const request = { mon_biz_id: 2, name: 'while questdb is away' };
    const refused = await metadata.ask('POST', operations.report, request);
    expectProblem(refused, 503, 'questdb_unavailable');
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
    const left = await metadata.ask('GET', '/api/v1/custom-reports?name=while%20questdb%20is%20away');
    expect(left.body).toMatchObject({ items: [{ state: 'creating' }] });
    const told = await until('readyz says so', async () => {
      const answer = await metadata.askAs(undefined, 'GET', '/readyz');
      return JSON.stringify(answer.body).includes('QuestDB') && answer;
    });
    // It serves the records and all else that needs no store: its Service must keep it.
    expect(told).toMatchObject({
      status: 200,
      body: { ready: true, failing: {}, degraded: { questdb: expect.stringContaining('QuestDB') } },
    });
    await engines.questdb.start();
    const { custom_report } = await createReport(metadata, request);
    expect(left.body).toMatchObject({
      items: [{ mon_data_id: custom_report['mon_data_id'], table_id: custom_report['table_id'] }],
    });
  });

  it('is a 503 for reads and writes alike while NATS is down, and all works again when it is back', async () => {
    await engines.nats.kill();
    for (const [method, path, body] of [
      ['GET', '/api/v1/custom-reports', undefined],
      ['GET', '/api/v1/custom-reports/1', undefined],
      ['POST', operations.report, { mon_biz_id: 2, name: 'while nats is away' }],
    ] as const) {
      const answer = await until('a 503', async () => {
        const one = await metadata.ask(method, path, body);
        return one.status === 503 && one;
      });
      expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
    }
    await engines.nats.start();
    await until(
      'reads work',
      async () => (await metadata.ask('GET', '/api/v1/custom-reports')).status === 200,
    );
    await until(
      'writes work',
      async () =>
        (await metadata.ask('POST', operations.report, { mon_biz_id: 2, name: 'nats is back' })).status ===
        200,
    );
  });

  // A creation that was under way is finished by the same call, one that was done refuses it: never two, never none.
  it('leaves nothing half made when the process itself is killed among creations', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `killed ${index}`);
    const calls = names.map((name) =>
      metadata.ask('POST', operations.report, { mon_biz_id: 20, name }).catch(() => undefined),
    );
    await Promise.any(calls.map(async (call) => (await call)?.status === 200 || Promise.reject()));
    await metadata.role.kill();
    await Promise.all(calls);
    await metadata.role.start();
    for (const name of names) {
      expect([200, 409]).toContain(
        (await metadata.ask('POST', operations.report, { mon_biz_id: 20, name })).status,
      );
    }
    const reportsSchema = z.object({
      items: z.array(
        z.object({ name: z.string(), state: z.string(), mon_data_id: z.int(), table_id: z.string() }),
      ),
    });
    const listed = await metadata.ask('GET', '/api/v1/custom-reports?mon_biz_id=20&limit=1000');
    const { items } = reportsSchema.parse(listed.body);
    expect(items.map(({ name }) => name).toSorted()).toEqual(names.toSorted());
    expect(new Set(items.map(({ mon_data_id }) => mon_data_id)).size).toBe(names.length);
    const tables = await tableNames(engines);
    for (const { state, table_id } of items) {
      expect(state).toBe('active');
      expect(tables).toContain(table_id);
      expect((await metadata.ask('GET', `/api/v1/result-tables/${table_id}`)).status).toBe(200);
    }
  });
});

describe('NATS without its data', () => {
  // After a loss of the stream's folder, tables of QuestDB must not get new owners, and the token must work again.
  it('makes metadata start again: the same token, and data ids that no table in QuestDB has', async () => {
    const used = (await tableNames(engines)).flatMap((name) => /_time_series_(\d+)\./.exec(name)?.[1] ?? []);
    await metadata.role.stop();
    await engines.nats.kill();
    await rm(join(engines.folder, 'nats'), { recursive: true });
    await engines.nats.start();
    await metadata.role.start();
    const { mon_data_id } = await createReport(metadata, { mon_biz_id: 2, name: 'demo' });
    expect(mon_data_id).toBeGreaterThan(Math.max(...used.map(Number)));
  });
});
