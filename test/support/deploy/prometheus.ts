import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { deathSignalPrefix } from '../../../src/embedded/child.ts';
import { buildGoTools } from '../clients/builds.ts';
import { waitFor } from '../wait.ts';

const run = promisify(execFile);

/** The folder with `prometheus` and `promtool`, built by the first call into the machine's cache (minutes) and kept. */
export const prometheusPrograms = (): Promise<string> =>
  buildGoTools(
    join(import.meta.dirname, '../../deploy/prometheus'),
    'prometheus',
    ['prometheus', 'promtool'].map((name) => `github.com/prometheus/prometheus/cmd/${name}`),
    // Without service discovery of every cloud, which is most of the program.
    ['-tags=remove_all_sd'],
  );

/** The output of promtool; rejects with it when promtool refuses. */
export const promtool = async (cwd: string, ...args: readonly string[]): Promise<string> => {
  const program = join(await prometheusPrograms(), 'promtool');
  const { stdout, stderr } = await run(program, [...args], { cwd });
  return `${stdout}${stderr}`;
};

const answerSchema = z.object({
  status: z.string(),
  error: z.string().optional(),
  data: z.unknown(),
});
const resultSchema = z.object({
  result: z.array(
    z.object({
      metric: z.record(z.string(), z.string()),
      value: z.tuple([z.number(), z.string()]),
    }),
  ),
});
export type QueryRow = z.output<typeof resultSchema>['result'][number];
const rangeSchema = z.object({
  result: z.array(
    z.object({
      metric: z.record(z.string(), z.string()),
      values: z.array(z.tuple([z.number(), z.string()])),
    }),
  ),
});
export type RangeRow = z.output<typeof rangeSchema>['result'][number];

const rulesSchema = z.object({
  groups: z.array(
    z.object({
      rules: z.array(
        z.object({
          name: z.string(),
          health: z.string(),
          lastError: z.string().optional(),
          state: z.string(),
        }),
      ),
    }),
  ),
});
export type RuleState = z.output<typeof rulesSchema>['groups'][number]['rules'][number];

/** A real Prometheus. */
export type Prometheus = {
  /** An instant query; throws the error of Prometheus. */
  query(expression: string): Promise<QueryRow[]>;
  /** An instant query at each of these seconds since 1970, `step` apart. */
  queryRange(expression: string, range: { start: number; end: number; step: number }): Promise<RangeRow[]>;
  rules(): Promise<RuleState[]>;
  stop(): Promise<void>;
};

/** Starts it with this configuration file; it keeps its data in `folder`. */
export const startPrometheus = async (options: {
  config: string;
  folder: string;
  port: number;
}): Promise<Prometheus> => {
  const { config, folder, port } = options;
  const program = join(await prometheusPrograms(), 'prometheus');
  const lines: string[] = [];
  const [command = '', ...args] = [
    ...deathSignalPrefix(),
    program,
    `--config.file=${config}`,
    `--storage.tsdb.path=${folder}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  const child: ChildProcess = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => lines.push(...text.split('\n')));
  }
  const get = async (path: string, body?: URLSearchParams): Promise<unknown> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      body: body ?? null,
    });
    const answer = answerSchema.parse(await response.json());
    if (answer.status !== 'success') throw new Error(answer.error ?? 'no reason');
    return answer.data;
  };
  await waitFor('Prometheus is ready', 60_000, async () => {
    if (child.exitCode !== null) throw new Error(`it ended: ${lines.slice(-8).join('\n')}`);
    return (await fetch(`http://127.0.0.1:${port}/-/ready`)).ok;
  });
  return {
    query: async (expression) =>
      resultSchema.parse(await get('/api/v1/query', new URLSearchParams({ query: expression }))).result,
    queryRange: async (query, { start, end, step }) => {
      const numbers = { start: String(start), end: String(end), step: String(step) };
      const answer = await get('/api/v1/query_range', new URLSearchParams({ query, ...numbers }));
      return rangeSchema.parse(answer).result;
    },
    rules: async () => rulesSchema.parse(await get('/api/v1/rules')).groups.flatMap(({ rules }) => rules),
    stop: async () => {
      child.kill('SIGTERM');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    },
  };
};
