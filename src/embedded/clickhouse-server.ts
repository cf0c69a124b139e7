// A process of its own: libchdb holds one data folder per process, and a crash in it must end nothing else.
import { readdirSync, readFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { DataType, load, open } from 'ffi-rs';
import { z } from 'zod';
import { askClickhouse, clickhouseArguments, endQuery } from './clickhouse-command.ts';

const serving = z
  .object({ library: z.string(), folder: z.string(), host: z.string(), port: z.number(), mark: z.string() })
  .parse(JSON.parse(process.argv[2] ?? '{}'));

const args = ['clickhouse-local', ...clickhouseArguments(serving)];

let asked = false;

const end = (): void => {
  asked = true;
  askClickhouse(serving.host, serving.port, endQuery(serving.mark)).catch(() => process.exit(1));
};

process.on('SIGTERM', end);
process.on('SIGINT', end);
// The parent holds our stdin open: its end means the parent is gone.
process.stdin.on('end', end).resume();

/** Niceness of the threads that merge parts, and how often they are looked for until they are there. */
const merging = { niceness: 10, pollMs: 1_000 };

/** Lets the threads that merge parts go after all others; false while there are none, or where the system does not list threads. */
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
 * Merges take whatever the cores have left; inserts, queries and the other processes of this machine go before them. A server has a
 * setting for it (`os_threads_nice_value_merge_mutate`), the library has none. The threads are there from the first table on.
 */
const poll = setInterval(() => {
  if (yieldMerges()) clearInterval(poll);
}, merging.pollMs);

open({ library: 'chdb', path: serving.library });
await load({
  library: 'chdb',
  funcName: 'chdb_query_cmdline',
  retType: DataType.External,
  paramsType: [DataType.I32, DataType.StringArray],
  paramsValue: [args.length, args],
  runInNewThread: true,
});
process.exit(asked ? 0 : 1);
