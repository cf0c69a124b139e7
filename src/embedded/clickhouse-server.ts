// A separate process: libchdb holds one data folder per process, and its crash must end nothing else.
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { z } from 'zod';
import { errorText } from '../model/fault.ts';
import { askClickhouse, configurationFiles, endQuery, markQuery } from './clickhouse-command.ts';
import { lockPipes } from './pipes.ts';

const serving = z
  .looseObject({
    folder: z.string(),
    host: z.string(),
    port: z.number(),
    mark: z.string(),
    isUnconfined: z.boolean(),
  })
  .parse(JSON.parse(process.argv[2] ?? '{}'));

const accountSchema = z.object({ user: z.string(), password: z.string() });

// Who may end it, as the first line: neither the environment nor the arguments are kept from the library.
const { promise: account, resolve: setAccount } = Promise.withResolvers<z.infer<typeof accountSchema>>();

/** Not 0 once the end was requested: the thread's exit code. */
const asked = new Int32Array(new SharedArrayBuffer(4));

const end = (): void => {
  Atomics.store(asked, 0, 1);
  account
    .then((account) => askClickhouse({ ...serving, account }, endQuery(serving.mark)))
    // The thread is inside the library, and an orderly exit would wait for it.
    .catch(() => process.kill(process.pid, 'SIGKILL'));
};

process.on('SIGTERM', end);
process.on('SIGINT', end);
const input = createInterface({ input: process.stdin });
input.once('line', (line) => setAccount(accountSchema.parse(JSON.parse(line))));
// The parent holds this process's stdin open: its end means that the parent died.
input.once('close', end);

/** Niceness of the threads that merge parts, and the interval of the search for them until they exist. */
const merging = { niceness: 10, pollMs: 1_000 };

/**
 * Gives the threads that merge parts the lowest priority; false while there are none, or where the system does not list
 * threads.
 */
const yieldMerges = (): boolean => {
  try {
    const threads = readdirSync('/proc/self/task').filter(
      (id) => readFileSync(`/proc/self/task/${id}/comm`, 'utf8').trim() === 'MergeMutate',
    );
    for (const id of threads) setPriority(Number(id), merging.niceness);
    return threads.length > 0;
  } catch {
    return false;
  }
};

/**
 * Merges have the lowest priority; inserts, queries and the other processes of this machine go first. A server has a
 * setting for it (`os_threads_nice_value_merge_mutate`), the library has none. The threads exist from the first table
 * on.
 */
const poll = setInterval(() => {
  if (yieldMerges()) clearInterval(poll);
}, merging.pollMs);

// The library's own session runs on it: the stack of a thread of the system, not the four megabytes of a worker.
const thread = new Worker(new URL('clickhouse-thread.ts', import.meta.url), {
  workerData: { ...serving, asked },
  resourceLimits: { stackSizeMb: 8 },
});
// The thread ends the process itself. A failure before the library runs arrives as an error.
thread.once('error', (error) => {
  process.stderr.write(`${errorText(error)}\n`);
  process.exit(1);
});

const startPollMs = 50;

/** The library makes its pipes and reads its configuration before it listens, and neither again; SQL reads every file of the folder. */
const closeStart = async (): Promise<void> => {
  const given = await account;
  const isServing = async (): Promise<boolean> => {
    try {
      return (await askClickhouse({ ...serving, account: given }, markQuery(serving.mark))) === '1';
    } catch {
      return false;
    }
  };
  while (!(await isServing())) await delay(startPollMs);
  if (!serving.isUnconfined) lockPipes();
  for (const name of Object.values(configurationFiles)) rmSync(join(serving.folder, name), { force: true });
};
await closeStart();
