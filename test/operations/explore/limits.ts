import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createClickhouseReader } from '../../../src/stores/clickhouse/reader.ts';
import { createQuestdbReader } from '../../../src/stores/questdb/reader.ts';
import { type MetadataRole, startMetadataRole } from '../../support/metadata/role.ts';
import { openGate } from '../../support/stack/gate.ts';
import { waitFor } from '../../support/wait.ts';
import { hour, issued, readonlyUsers, stack, tokens, traceIds, until, wide } from './stored.ts';

describe('the stores', () => {
  const bounds = (ms: number, signal = new AbortController().signal) => ({ timeoutMs: ms, signal });

  it('refuse to the reader of QuestDB what is not a query', async () => {
    const { user, password } = stack.engines.reader;
    const url = stack.engines.questdb.url.replace(/\/\/[^@]*@/, `//${user}:${password}@`);
    const reader = createQuestdbReader({ url });
    await expect(reader.read('CREATE TABLE nothing (a INT)', bounds(5_000))).rejects.toMatchObject({
      code: expect.stringMatching(/^questdb_/),
    });
    await reader.close();
  });

  it.each([true, false])(
    'run no query longer than its time, and none whose caller went away: ClickHouse, readonly user %s',
    async (isReader) => {
      const { user, password } = stack.engines.reader;
      const own = stack.engines.clickhouse.url;
      const url = isReader ? own.replace(/\/\/[^@]*@/, `//${user}:${password}@`) : own;
      const reader = createClickhouseReader({ url, isReader });
      const endless =
        'SELECT max(hex(SHA512(concat(toString(number), {mark:String})))) AS m FROM numbers(400000000)';
      const mark = `endless ${isReader}`;
      const running = async () =>
        (await stack.spansQuery(`SELECT query_id FROM system.processes WHERE query_id LIKE 'tm-explore-%'`))
          .length;
      const row = z.object({ m: z.string() });
      try {
        await expect(reader.read(row, endless, { mark }, bounds(1_000))).rejects.toMatchObject({
          code: 'query_timeout',
        });
        await waitFor('the late query to end', 10_000, async () => (await running()) === 0);
        const tooMany = reader.read(
          row,
          'SELECT max(number) AS m FROM numbers(600000000)',
          {},
          bounds(10_000),
        );
        await expect(tooMany).rejects.toMatchObject({ code: 'query_too_large' });
        const leaving = new AbortController();
        const held = reader.read(row, endless, { mark }, bounds(60_000, leaving.signal));
        const ended = expect(held).rejects.toMatchObject({ code: 'query_cancelled' });
        await waitFor('the query to run', 30_000, async () => (await running()) > 0);
        leaving.abort();
        await ended;
        await waitFor('the query to end', 10_000, async () => (await running()) === 0);
        await expect(
          reader.read(row, 'INSERT INTO otel.otel_traces (TraceId) VALUES (1)', {}, bounds(5_000)),
        ).rejects.toMatchObject({
          code: 'clickhouse_rejected',
        });
      } finally {
        await reader.close();
      }
    },
  );

  it('run no query longer than its time, and none whose caller went away: QuestDB', async () => {
    const reader = createQuestdbReader({ url: stack.engines.questdb.url });
    await stack
      .query('CREATE TABLE long_one AS (SELECT rnd_double() a FROM long_sequence(400000)) BYPASS WAL')
      .catch(() =>
        stack.query('CREATE TABLE long_one AS (SELECT rnd_double() a FROM long_sequence(400000))'),
      );
    const endless = 'SELECT count() FROM long_one x CROSS JOIN long_one y WHERE x.a * y.a > 0.999999999';
    const running = async () =>
      JSON.stringify((await stack.query('SELECT query FROM query_activity()')).dataset).includes('x.a * y.a');
    try {
      await expect(reader.read(endless, bounds(1_000))).rejects.toMatchObject({ code: 'query_timeout' });
      await waitFor('the late query to end', 10_000, async () => !(await running()));
      const leaving = new AbortController();
      const ended = expect(reader.read(endless, bounds(60_000, leaving.signal))).rejects.toMatchObject({
        code: 'query_cancelled',
      });
      await waitFor('the query to run', 10_000, running);
      leaving.abort();
      await ended;
      await waitFor('the query to end', 10_000, async () => !(await running()));
    } finally {
      await reader.close();
    }
  });
});

