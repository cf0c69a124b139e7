import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it } from 'vitest';

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
