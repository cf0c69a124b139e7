// A separate thread, confined before the library runs: every thread of the library inherits that.
import { writeSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { DataType, load, open } from 'ffi-rs';
import { z } from 'zod';
import { clickhouseArguments } from './clickhouse-command.ts';
import { ConfinementError, confine } from './confine.ts';

const { library, isUnconfined, asked, ...serving } = z
  .object({
    library: z.string(),
    folder: z.string(),
    host: z.string(),
    port: z.number(),
    mark: z.string(),
    isUnconfined: z.boolean(),
    /** Not 0 once the end was requested. */
    asked: z.instanceof(Int32Array),
  })
  .parse(workerData);

/**
 * Figures of the machine and of this process that the library reads. No folder below /proc: those have descriptors, memory
 * and the environment too.
 */
const figures = [
  ...['/sys/block', '/sys/devices', '/sys/fs/cgroup', '/proc/pressure'],
  ...['stat', 'statm', 'status', 'cgroup'].map((name) => `/proc/self/${name}`),
  ...['/proc/meminfo', '/proc/stat', '/proc/cpuinfo', '/proc/loadavg', '/proc/uptime'],
  ...['/proc/sys/vm/max_map_count', '/proc/sys/fs/file-nr', '/dev/null', '/dev/urandom'],
];

const args = ['clickhouse-local', ...clickhouseArguments(serving)];

/** The message of the library about its end, from the address of its result; undefined where there is none. */
const reasonOf = (result: number): string | undefined => {
  const call = {
    library: 'chdb',
    funcName: 'chdb_result_error',
    paramsType: [DataType.I64],
    paramsValue: [result],
  };
  if (result === 0 || load({ ...call, retType: DataType.I64 }) === 0) return undefined;
  const reason: string = load({ ...call, retType: DataType.String });
  return reason.split('\n')[0];
};

/** Ends the process from here: the state that the library left in this thread does not survive an orderly end. */
const exit = (code: number, reason?: string): void => {
  if (reason !== undefined) writeSync(2, `${reason}\n`);
  open({ library: 'c', path: '' });
  load({
    library: 'c',
    funcName: '_exit',
    retType: DataType.Void,
    paramsType: [DataType.I32],
    paramsValue: [code],
  });
};

open({ library: 'chdb', path: library });
try {
  if (!isUnconfined) confine({ writable: [serving.folder], readable: figures, ports: [serving.port] });
} catch (error) {
  if (!(error instanceof ConfinementError)) throw error;
  exit(
    1,
    `ClickHouse was not started: its functions can read every file of this user, and this kernel cannot confine it (${error.message}). ` +
      'Landlock needs Linux 5.13 or newer. Set TIDEMARK_CLICKHOUSE_URL to your own server, or ' +
      'TIDEMARK_CLICKHOUSE_UNCONFINED=true if only you have its passwords.',
  );
}
// Holds this thread until the server ends.
const result = load({
  library: 'chdb',
  funcName: 'chdb_query_cmdline',
  retType: DataType.I64,
  paramsType: [DataType.I32, DataType.StringArray],
  paramsValue: [args.length, args],
});
exit(Atomics.load(asked, 0) === 0 ? 1 : 0, reasonOf(result));