describe('a metadata process', () => {
  const started: MetadataRole[] = [];
  afterAll(() => Promise.all(started.map(({ role }) => role.stop())));

  const start = async (folder: string, more: Record<string, string>): Promise<MetadataRole> => {
    const role = await startMetadataRole(stack.engines, folder, { ...readonlyUsers(stack.engines), ...more });
    started.push(role);
    return role;
  };
  const body = () => ({ data_id: wide.data_source.mon_data_id, metrics: ['cpu'], since: hour, until });

  it('runs two queries of a token at once and four in all, and frees their places when callers go', async () => {
    const gate = await openGate('http', stack.engines.questdb.url);
    const role = await start('gated', { TIDEMARK_QUESTDB_URL: gate.url, TIDEMARK_CONSOLE_EXPLORE: 'editor' });
    const isSeries = ({ from, request }: { from: string; request: string }): boolean =>
      from === 'client' && request.includes('SAMPLE BY');
    const holds = Array.from({ length: 4 }, (_, index) => gate.hold(`series ${index}`, isSeries));
    const leaving = new AbortController();
    const open = (token: string) =>
      fetch(`${role.url}/api/v1/query/points`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}` },
        body: JSON.stringify(body()),
        signal: leaving.signal,
      }).catch(() => undefined);
    const again = await issued('editor');
    try {
      expect(await role.askAs(tokens.viewer, 'POST', '/api/v1/query/points', body())).toMatchObject({
        status: 403,
        body: { detail: expect.stringContaining('editor') },
      });
      const first = [tokens.editor, tokens.editor, again, again].map(open);
      const reader = Buffer.from(`${stack.engines.reader.user}:${stack.engines.reader.password}`).toString(
        'base64',
      );
      for (const hold of holds) expect((await hold.arrived()).text).toContain(`Basic ${reader}`);
      for (const [token, words] of [
        [tokens.editor, 'one token'],
        [stack.adminToken(), 'this process'],
      ] as const) {
        const refused = await role.askAs(token, 'POST', '/api/v1/query/points', body());
        expect(refused).toMatchObject({
          status: 429,
          body: {
            code: 'too_many_queries',
            detail: expect.stringContaining(words),
            remedy: expect.any(String),
          },
        });
        expect(refused.headers.get('Retry-After')).toBe('2');
      }
      leaving.abort();
      await Promise.all(first);
      await waitFor('places for other queries', 10_000, async () => {
        const { status } = await role.askAs(tokens.editor, 'POST', '/api/v1/query/points', body());
        return status === 200;
      });
      const late = gate.hold('a late series', isSeries);
      const answer = role.askAs(tokens.editor, 'POST', '/api/v1/query/points', body());
      await late.arrived();
      expect(await answer).toMatchObject({
        status: 504,
        body: { code: 'query_timeout', remedy: expect.stringContaining('Narrow the time') },
      });
      late.lose();
    } finally {
      for (const hold of holds) hold.lose();
      await gate.close();
    }
  });

  it('answers 404 with words where queries are off, and 503 while a store is away', async () => {
    const role = await start('off', { TIDEMARK_CONSOLE_EXPLORE: 'off' });
    for (const [method, path] of [
      ['POST', '/api/v1/query/points'],
      ['GET', '/api/v1/query/points/values'],
      ['POST', '/api/v1/query/traces'],
      ['POST', '/api/v1/query/logs'],
      ['POST', '/api/v1/query/red'],
      ['POST', '/api/v1/query/metrics'],
      ['GET', '/api/v1/traces/services'],
      ['GET', `/api/v1/traces/${traceIds[0]}`],
    ] as const) {
      expect(await role.askAs(tokens.viewer, method, path)).toMatchObject({
        status: 404,
        body: { code: 'explore_off', detail: 'TIDEMARK_CONSOLE_EXPLORE is off' },
      });
    }
    const away = await start('away', { TIDEMARK_CLICKHOUSE_URL: 'http://127.0.0.1:1' });
    expect(await away.askAs(tokens.viewer, 'GET', `/api/v1/traces/${traceIds[0]}`)).toMatchObject({
      status: 503,
      body: { code: 'clickhouse_unavailable' },
    });
  });

  it('lets viewers query, and nobody without a token', async () => {
    const asViewer = (token: string | undefined) =>
      fetch(`http://127.0.0.1:${stack.metadata.ports['api']}/api/v1/query/points`, {
        method: 'POST',
        ...(token === undefined ? {} : { headers: { Authorization: `Bearer ${token}` } }),
        body: JSON.stringify(body()),
      });
    expect((await asViewer(tokens.viewer)).status).toBe(200);
    expect((await asViewer(undefined)).status).toBe(401);
  });
});
