import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { connectBus } from '../../src/bus/connection.ts';
import { createRole, type Role, type RoleName, roleNames } from '../../src/embedded/role.ts';
import { errorText } from '../../src/model/fault.ts';
import { deployFolder } from '../support/deploy/dashboards.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { takePorts } from '../support/stack/ports.ts';
import { tempFolder } from '../support/stack/temp-folder.ts';
import { waitFor } from '../support/wait.ts';

const run = promisify(execFile);
const host = '127.0.0.1';
/** Of a role that gets ready, and of one that waits for ever. */
const stepSeconds = 30;

let engines: TestEngines;

beforeAll(async () => {
  engines = await startEngines({ nats: true, questdb: true, clickhouse: true }, { hasTables: true });
});

afterAll(() => engines?.stop());

/** The real roles, not started. They end with the test. */
const openRoles = async (): Promise<ReadonlyMap<string, Role>> => {
  const [push = 0, otlp = 0, grpc = 0, api = 0, ...ops] = await takePorts(7);
  const ports = { INGRESS_PUSH: push, INGRESS_OTLP: otlp, INGRESS_GRPC: grpc, METADATA_API: api };
  const roleOf = (name: RoleName, opsPort: number): Role =>
    createRole({
      name,
      host,
      ports: [],
      opsPort,
      env: {
        PATH: process.env['PATH'],
        TIDEMARK_DATA: join(engines.folder, 'roles'),
        ...Object.fromEntries(
          Object.entries(ports).map(([port, value]) => [`TIDEMARK_${port}_PORT`, `${value}`]),
        ),
        [`TIDEMARK_${name.toUpperCase()}_OPS_PORT`]: String(opsPort),
        ...engines.env,
        TIDEMARK_NATS_URL: engines.asUser(engines.nats.url, name),
      },
      log: () => {},
    });
  const roles = new Map(roleNames.map((name, index) => [name, roleOf(name, ops[index] ?? 0)]));
  onTestFinished(async () => {
    await Promise.all([...roles.values()].map((role) => role.stop()));
  });
  return roles;
};

/**
 * A kubectl whose `apply` of a step starts the real role, and whose `rollout status` waits for its /readyz. Answers the folder that
 * it is in.
 */
const openKubectl = async (roles: ReadonlyMap<string, Role>): Promise<string> => {
  const does = async (call: string): Promise<void> => {
    const [, step = ''] = /^apply .*tidemark\/step=(\w+)/.exec(call) ?? [];
    void roles.get(step)?.start();
    const [, rolled = '', seconds] = /rollout status deployment\/(\w+) --timeout=(\d+)s/.exec(call) ?? [];
    const role = roles.get(rolled);
    if (role === undefined) return;
    await waitFor(
      `${rolled} is ready`,
      Number(seconds) * 1000,
      async () => (await fetch(`${role.url}/readyz`)).ok,
    );
  };
  const server = createServer(async (request, response) => {
    const failure = await does(await text(request)).then(() => undefined, errorText);
    response.writeHead(failure === undefined ? 200 : 500).end(failure);
  });
  server.listen(0, host);
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const folder = await tempFolder();
  const path = join(folder, 'kubectl');
  writeFileSync(path, `#!/bin/sh\nexec curl -sS --fail-with-body --data "$*" http://${host}:${port}/\n`);
  chmodSync(path, 0o755);
  return folder;
};

const upgrade = async (): Promise<void> => {
  const folder = await openKubectl(await openRoles());
  const env = {
    ...process.env,
    PATH: `${folder}${delimiter}${process.env['PATH']}`,
    TIMEOUT: `${stepSeconds}s`,
  };
  await run('sh', [join(deployFolder, 'kubernetes/upgrade.sh'), 'overlay'], { env });
};

const streamNames = async (): Promise<string[]> => {
  const bus = await connectBus(engines.nats.url, 'test');
  const names: string[] = [];
  for await (const name of (await bus.manager()).streams.names()) names.push(name);
  await bus.close();
  return names;
};

// Transfer waits for what metadata makes: a step that waited for transfer alone would never end.
it('upgrade.sh brings the real roles to a NATS that has nothing', async () => {
  expect(await streamNames()).toEqual([]);
  await upgrade();
  expect(await streamNames()).toContain('KV_tidemark-system');
});

it('upgrade.sh brings the real roles to a NATS that lacks one stream, as one that a version brings', async () => {
  const bus = await connectBus(engines.nats.url, 'test');
  await (await bus.manager()).streams.delete('LOGS');
  await bus.close();
  await upgrade();
  expect(await streamNames()).toContain('LOGS');
});
