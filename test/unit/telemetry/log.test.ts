import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type LevelledLog, limitRepeats } from '../../../src/telemetry/log.ts';
import { tempFolder } from '../../support/stack/temp-folder.ts';
import { until } from '../../support/until.ts';

const root = resolve(import.meta.dirname, '../../..');

const program = `
  const { createRoleLog } = await import('./src/telemetry/log.ts');
  const log = createRoleLog('test', 'info');
  process.stdin.on('data', () => log.debug({}, 'a debug line'));
  log.info({}, 'begun');`;

// A restart to see more would end the trouble that is looked at.
it('SIGUSR2 opens the log of a running role to debug, and the next one closes it again', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: root,
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  const lines = createInterface({ input: child.stderr });
  const next = async (): Promise<string> => {
    const [line]: unknown[] = await once(lines, 'line');
    const { level, msg }: { level?: unknown; msg?: unknown } = Object(JSON.parse(String(line)));
    // A field of the same name would take the place of the severity.
    expect(level).toBeTypeOf('number');
    return String(msg);
  };
  try {
    expect(await next()).toBe('begun');
    child.stdin.write('not seen');
    const opened = next();
    child.kill('SIGUSR2');
    expect(await opened).toBe('the log level has changed');
    const seen = next();
    child.stdin.write('seen');
    expect(await seen).toBe('a debug line');
    const closed = next();
    child.kill('SIGUSR2');
    expect(await closed).toBe('the log level has changed');
  } finally {
    child.kill('SIGKILL');
  }
});

type Line = readonly [level: string, message: string, fields: Record<string, unknown>];

const open = () => {
  const lines: Line[] = [];
  const write = (level: string) => (fields: Record<string, unknown>, message: string) =>
    void lines.push([level, message, fields]);
  const log: LevelledLog = {
    level: 'info',
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
  };
  return { lines, log: limitRepeats(log, 10_000) };
};

// A dependency that is away for a night fills no disk, and hides no other line.
// A terminal that closes leaves a role working, and the first line of its stop would end it without a drain.
it('a log whose terminal has closed ends no process', async () => {
  const said = join(await tempFolder(), 'said');
  const role = `
    const { writeFileSync } = await import('node:fs');
    const { createLog } = await import('./src/telemetry/log.ts');
    const log = createLog('test', 'info');
    process.on('SIGHUP', () => {
      for (const line of ['one', 'two']) log.info({}, line);
      setImmediate(() => {
        writeFileSync(process.env.SAID, 'goes on');
        process.exit();
      });
    });
    log.info({}, 'begun');
    setInterval(() => {}, 60_000);`;
  const terminal = spawn('script', ['-qc', 'exec "$NODE" --input-type=module --eval "$ROLE"', '/dev/null'], {
    cwd: root,
    env: { ...process.env, NODE: process.execPath, ROLE: role, SAID: said, SHELL: '/bin/sh' },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  await once(createInterface({ input: terminal.stdout }), 'line');
  terminal.kill('SIGKILL');
  await until('the role goes on', () => existsSync(said) && readFileSync(said, 'utf8') === 'goes on', 10_000);
});

describe('a line that repeats itself', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  // The last line comes later than what it says: it looked like a new fault, also after the line of its end.
  it('is written once in ten seconds, then with the number of lines that were left out, and with their times', () => {
    vi.setSystemTime('2026-11-24T00:00:00Z');
    const { lines, log } = open();
    for (let second = 0; second < 8; second++) {
      log.warn({ consumer: 'questdb' }, 'pulls fail');
      vi.advanceTimersByTime(1_000);
    }
    expect(lines).toEqual([['warn', 'pulls fail', { consumer: 'questdb' }]]);
    vi.advanceTimersByTime(2_000);
    const times = { first_at: '2026-11-24T00:00:00.000Z', last_at: '2026-11-24T00:00:07.000Z' };
    expect(lines.slice(1)).toEqual([
      ['warn', 'pulls fail', { consumer: 'questdb', suppressed: 7, ...times }],
    ]);
    log.warn({ consumer: 'questdb' }, 'pulls fail');
    expect(lines).toHaveLength(3);
    vi.advanceTimersByTime(60_000);
    expect(lines).toHaveLength(3);
  });

  it('hides no line of another message, level or field, and twenty lines of one message at most are written', () => {
    const { lines, log } = open();
    log.warn({ stream: 'METRICS' }, 'missing');
    log.error({ stream: 'METRICS' }, 'missing');
    log.warn({ stream: 'TRACES' }, 'missing');
    log.warn({ stream: 'METRICS' }, 'full');
    expect(lines).toHaveLength(4);
    for (let key = 0; key < 100; key++) log.info({ key }, 'a record is malformed');
    expect(lines).toHaveLength(24);
    vi.advanceTimersByTime(10_000);
    expect(lines.slice(24)).toMatchObject([['info', 'a record is malformed', { key: 99, suppressed: 80 }]]);
  });

  it('is written each time where it is for finding a fault', () => {
    const { lines, log } = open();
    for (let count = 0; count < 3; count++) log.debug({}, 'the same');
    expect(lines).toHaveLength(3);
  });
});
