import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { settingDefinitions } from '../../../src/config/settings.ts';
import { createCli } from '../../support/clients/cli.ts';
import type { Stack } from '../../support/stack/stack.ts';
import { secret, sharedStack } from './stack.ts';

let stack: Stack;
const cli = createCli(() => ({ PATH: process.env['PATH'], ...stack.env }));

beforeAll(async () => {
  stack = await sharedStack();
});

const doctorSchema = z.object({
  well: z.boolean(),
  findings: z.array(
    z.object({ name: z.string(), ok: z.boolean(), detail: z.string(), remedy: z.string(), ms: z.number() }),
  ),
});

const ask = async (role: string, method: string, path: string) => {
  const made = await stack.api('POST', '/api/v1/admin-tokens', { name: `pages ${role} ${path}`, role });
  const { token } = z.object({ token: z.string() }).parse(made.body);
  const answer = await fetch(`http://127.0.0.1:${stack.metadata.ports['api']}${path}`, {
    method,
    headers: { Authorization: `Bearer ${token}` },
  });
  return { status: answer.status, text: await answer.text() };
};

describe('the checks of metadata', () => {
  it('are those of the command, each with its time, and share one run', async () => {
    const [one, other] = await Promise.all(
      [1, 2].map(async () => doctorSchema.parse((await stack.api('POST', '/api/v1/doctor')).body)),
    );
    expect(one?.findings).toEqual(other?.findings);
    expect(one?.findings.map(({ name }) => name)).toEqual([
      'nats',
      'clock of nats',
      ...['METRICS', 'TRACES', 'LOGS', 'OTEL_METRICS', 'LEDGER', 'DEADLETTER', 'AUDIT'].map(
        (name) => `stream ${name}`,
      ),
      'questdb',
      'clock of questdb',
      'tables of questdb',
      'clickhouse',
      'clock of clickhouse',
      'tables of clickhouse',
      'reader of clickhouse',
      'books',
    ]);
    for (const { ok, remedy } of one?.findings ?? []) expect(remedy === '').toBe(ok);
    expect((await cli.run('doctor --remote')).stdout).toContain('clock of clickhouse');
  });
});

describe('the settings of metadata', () => {
  it('are all of them, with their sources and without a secret', async () => {
    const { body } = await stack.api('GET', '/api/v1/settings');
    const { items } = z
      .object({
        items: z.array(
          z.object({
            setting: z.string(),
            value: z.string().nullable(),
            source: z.string(),
            meaning: z.string(),
          }),
        ),
      })
      .parse(body);
    expect(items.map(({ setting }) => setting)).toEqual(settingDefinitions.map(({ env }) => env));
    const of = (name: string) => items.find(({ setting }) => setting === name);
    expect(of('TIDEMARK_TRACING_HEADERS')).toMatchObject({
      value: '***',
      source: 'environment variable TIDEMARK_TRACING_HEADERS',
    });
    expect(of('TIDEMARK_TABLE_PREFIX')).toMatchObject({ value: 'mon', source: 'default' });
    const text = JSON.stringify(body);
    expect(text).not.toContain(secret);
    for (const name of ['TIDEMARK_NATS_URL', 'TIDEMARK_QUESTDB_URL', 'TIDEMARK_CLICKHOUSE_URL']) {
      const { password } = new URL(stack.env[name] ?? '');
      expect(password.length, name).toBeGreaterThan(8);
      expect(text).not.toContain(password);
    }
    expect(await cli.text('config print --remote')).toContain('TIDEMARK_TABLE_PREFIX');
  });

  it('are for admins alone', async () => {
    expect((await ask('editor', 'GET', '/api/v1/settings')).status).toBe(403);
    expect((await ask('viewer', 'POST', '/api/v1/doctor')).status).toBe(200);
    expect((await ask('viewer', 'GET', '/api/v1/stores')).status).toBe(200);
  });
});
