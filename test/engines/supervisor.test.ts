import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createService, type Service, type ServiceDefinition } from '../../src/embedded/service.ts';
import { createSupervisor } from '../../src/embedded/supervisor.ts';
import { tempFolder } from '../support/stack/temp-folder.ts';

const policy = { firstMs: 20, mostMs: 100, healthyMs: 60_000, lookEveryMs: 50 };

/** A service that prints that it listens and then runs `script`. */
const createScript = (
  name: string,
  script: string,
  {
    beforeStart = () => {},
    ...more
  }: Partial<Pick<ServiceDefinition, 'answers' | 'needsRestartWhenUnwell'>> & {
    beforeStart?: () => void;
  } = {},
): Service => {
  const service = createService({
    name,
    url: '',
    host: '127.0.0.1',
    ports: [],
    log: () => {},
    prepare: async () => {
      beforeStart();
      return { command: process.execPath, args: ['-e', `console.log('listening'); ${script}`] };
    },
    listening: /^listening$/,
    answers: () => Promise.resolve(true),
    startTimeoutMs: 20_000,
    stopGraceMs: 5000,
    ...more,
  });
  onTestFinished(() => service.kill());
  return service;
};

/** What a service meets whose disk is full until it is freed: it answers badly, and it cannot start. */
const fullDisk = () => {
  let isFull = false;
  const disk = {
    tries: 0,
    isWell: true,
    needsRestartWhenUnwell: true,
    answers: () => Promise.resolve(disk.isWell),
    beforeStart: () => {
      disk.tries += 1;
      if (isFull) throw new Error('ENOSPC: no space left on device, write');
    },
    fill: () => {
      isFull = true;
      disk.isWell = false;
    },
    free: () => {
      isFull = false;
      disk.isWell = true;
    },
  };
  return disk;
};

const lives = 'setInterval(() => {}, 1000);';

/** Runs until there is a file, then does this: a service that ends by itself has to be ready before. */
const endsAt = (gate: string, ending: string): string =>
  `setInterval(() => { if (require('node:fs').existsSync(${JSON.stringify(gate)})) { ${ending} } }, 10);`;

const watch = () => {
  const lines: string[] = [];
  const fatal: string[] = [];
  const supervisor = createSupervisor(
    { log: (source, line) => lines.push(`${source} ${line}`), onFatal: (message) => fatal.push(message) },
    policy,
  );
  return { supervisor, lines, fatal };
};

describe('a supervised service', () => {
  it('is started again when it is killed, as often as that happens', async () => {
    const { supervisor, lines } = watch();
    const service = createScript('role', lives);
    await supervisor.start(service);
    for (const kill of [1, 2, 3]) {
      const before = service.pid ?? 0;
      process.kill(before, 'SIGKILL');
      await expect.poll(() => lines.filter((line) => line.includes('is back')).length).toBe(kill);
      expect(service.pid).not.toBe(before);
    }
    expect(lines[0]).toBe('role was killed by SIGKILL and is restarted');
    await supervisor.stop([service]);
  });

  // A NATS whose disk was full answers and stores nothing until it is restarted.
  it('is restarted when it stays unwell, and not when it is unwell only for a moment', async () => {
    const { supervisor, lines } = watch();
    let answers: boolean[] = [];
    const service = createScript('engine', lives, {
      answers: () => Promise.resolve(answers.shift() ?? true),
      needsRestartWhenUnwell: true,
    });
    await supervisor.start(service);
    const before = service.pid;
    answers = [false, false, true, false];
    await expect.poll(() => answers).toEqual([]);
    expect([service.pid, lines]).toEqual([before, []]);
    answers = [true, false, false, false];
    await expect.poll(() => service.running && service.pid !== before).toBe(true);
    expect(lines[0]).toBe('engine is unhealthy and is restarted');
    await expect.poll(() => lines.at(-1)).toMatch(/^engine is back after /);
    await supervisor.stop([service]);
  });

  // On a full disk its configuration cannot be written: the start fails before there is a process that could end.
  it('is tried again until it runs where its restart fails', async () => {
    const { supervisor, lines } = watch();
    const disk = fullDisk();
    const service = createScript('engine', lives, disk);
    await supervisor.start(service);
    disk.fill();
    const failed = 'engine could not be restarted: ENOSPC: no space left on device, write';
    await expect.poll(() => lines.filter((line) => line === failed).length).toBeGreaterThan(2);
    expect(lines[0]).toBe('engine is unhealthy and is restarted');
    expect(service.running).toBe(false);
    disk.free();
    await expect.poll(() => lines.at(-1)).toMatch(/^engine is back after /);
    expect(service.running).toBe(true);
    await supervisor.stop([service]);
  });

  it('stays stopped once the supervisor stops while its restart fails again and again', async () => {
    const { supervisor, lines } = watch();
    const disk = fullDisk();
    const service = createScript('engine', lives, disk);
    await supervisor.start(service);
    disk.fill();
    await expect.poll(() => lines.length).toBeGreaterThan(3);
    await supervisor.stop([service]);
    disk.free();
    expect(service.running).toBe(false);
  });

  it('stays stopped once the supervisor stops while the old process of a restart ends', async () => {
    const { supervisor, lines } = watch();
    const disk = fullDisk();
    const service = createScript(
      'engine',
      `process.on('SIGTERM', () => setTimeout(process.exit, 200)); ${lives}`,
      disk,
    );
    await supervisor.start(service);
    disk.isWell = false;
    await expect.poll(() => lines).toEqual(['engine is unhealthy and is restarted']);
    await supervisor.stop([service]);
    expect([service.running, disk.tries, lines]).toEqual([
      false,
      1,
      ['engine is unhealthy and is restarted'],
    ]);
  });

  it('stays stopped once the supervisor stops, also while it waits for its turn', async () => {
    const { supervisor, lines } = watch();
    const gate = join(await tempFolder(), 'gate');
    const service = createScript('role', endsAt(gate, 'process.exit(3);'));
    await supervisor.start(service);
    await writeFile(gate, '');
    await expect.poll(() => lines.length).toBeGreaterThan(4);
    await supervisor.stop([service]);
    expect(service.running).toBe(false);
    expect(lines[0]).toBe('role exited with code 3 and is restarted');
  });

  // A restart would only repeat the same message without end.
  it('is not started again when it refuses its configuration', async () => {
    const { supervisor, fatal, lines } = watch();
    const gate = join(await tempFolder(), 'gate');
    const service = createScript('role', endsAt(gate, "console.error('bad port'); process.exit(78);"));
    await supervisor.start(service);
    await writeFile(gate, '');
    await expect.poll(() => fatal).toEqual(['role cannot use its configuration:\nlistening\nbad port']);
    expect(lines).toEqual([]);
    expect(service.running).toBe(false);
  });

  it('is stopped in the given order', async () => {
    const { supervisor } = watch();
    const names: string[] = [];
    const services = ['a', 'b', 'c'].map((name) => {
      const service = createScript(name, lives);
      const { stop } = service;
      return Object.assign(service, {
        stop: async () => {
          await stop();
          names.push(name);
        },
      });
    });
    await Promise.all(services.map((service) => supervisor.start(service)));
    await supervisor.stop(services);
    expect(names).toEqual(['a', 'b', 'c']);
  });
});

describe('a start under way', () => {
  it('ends when the service is stopped', async () => {
    const service = createScript('role', lives);
    const started = service.start();
    started.catch(() => {});
    await service.stop();
    await expect(started).rejects.toThrow(/^role was /);
    expect(service.running).toBe(false);
  });
});
