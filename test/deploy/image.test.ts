import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { copiesOf, dockerfileStages } from '../support/deploy/dockerfile.ts';
import { type Stack, startStack } from '../support/stack/stack.ts';
import { waitFor } from '../support/wait.ts';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../..');
const user = '65532';

// The image is made here as far as it can be made without Docker: the same copies, the same commands, the same user.
let app: string;
let consoleApp: string;
let stack: Stack | undefined;

const [packages, built, image] = dockerfileStages();
if (packages === undefined || built === undefined || image === undefined)
  throw new Error('deploy/Dockerfile has three stages');

const copyFromRepository = (stage: typeof packages, folder = app): void => {
  for (const { from, paths, to } of copiesOf(stage)) {
    if (from !== '') continue;
    for (const path of paths) {
      const isFolder = statSync(join(root, path)).isDirectory();
      const target = isFolder ? join(folder, to) : join(folder, to, basename(path));
      mkdirSync(join(target, '..'), { recursive: true });
      cpSync(join(root, path), target, { recursive: true });
    }
  }
};

/** The machine's own PATH: npm runs on the machine's Node. */
const machinePath = (process.env['PATH'] ?? '')
  .split(':')
  .filter((folder) => !folder.includes('node_modules'))
  .join(':');

const runIn = async (stage: typeof packages, folder: string): Promise<void> => {
  for (const { keyword, rest } of stage.instructions) {
    if (keyword === 'RUN') {
      await run('sh', ['-c', rest], {
        cwd: folder,
        // Its programs run on the Node of the image.
        env: { ...process.env, PATH: `${machinePath}:${join(root, 'node_modules/.bin')}` },
        maxBuffer: 2 ** 26,
      });
    }
  }
};

beforeAll(async () => {
  app = mkdtempSync(join(tmpdir(), 'tidemark-image-'));
  consoleApp = mkdtempSync(join(tmpdir(), 'tidemark-console-'));
  copyFromRepository(packages);
  await runIn(packages, app);
  copyFromRepository(built, consoleApp);
  rmSync(join(consoleApp, 'console/dist'), { recursive: true, force: true });
  await runIn(built, consoleApp);
  copyFromRepository(image);
  for (const { from, paths, to } of copiesOf(image)) {
    if (from !== 'console') continue;
    for (const path of paths)
      cpSync(
        path.replace('/app', consoleApp),
        to.endsWith('/') ? join(app, to, basename(path)) : join(app, to),
        {
          recursive: true,
        },
      );
  }
  await run('chmod', ['-R', 'a+rX', app]);
});
afterAll(async () => {
  await stack?.stop();
  rmSync(app, { recursive: true, force: true });
  rmSync(consoleApp, { recursive: true, force: true });
});

const filesOf = (folder: string): string[] => readdirSync(folder, { recursive: true }).map(String).toSorted();

const lastOf = (keyword: string): string =>
  image.instructions.findLast((instruction) => instruction.keyword === keyword)?.rest ?? '';

describe('the image', () => {
  it('holds production packages only', () => {
    const names = readdirSync(join(app, 'node_modules'));
    const { packages: locked } = z
      .object({ packages: z.record(z.string(), z.looseObject({ dev: z.boolean().optional() })) })
      .parse(JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')));
    expect(names).toEqual(expect.arrayContaining(['hono', 'pino', 'undici', 'zod']));
    const folders = new Set(filesOf(app));
    const test = Object.entries(locked).flatMap(([path, { dev }]) => (dev === true ? [path] : []));
    expect(test.length).toBeGreaterThan(100);
    expect(test.filter((path) => folders.has(path))).toEqual([]);
  });

  it('carries its bill of materials', () => {
    const bill = z
      .object({ bomFormat: z.literal('CycloneDX'), components: z.array(z.object({ name: z.string() })) })
      .parse(JSON.parse(readFileSync(join(app, 'sbom.cdx.json'), 'utf8')));
    const names = bill.components.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining(['hono', 'prom-client', '@nats-io/jetstream', '@opentelemetry/sdk-trace']),
    );
    expect(names).not.toContain('vitest');
    const installed = filesOf(app).filter((path) => /^node_modules\/(@[^/]+\/)?[^/@.][^/]*$/.test(path));
    expect(installed.filter((path) => !names.includes(path.slice('node_modules/'.length)))).toEqual([]);
  });

  it('serves the console as it was built from the lockfile, with what its files are made of', async () => {
    const files = filesOf(join(app, 'console/dist'));
    expect(files).toEqual(expect.arrayContaining(['index.html', 'assets/licenses.md']));
    expect(readFileSync(join(app, 'console/dist/assets/licenses.md'), 'utf8')).toContain('preact');
    expect(readFileSync(join(app, 'console.sbom.cdx.json'), 'utf8')).toContain('pkg:npm/preact@');
    // The hash in a name depends on the folder of the build.
    const kinds = (names: readonly string[]) =>
      names.map((name) => name.replace(/-[\w-]{8}\./, '.')).toSorted();
    expect(kinds(files)).toEqual(kinds(filesOf(join(root, 'console/dist'))));
  });

  it('runs as a user without rights, by number, with a check of its health', () => {
    expect(lastOf('USER')).toBe(`${user}:${user}`);
    expect(lastOf('HEALTHCHECK')).toContain('CMD ["node", "deploy/healthcheck.mjs"]');
    expect(lastOf('ENTRYPOINT')).toBe('["tidemark"]');
  });

  // A role that needs a test package, a file that is not copied, or a place to write fails first in production.
  it('starts each role as that user, takes a point to its end, writes nothing into itself, and ends at SIGTERM', async () => {
    const before = filesOf(app);
    stack = await startStack({
      traces: true,
      program: app,
      command: ['setpriv', '--pdeathsig', 'KILL', '--reuid', user, '--regid', user, '--clear-groups'],
    });
    const { data_source: source, result_table: table } = await stack.createReport('image');
    const body = JSON.stringify({
      data_id: source.mon_data_id,
      access_token: source.token,
      data: [{ metrics: { cpu: 1 } }],
    });
    const url = `http://127.0.0.1:${stack.ingress[0]?.ports['push']}/v2/push/`;
    await waitFor('the point is taken', 30_000, async () => (await fetch(url, { method: 'POST', body })).ok);
    await stack.waitForRows(table.table_id, 1);
    const roles = [...stack.ingress, ...stack.transfer, stack.metadata];
    for (const role of roles) {
      const status = readFileSync(`/proc/${role.pid}/status`, 'utf8');
      expect(/^Uid:\s+(\d+)/m.exec(status)?.[1]).toBe(user);
      const variable = `TIDEMARK_${role.name.split('-')[0]?.toUpperCase()}_OPS_PORT`;
      const env = { PATH: process.env['PATH'], [variable]: String(role.ports['ops']) };
      for (const option of [[], ['--ready']]) {
        await run(process.execPath, [join(app, 'deploy/healthcheck.mjs'), ...option], { env });
      }
    }
    expect(filesOf(app)).toEqual(before);
    expect(await Promise.all(roles.map((role) => role.stop()))).toEqual(roles.map(() => 0));
    await expect(
      run(process.execPath, [join(app, 'deploy/healthcheck.mjs')], {
        env: {
          PATH: process.env['PATH'],
          TIDEMARK_INGRESS_OPS_PORT: '1',
          TIDEMARK_TRANSFER_OPS_PORT: '1',
          TIDEMARK_METADATA_OPS_PORT: '1',
        },
      }),
    ).rejects.toThrow();
  });
});
