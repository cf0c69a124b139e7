import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { neededVariables } from '../support/deploy/compose.ts';
import { deployFolder } from '../support/deploy/dashboards.ts';

const run = promisify(execFile);
const passwords = Object.fromEntries(neededVariables.map((name) => [name, randomBytes(16).toString('hex')]));
const docker = (...args: readonly string[]) =>
  run('docker', [...args], {
    cwd: deployFolder,
    maxBuffer: 2 ** 26,
    env: { ...process.env, ...passwords },
  });

const hasDocker = await run('docker', ['info']).then(
  ({ stdout }) => stdout.includes('Server Version'),
  () => false,
);

const compose = ['compose', '-f', join(deployFolder, 'compose.yaml'), '-p', 'tidemark-test'];

// Named as skipped where no Docker engine answers.
describe.skipIf(!hasDocker)('with a Docker engine: the compose stack', () => {
  afterAll(async () => {
    await docker(...compose, 'down', '--volumes', '--timeout', '40');
  });

  it('builds the image, becomes healthy, and takes a point and a span to their ends', async () => {
    await docker(...compose, 'up', '--build', '--detach', '--wait');
    const { stdout } = await docker(
      ...compose,
      ...['exec', '-T', 'metadata', 'node', 'src/main.ts', 'doctor'],
      ...['--push-url', 'http://ingress:10205', '--otlp-url', 'http://ingress:4318'],
    );
    expect(stdout).not.toContain('NOT OK');
  });
});
