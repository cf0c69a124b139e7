// A process of its own: libchdb holds one data folder per process, and a crash in it must end nothing else.
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
