import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import packages from '../../package.json' with { type: 'json' };
import { createInstaller } from '../../src/embedded/install.ts';
import { versions } from '../../src/embedded/versions.ts';
import { tempFolder } from '../support/stack/temp-folder.ts';

/** A folder for PATH that holds only these shell scripts. */
const pathWith = async (scripts: Record<string, string>): Promise<string> => {
  const folder = await tempFolder();
  for (const [name, body] of Object.entries(scripts)) {
    await writeFile(join(folder, name), `#!/bin/sh\n${body}\n`, { mode: 0o755 });
  }
  return folder;
};

const java17 = `echo 'openjdk version "17.0.15" 2025-04-15' >&2`;

describe('a missing tool', () => {
  it.each([
    ['Go', {}, 'nats', 'install Go 1.21 or newer', 'TIDEMARK_NATS_URL'],
    ['Java', {}, 'questdb', 'install Java 17 or newer', 'TIDEMARK_QUESTDB_URL'],
    [
      'a newer Java',
      { java: `echo 'version "11.0.2"' >&2` },
      'questdb',
      'install Java 17',
      'TIDEMARK_QUESTDB_URL',
    ],
    ['Maven', { java: java17 }, 'questdb', 'install Maven', 'TIDEMARK_QUESTDB_URL'],
  ] as const)(
    '%s is reported in one sentence with every remedy',
    async (_what, scripts, engine, install, variable) => {
      const cache = await tempFolder();
      const env = { PATH: await pathWith(scripts), JAVA_HOME: undefined, TIDEMARK_CACHE: cache };
      const found = createInstaller(env)[engine]();
      await expect(found).rejects.toThrow(
        new RegExp(
          `^\\w.* is missing, and required to [^.]+: ${install}[^\n]*, or set ${variable} to a \\w+ server\\.$`,
        ),
      );
      expect(await readdir(cache)).toEqual([]);
    },
  );
});

describe('an installation', () => {
  it('is complete or missing: a tool that fails leaves nothing in the cache and its output is shown', async () => {
    const cache = await tempFolder();
    const go = 'touch "$GOBIN/nats-server"; echo "no route to the proxy" >&2; exit 1';
    const found = createInstaller({
      PATH: `${await pathWith({ go })}:/bin:/usr/bin`,
      TIDEMARK_CACHE: cache,
    }).nats();
    await expect(found).rejects.toThrow(/^nats-server \S+ could not be installed:\n.*no route to the proxy/s);
    expect(await readdir(cache)).toEqual([]);
  });

  it('happens once: the next one finds it in the cache', async () => {
    const cache = await tempFolder();
    const env = {
      PATH: `${await pathWith({ go: 'touch "$GOBIN/nats-server"; chmod +x "$GOBIN/nats-server"' })}:/bin:/usr/bin`,
      TIDEMARK_CACHE: cache,
    };
    const lines: string[] = [];
    const log = (line: string): void => {
      lines.push(line);
    };
    const first = await createInstaller(env, log).nats();
    const second = await createInstaller({ ...env, PATH: '' }, log).nats();
    expect(second).toBe(first);
    expect(lines).toEqual([
      `nats-server ${versions.nats}: building with go install …`,
      expect.stringMatching(/^nats-server \S+: done in \d+\.\d s$/),
      `nats-server ${versions.nats}: found at ${first}`,
    ]);
  });

  it('is skipped where the machine has the pinned version, and only then', async () => {
    const cache = await tempFolder();
    await mkdir(join(cache, `nats-server-${versions.nats}`));
    await writeFile(join(cache, `nats-server-${versions.nats}`, 'nats-server'), '');
    const pinned = await pathWith({ 'nats-server': `echo "nats-server: v${versions.nats}"` });
    const older = await pathWith({ 'nats-server': 'echo "nats-server: v2.9.10"' });
    const find = (path: string) => createInstaller({ PATH: path, TIDEMARK_CACHE: cache }).nats();
    expect(await find(pinned)).toBe(join(pinned, 'nats-server'));
    expect(await find(older)).toBe(join(cache, `nats-server-${versions.nats}`, 'nats-server'));
  });
});

describe('versions', () => {
  it('are those npm installs', () => {
    expect(packages.devDependencies.chdb).toBe(versions.chdb);
    expect(packages.devDependencies['ffi-rs']).toBe(versions.ffiRs);
  });
});
