import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'tidemark-start-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = (role: string, env: Record<string, string>) =>
  spawnSync(process.execPath, [join(root, 'src/main.ts'), role], {
    env: { PATH: process.env['PATH'] ?? '', TIDEMARK_DATA: join(folder, 'data'), ...env },
    encoding: 'utf8',
    timeout: 120_000,
  });

const brokenPipelines = (name: string, file: string, from: string, to: string): string => {
  const target = join(folder, name);
  cpSync(join(root, 'pipelines'), target, { recursive: true });
  const path = join(target, file);
  const text = readFileSync(path, 'utf8');
  if (!text.includes(from)) throw new Error(`${from} is not in ${file}`);
  writeFileSync(path, text.replace(from, to));
  return target;
};

/** An operator who mistypes a value must learn it at the start, not from lost data. */
describe('a role that is given a wrong pipeline file', () => {
  const cases = [
    [
      'an unknown key',
      'metrics.yaml',
      'points_max:',
      'points_maximum:',
      /metrics\.yaml:\d+:\d+ \/receiver\/limits: .*points_max/,
    ],
    [
      'a wrong value',
      'streams.yaml',
      'retention: workqueue',
      'retention: forever',
      /streams\.yaml:\d+:\d+ \/streams\/METRICS\/retention: must be workqueue, .*Write "workqueue"/,
    ],
    [
      'values that contradict each other',
      'metrics.yaml',
      'store_timeout_ms: 20000',
      'store_timeout_ms: 90000',
      /metrics\.yaml:\d+:\d+ \/transfer\/store_timeout_ms: .*ack_wait_seconds/,
    ],
    ['broken YAML', 'metrics.yaml', 'receiver:', 'receiver: [', /metrics\.yaml:\d+:\d+: /],
  ] as const;
  for (const [name, file, from, to, expected] of cases) {
    it(`with ${name} ends with exit code 78 and names file, place, reason and remedy`, () => {
      for (const role of ['ingress', 'transfer']) {
        const { status, stderr } = run(role, {
          TIDEMARK_PIPELINES: brokenPipelines(`${role}-${name}`, file, from, to),
        });
        expect(stderr).toMatch(expected);
        expect(status).toBe(78);
      }
    });
  }
});

describe('a role that is given a wrong setting', () => {
  it('ends with exit code 78 and names the variable', () => {
    const unknown = run('ingress', { TIDEMARK_INGRES_PUSH_PORT: '1' });
    expect(unknown.stderr).toContain('TIDEMARK_INGRES_PUSH_PORT');
    expect(unknown.stderr).toContain('Did you mean TIDEMARK_INGRESS_PUSH_PORT');
    expect(unknown.status).toBe(78);
    const wrong = run('transfer', { TIDEMARK_TRANSFER_OPS_PORT: 'many' });
    expect(wrong.stderr).toContain('environment variable TIDEMARK_TRANSFER_OPS_PORT');
    expect(wrong.status).toBe(78);
  });
});

// An orchestrator takes another exit code for a crash: a role that waits for NATS is stopped like any other.
it.each(['ingress', 'transfer', 'metadata'])(
  '%s stops in order with exit code 0 while it waits for NATS',
  async (role) => {
    const nowhere = {
      TIDEMARK_NATS_URL: 'nats://127.0.0.1:1',
      [`TIDEMARK_${role.toUpperCase()}_OPS_PORT`]: '0',
    };
    const child = spawn(process.execPath, [join(root, 'src/main.ts'), role], {
      env: { PATH: process.env['PATH'] ?? '', TIDEMARK_DATA: join(folder, 'data'), ...nowhere },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = once(child, 'exit');
    let text = '';
    const waits = new Promise<void>((resolve) => {
      const read = (chunk: Buffer): void => {
        text += chunk.toString();
        if (text.includes('waiting')) resolve();
      };
      child.stdout.on('data', read);
      child.stderr.on('data', read);
    });
    await Promise.race([waits, ended]);
    child.kill('SIGTERM');
    expect({ code: (await ended)[0], text }).toEqual({
      code: 0,
      text: expect.stringContaining(`${role} stops`),
    });
  },
);
