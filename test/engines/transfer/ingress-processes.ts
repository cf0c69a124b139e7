import { execFile } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { request } from 'undici';
import { beforeAll, expect, test } from 'vitest';
import { opsPortStep } from '../../../src/config/ingress-ports.ts';
import { exitCodeConfig } from '../../../src/config/settings.ts';
import { type Child, spawnChild } from '../../../src/embedded/child.ts';
import { type Certificate, makeAuthority, makeCertificate } from '../../support/stack/certificates.ts';
import { takePorts } from '../../support/stack/ports.ts';
import type { Report, Stack } from '../../support/stack/stack.ts';
import { tempFolder } from '../../support/stack/temp-folder.ts';
import { childrenOf } from '../../support/stack/up-process.ts';
import { until } from '../../support/until.ts';
import { sharedStack } from './stack.ts';

const root = resolve(import.meta.dirname, '../../..');
const program = join(root, 'src/main.ts');
const healthcheck = join(root, 'deploy/healthcheck.mjs');

let stack: Stack;
let report: Report;

beforeAll(async () => {
  stack = await sharedStack();
  report = await stack.createReport('processes');
});

type Ports = { readonly push: number; readonly otlp: number; readonly ops: readonly [number, number] };

const portsOfTwo = async (): Promise<Ports> => {
  const [push = 0, otlp = 0] = await takePorts(2);
  // Ports of two blocks have gaps between them.
  for (const others: number[] = []; ; ) {
    others.push(...(await takePorts(opsPortStep)));
    const ops = others.find((port) => others.includes(port + opsPortStep));
    if (ops !== undefined) return { push, otlp, ops: [ops, ops + opsPortStep] };
  }
};

/** Two processes of one ingress beside the roles of the stack. */
const startTwo = (ports: Ports, env: Record<string, string> = {}): Child =>
  spawnChild(
    'ingress',
    {
      command: process.execPath,
      args: [program, 'ingress'],
      env: {
        PATH: process.env['PATH'] ?? '',
        ...stack.env,
        TIDEMARK_INGRESS_PROCESSES: '2',
        TIDEMARK_INGRESS_PUSH_PORT: String(ports.push),
        TIDEMARK_INGRESS_OTLP_PORT: String(ports.otlp),
        TIDEMARK_INGRESS_GRPC_PORT: 'off',
        TIDEMARK_INGRESS_OPS_PORT: String(ports.ops[0]),
        ...env,
      },
    },
    () => {},
  );

const isReady = async (opsPort: number): Promise<boolean> =>
  (await fetch(`http://127.0.0.1:${opsPort}/readyz`)).ok;

/** Pushes one point over a connection of its own; true when it was answered 200. */
const push = async (port: number): Promise<boolean> => {
  const body = JSON.stringify({
    data_id: report.data_source.mon_data_id,
    access_token: report.data_source.token,
    data: [{ metrics: { up: 1 } }],
  });
  const url = `http://127.0.0.1:${port}/v2/push/`;
  const answer = await request(url, { method: 'POST', body, headers: { connection: 'close' } }).catch(
    () => undefined,
  );
  await answer?.body.dump();
  return answer?.statusCode === 200;
};

const taken = async (opsPort: number): Promise<number> => {
  const text = await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text();
  return Number(/requests_total\{[^}]*receiver="push"[^}]*status="200"[^}]*\} (\d+)/.exec(text)?.[1] ?? 0);
};

// On a machine with cores to spare, one process is all that a receiver could use.
test('processes of one ingress share its ports; one that dies is restarted while the others continue', async () => {
  const ports = await portsOfTwo();
  const ingress = startTwo(ports);
  try {
    for (const ops of ports.ops) await until(`ready on ${ops}`, () => isReady(ops), 90_000);
    let acknowledged = 0;
    const pushOnce = async (): Promise<boolean> => {
      const isTaken = await push(ports.push);
      if (isTaken) acknowledged++;
      return isTaken;
    };
    for (let index = 0; index < 20; index++) expect(await pushOnce()).toBe(true);
    for (const ops of ports.ops) expect(await taken(ops)).toBeGreaterThan(0);

    const before = childrenOf(ingress.pid ?? 0);
    expect(before).toHaveLength(2);
    const [victim = 0, survivor = 0] = before;
    process.kill(victim, 'SIGKILL');
    await until('a new process in its place', () => {
      const now = childrenOf(ingress.pid ?? 0);
      return now.length === 2 && !now.includes(victim);
    });
    expect(childrenOf(ingress.pid ?? 0)).toContain(survivor);
    // The first is not there yet, and connections are taken all the same.
    await until('a push is taken', pushOnce);
    for (const ops of ports.ops) await until(`ready on ${ops} again`, () => isReady(ops), 90_000);
    for (let index = 0; index < 20; index++) expect(await pushOnce()).toBe(true);
    for (const ops of ports.ops) expect(await taken(ops)).toBeGreaterThan(0);
    await stack.waitForRows(report.result_table.table_id, acknowledged);

    const last = childrenOf(ingress.pid ?? 0);
    expect(await ingress.stop(60_000)).toEqual({ code: 0, signal: null });
    for (const pid of last) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  } finally {
    await ingress.stop(0);
  }
});

