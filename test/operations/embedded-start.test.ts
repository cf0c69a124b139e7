import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createClickhouseEngine } from '../../src/embedded/clickhouse.ts';
import type { Engine } from '../../src/embedded/engine.ts';
import { createInstaller, type Installer } from '../../src/embedded/install.ts';
import { createNatsEngine } from '../../src/embedded/nats.ts';
import { createQuestdbEngine } from '../../src/embedded/questdb.ts';
import { startImpostor } from '../support/stack/impostor.ts';
import { takePorts } from '../support/stack/ports.ts';
import { tempFolder } from '../support/stack/temp-folder.ts';

const host = '127.0.0.1';

type Name = Engine['name'];

const portVariable: Record<Name, string> = {
  nats: 'TIDEMARK_NATS_CLIENT_PORT',
  questdb: 'TIDEMARK_QUESTDB_HTTP_PORT',
  clickhouse: 'TIDEMARK_CLICKHOUSE_HTTP_PORT',
};

const create = (
  name: Name,
  folder: string,
  [main = 0, other = 0]: number[],
  installer?: Installer,
): Engine => {
  const log = (): void => {};
  const engine = {
    nats: () => createNatsEngine({ folder, host, ports: { client: main }, log }, installer),
    questdb: () => createQuestdbEngine({ folder, host, ports: { http: main, pg: other }, log }, installer),
    clickhouse: () => createClickhouseEngine({ folder, host, ports: { http: main }, log }, installer),
  }[name]();
  onTestFinished(() => engine.kill());
  return engine;
};

/** An installer whose programs begin to run only once `gate` exists: time for another server to take the port. */
const gatedInstaller = async (folder: string, gate: string): Promise<Installer> => {
  const real = createInstaller();
  const gated = async (program: string): Promise<string> => {
    const path = join(folder, 'gated');
    const lines = ['#!/bin/sh', `touch '${gate}.waiting'`, `while ! [ -e '${gate}' ]; do sleep 0.05; done`];
    await writeFile(path, [...lines, `exec '${program}' "$@"`, ''].join('\n'), { mode: 0o755 });
    return path;
  };
  return {
    nats: async () => gated(await real.nats()),
    questdb: async () => {
      const program = await real.questdb();
      return { ...program, java: await gated(program.java) };
    },
    clickhouse: real.clickhouse,
  };
};

describe.each(['nats', 'questdb', 'clickhouse'] as const)('%s', (name) => {
  // Without the variable's name the reader has to search for how to move it.
  it('names the port that is in use and the variable that changes it', async () => {
    const ports = await takePorts(2);
    await startImpostor(ports[0] ?? 0);
    const engine = create(name, await tempFolder(), ports);
    await expect(engine.start()).rejects.toThrow(
      new RegExp(`^Port ${ports[0]} \\(.*\\) is in use; set ${portVariable[name]} to another port\\.$`),
    );
    expect(engine.running).toBe(false);
  });
});

describe.each(['nats', 'questdb'] as const)('%s', (name) => {
  // A port can be taken between the check and the child's own listen: its owner must not pass for our engine.
  it('does not take a server that came first for its own child', async () => {
    const folder = await tempFolder();
    const gate = join(folder, 'gate');
    const ports = await takePorts(2);
    const engine = create(name, join(folder, 'data'), ports, await gatedInstaller(folder, gate));
    const started = engine.start();
    started.catch(() => {});
    await expect.poll(() => existsSync(`${gate}.waiting`)).toBe(true);
    for (const port of ports) await startImpostor(port);
    await writeFile(gate, '');
    await expect(started).rejects.toThrow(new RegExp(`^${name} exited with code \\d+ while starting`));
  });
});

describe('an engine that dies while starting', () => {
  it('shows its exit code and last lines: nats on a store that is a file', async () => {
    const folder = await tempFolder();
    await writeFile(join(folder, 'store'), '');
    const engine = create('nats', folder, await takePorts(2));
    await expect(engine.start()).rejects.toThrow(
      /^nats exited with code 1 while starting; last lines of its log:\n.*storage directory is not a directory/s,
    );
  });

  it('shows its exit code and last lines: QuestDB with a wrong setting', async () => {
    const folder = await tempFolder();
    await mkdir(join(folder, 'conf'));
    await writeFile(join(folder, 'conf', 'server.conf'), 'cairo.max.uncommitted.rows=many\n');
    const engine = create('questdb', folder, await takePorts(2));
    await expect(engine.start()).rejects.toThrow(/^questdb exited with code \d+ while starting; .*many/s);
  });

  it('shows its exit code and last lines: ClickHouse on a folder another one holds', async () => {
    const folder = await tempFolder();
    const ports = await takePorts(4);
    await create('clickhouse', folder, ports.slice(0, 2)).start();
    const second = create('clickhouse', folder, ports.slice(2));
    await expect(second.start()).rejects.toThrow(/^clickhouse exited with code 1 while starting; .*lock/s);
  });
});

describe('a running engine', () => {
  it('reports how it ended without a stop, and reports nothing after a stop', async () => {
    const engine = create('nats', await tempFolder(), await takePorts(2));
    const exits: unknown[] = [];
    engine.onExit((code, signal, lines) => exits.push([code, signal, lines.at(-1)]));
    await engine.start();
    await engine.kill();
    await engine.restart();
    expect(exits).toEqual([]);
    process.kill(engine.pid ?? 0, 'SIGKILL');
    await expect.poll(() => exits).toEqual([[null, 'SIGKILL', expect.stringMatching(/ready/)]]);
    expect(engine.running).toBe(false);
  });

  it('answers nothing while it is paused, and continues from the same state', async () => {
    const [client = 0] = await takePorts(1);
    const engine = createNatsEngine({ folder: await tempFolder(), host, ports: { client }, log: () => {} });
    onTestFinished(() => engine.kill());
    await engine.start();
    engine.pause();
    // The signal takes a moment to stop every thread: one may still answer.
    await expect.poll(() => engine.ask('HEALTHZ').then(() => 'answered', String)).toMatch(/timeout/i);
    engine.resume();
    await expect.poll(() => engine.ask('HEALTHZ')).toMatchObject({ status_code: 200 });
  });

  // An engine left behind holds the ports and the folder of the next start.
  it('does not outlive a parent that is killed', async () => {
    const [client = 0] = await takePorts(1);
    const script = `
      import { createNatsEngine } from ${JSON.stringify(resolve('src/embedded/nats.ts'))};
      const engine = createNatsEngine({
        folder: ${JSON.stringify(await tempFolder())}, host: '${host}',
        ports: { client: ${client} }, log: () => {},
      });
      await engine.start();
      console.log(engine.pid);`;
    const parent = spawn(process.execPath, ['--input-type=module-typescript', '-e', script]);
    onTestFinished(() => {
      parent.kill('SIGKILL');
    });
    const [pid] = await once(createInterface({ input: parent.stdout }), 'line');
    expect(() => process.kill(Number(pid), 0)).not.toThrow();
    parent.kill('SIGKILL');
    const isAlive = (): boolean => {
      try {
        return process.kill(Number(pid), 0);
      } catch {
        return false;
      }
    };
    await expect.poll(isAlive).toBe(false);
  });
});
