import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';

const module = new URL('../../../src/cli/streams-backup/stopping.ts', import.meta.url).pathname;

/** Waits as a backup does, and says what it released. */
const script = `
import { untilStopped } from '${module}';
await untilStopped((signal) => new Promise((resolve) => {
  const alive = setInterval(() => {}, 1000);
  signal.addEventListener('abort', () => { clearInterval(alive); console.log('released'); resolve(); });
  console.log('waits');
}));
`;

// A checkpoint that stays keeps QuestDB from removing old files, and the next backup from starting.
it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  'a backup that %s stops releases what it holds',
  async (name) => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', script]);
    let said = '';
    child.stdout.on('data', (bytes: Buffer) => {
      said += bytes.toString();
      if (said === 'waits\n') child.kill(name);
    });
    expect(await once(child, 'close')).toEqual([0, null]);
    expect(said).toBe('waits\nreleased\n');
  },
);
