import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { openRefresh } from './refresh-fleet.ts';

/** The refresh job over a NATS server, ending with the test. */
export const openTestRefresh = async (...given: Parameters<typeof openRefresh>) => {
  const opened = await openRefresh(...given);
  onTestFinished(async () => {
    await opened.refresh.stop();
    opened.records.stop();
    await opened.bus.close();
  });
  return opened;
};

/** A process of its own that runs the job by hand at once; it ends with the test. */
export const spawnRefresh = async (
  natsUrl: string,
  env: NodeJS.ProcessEnv,
): Promise<{ kill(): Promise<void>; pause(): void; resume(): void }> => {
  const child: ChildProcess = spawn(
    process.execPath,
    [join(import.meta.dirname, 'refresh-process.ts'), natsUrl],
    { env: { PATH: process.env['PATH'], ...env }, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const gone = once(child, 'exit');
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await gone;
  };
  onTestFinished(kill);
  await Promise.race([
    once(child.stdout ?? child, 'data'),
    gone.then(() => Promise.reject(new Error('the process ended before it was ready'))),
  ]);
  return { kill, pause: () => child.kill('SIGSTOP'), resume: () => child.kill('SIGCONT') };
};
