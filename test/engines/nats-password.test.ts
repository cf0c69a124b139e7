import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { createRole, type Role, type RoleName } from '../../src/embedded/role.ts';
import { type MetadataStack, startMetadataStack } from '../support/metadata/role.ts';
import { takePorts } from '../support/stack/ports.ts';
import { readyzOf } from '../support/stack/readiness.ts';
import { until } from '../support/until.ts';

let stack: MetadataStack;

beforeAll(async () => {
  stack = await startMetadataStack();
});

afterAll(() => stack?.stop());

/** A role whose address of NATS is in a file, and its answer to `/readyz`. It ends with the test. */
const openRole = async (name: RoleName) => {
  const { engines } = stack;
  const [push, otlp, grpc, ops = 0] = await takePorts(4);
  const folder = engines.folder;
  const address = engines.asUser(engines.nats.url, name);
  const file = join(folder, `${name}-nats-url`);
  const { TIDEMARK_NATS_URL: _, ...env } = engines.env;
  const role: Role = createRole({
    name,
    host: '127.0.0.1',
    ports: [],
    opsPort: ops,
    env: {
      PATH: process.env['PATH'],
      TIDEMARK_DATA: join(folder, name),
      TIDEMARK_INGRESS_PUSH_PORT: String(push),
      TIDEMARK_INGRESS_OTLP_PORT: String(otlp),
      TIDEMARK_INGRESS_GRPC_PORT: String(grpc),
      [`TIDEMARK_${name.toUpperCase()}_OPS_PORT`]: String(ops),
      TIDEMARK_CLICKHOUSE_URL: 'http://127.0.0.1:1',
      ...env,
      TIDEMARK_NATS_URL_FILE: file,
    },
    log: () => {},
  });
  const write = (password: string): Promise<void> => {
    const url = new URL(address);
    if (password !== '') url.password = password;
    return writeFile(file, `${url}\n`);
  };
  await write('');
  onTestFinished(() => role.stop());
  void role.start();
  return { name, write, readyz: () => readyzOf({ ports: { ops } }) };
};

it('a role whose user NATS refuses is not ready, says which setting to check, and heals with the password in its file', async () => {
  const roles = await Promise.all([openRole('ingress'), openRole('transfer')]);
  for (const { name, readyz } of roles)
    await until(`${name} is ready`, async () => (await readyz()).status === 200);
  await stack.engines.nats.kill();
  for (const { name, readyz } of roles)
    await until(`${name} misses NATS`, async () => (await readyz()).degraded['nats'] !== undefined);
  // Without an answer nobody is refused: no other process has NATS either.
  for (const { readyz } of roles) expect(await readyz()).toMatchObject({ status: 200, failing: {} });
  await Promise.all(roles.map(({ write }) => write('other')));
  await stack.engines.nats.start();
  for (const { name, readyz } of roles) {
    const { failing } = await until(`${name} is not ready`, async () => {
      const answer = await readyz();
      return answer.status === 503 && answer;
    });
    expect(failing['nats']).toContain('does not accept the user: check TIDEMARK_NATS_URL');
  }
  await Promise.all(roles.map(({ write }) => write('')));
  for (const { name, readyz } of roles)
    await until(`${name} is back`, async () => {
      const { status, degraded } = await readyz();
      return status === 200 && degraded['nats'] === undefined;
    });
});