/** The exit code of the image's health check. */
const health = (ports: Ports, ...options: string[]): Promise<number> =>
  new Promise((resolveCode) => {
    const env = {
      PATH: process.env['PATH'],
      TIDEMARK_INGRESS_PROCESSES: '2',
      TIDEMARK_INGRESS_OPS_PORT: String(ports.ops[0]),
      TIDEMARK_TRANSFER_OPS_PORT: '1',
      TIDEMARK_METADATA_OPS_PORT: '1',
    };
    const child = execFile(process.execPath, [healthcheck, ...options], { env });
    child.once('exit', (code) => resolveCode(code ?? -1));
  });

// A check of the first port alone restarts the whole container for one dead process, and never sees that another one hangs.
test('the health of a container with several processes is that of each of them', async () => {
  const ports = await portsOfTwo();
  const ingress = startTwo(ports);
  try {
    for (const ops of ports.ops) await until(`ready on ${ops}`, () => isReady(ops), 90_000);
    expect([await health(ports), await health(ports, '--ready')]).toEqual([0, 0]);
    const hung = childrenOf(ingress.pid ?? 0).at(-1) ?? 0;
    process.kill(hung, 'SIGSTOP');
    expect(await health(ports)).toBe(1);
    process.kill(hung, 'SIGKILL');
    // It is started again, and the check's retries outlast that.
    await until('well again', async () => (await health(ports, '--ready')) === 0, 90_000);
  } finally {
    await ingress.stop(60_000);
  }
});

/** Reloads of certificate files by the process with this operations port. */
const reloads = async (opsPort: number): Promise<number> => {
  const text = await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text();
  return Number(/tls_reloads_total\{[^}]*outcome="loaded"[^}]*\} (\d+)/.exec(text)?.[1] ?? 0);
};

// A service manager reloads by a signal to the process that it started.
test('SIGHUP to the first process loads a new certificate in each, and ends none', async () => {
  const folder = await tempFolder();
  const authority = makeAuthority(folder, 'authority');
  const [cert, key] = [join(folder, 'served.crt'), join(folder, 'served.key')];
  const serve = ({ certFile, keyFile }: Certificate): void => {
    copyFileSync(certFile, cert);
    copyFileSync(keyFile, key);
  };
  serve(makeCertificate(folder, 'first', authority));
  const ports = await portsOfTwo();
  const ingress = startTwo(ports, {
    TIDEMARK_INGRESS_TLS_CERT_FILE: cert,
    TIDEMARK_INGRESS_TLS_KEY_FILE: key,
  });
  try {
    for (const ops of ports.ops) await until(`ready on ${ops}`, () => isReady(ops), 90_000);
    const before = childrenOf(ingress.pid ?? 0);
    serve(makeCertificate(folder, 'second', authority));
    process.kill(ingress.pid ?? 0, 'SIGHUP');
    const loaded = Promise.all(
      ports.ops.map((ops) => until('the certificate', async () => (await reloads(ops)) > 0)),
    );
    expect(await Promise.race([loaded, ingress.ended])).toEqual([true, true]);
    expect(childrenOf(ingress.pid ?? 0)).toEqual(before);
  } finally {
    await ingress.stop(60_000);
  }
});

// A service manager sends it to reload. Without certificate files it ended every process, and cut the requests in hand.
test('SIGHUP to the first process ends none without certificate files', async () => {
  const ports = await portsOfTwo();
  const ingress = startTwo(ports);
  try {
    for (const ops of ports.ops) await until(`ready on ${ops}`, () => isReady(ops), 90_000);
    const before = childrenOf(ingress.pid ?? 0);
    process.kill(ingress.pid ?? 0, 'SIGHUP');
    const noted = until(
      'the signal to be noted by both',
      async () => ingress.lastLines().filter((line) => line.includes('SIGHUP')).length === 2,
    );
    expect(await Promise.race([noted, ingress.ended])).toBe(true);
    expect(childrenOf(ingress.pid ?? 0)).toEqual(before);
  } finally {
    await ingress.stop(60_000);
  }
});

// If processes that cannot start were restarted without end, the operator would not see that nothing is accepted.
test('a port that is taken ends all processes with the reason', async () => {
  const ports = await portsOfTwo();
  const ingress = startTwo({ ...ports, push: stack.ingress[0]?.ports['push'] ?? 0 });
  const { code } = await ingress.ended;
  expect(code).toBe(1);
  expect(ingress.lastLines().join('\n')).toContain('TIDEMARK_INGRESS_PUSH_PORT');
});

test('settings that cannot be used end all processes with their exit code', async () => {
  const ingress = startTwo(await portsOfTwo(), { TIDEMARK_INGRESS_TRUSTED_PROXIES: 'nobody' });
  expect(await ingress.ended).toEqual({ code: exitCodeConfig, signal: null });
});
