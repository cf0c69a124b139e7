import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { serve } from '@hono/node-server';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { readDocument } from '../../support/docs-code.ts';
import { putReport } from '../../support/metadata/refresh-fleet.ts';
import { openTestRefresh } from '../../support/metadata/refresh-test.ts';
import { tempFolder } from '../../support/stack/temp-folder.ts';
import { held, known, natsUrl, setEnabled } from './setup.ts';

describe('the program of docs/collectors.md', () => {
  const program = /^```python\n(.*?)^```/ms.exec(readDocument('docs/collectors.md'))?.[1] ?? '';

  /** A collector for the time of one reload. */
  const startCollector = async (pidFile: string): Promise<{ reloaded: Promise<string> }> => {
    const waits = [
      'import signal, sys',
      'signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])',
      'print("ready", flush=True)',
      'signal.sigwait([signal.SIGUSR1])',
      'print("reloaded", flush=True)',
    ];
    const child = spawn('python3', ['-c', waits.join('\n')], { stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    await lines.next();
    await writeFile(pidFile, String(child.pid));
    return { reloaded: lines.next().then(({ value }) => String(value)) };
  };

  it('brings the files of a business in step, and reloads the collector only after a change', async () => {
    const opened = await openTestRefresh(natsUrl());
    for (const [index, biz] of [1, 2, 3].entries())
      await putReport(opened.records, index + 1, biz === 3 ? 3 : 2);
    await known(opened, 3);
    await opened.refresh.runNow();
    const server = serve({ fetch: opened.refresh.pollingApp.fetch, port: 0, hostname: '127.0.0.1' });
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const address = z.object({ port: z.int() }).parse(server.address());
    const folder = await tempFolder();
    const pidFile = join(await tempFolder(), 'pid');
    const runProgram = (token: string): Promise<{ stderr: string }> =>
      promisify(execFile)(
        'python3',
        ['-c', program, `http://127.0.0.1:${address.port}/v1/subscriptions/2`, folder, pidFile],
        { env: { ...process.env, NODE_TOKEN: token } },
      );
    const files = async (): Promise<string[]> =>
      (await readdir(folder)).filter((name) => name.endsWith('.conf')).toSorted();

    const first = await startCollector(pidFile);
    await runProgram('node-of-2');
    expect(await first.reloaded).toBe('reloaded');
    const names = ['bk-collector-report-v2-1500001.conf', 'bk-collector-report-v2-1500002.conf'];
    expect(await files()).toEqual(names);
    expect(await readFile(join(folder, names[0] ?? ''), 'utf8')).toBe(
      (await held(opened, 1_500_001))?.document,
    );

    // Nothing changed: there is no collector to signal, and that is no error.
    await writeFile(pidFile, 'none');
    await runProgram('node-of-2');
    await expect(runProgram('node-of-3')).rejects.toThrow(/403; the files stay as they are/);
    expect(await files()).toEqual(names);

    await setEnabled(opened, 1_500_001, false);
    await opened.refresh.runNow();
    const second = await startCollector(pidFile);
    await runProgram('node-of-2');
    expect(await second.reloaded).toBe('reloaded');
    expect(await files()).toEqual(names.slice(1));
  });
});
