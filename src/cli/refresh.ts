import type { Command } from 'commander';
import { z } from 'zod';
import { adminClient } from './client.ts';
import { printList } from './list.ts';
import { addJsonOption, addPageOptions, idArgument, type JsonOption, type PageOptions } from './options.ts';
import { nothing, printAnswer, printFields, printLine, printTable, timeText } from './output.ts';

const runSchema = z.object({
  run_id: z.number(),
  trigger: z.string(),
  state: z.string(),
  started: z.number(),
  finished: z.number().nullable(),
  duration_ms: z.number().nullable(),
  created: z.number(),
  updated: z.number(),
  unchanged: z.number(),
  deleted: z.number(),
  failed_count: z.number(),
  failed: z.array(z.object({ mon_data_id: z.number(), report: z.string(), error: z.string() })),
});

type Run = z.output<typeof runSchema>;

const path = '/api/v1/refresh-runs';
const operation = '/operations/metadata.task.custom_report.refresh_custom_report_2_node_man';

/** A run visits every report, and the command waits for a run in progress. */
const runTimeoutMs = 600_000;

const durationText = (durationMs: number | null): string =>
  durationMs === null ? nothing : `${durationMs} ms`;

const print = (run: Run): void => {
  printFields([
    ['run', `${run.run_id} (${run.trigger})`],
    ['state', run.state],
    ['started', timeText(run.started)],
    ['took', durationText(run.duration_ms)],
    ['created', run.created],
    ['updated', run.updated],
    ['unchanged', run.unchanged],
    ['deleted', run.deleted],
    ['failed', run.failed_count],
  ]);
  if (run.failed.length === 0) return;
  printLine('');
  printTable(
    ['DATA ID', 'REPORT', 'ERROR'],
    run.failed.map(({ mon_data_id, report, error }) => [mon_data_id, report, error]),
  );
};

const refresh = async (options: JsonOption): Promise<void> => {
  const request = { body: {}, timeoutMs: runTimeoutMs };
  const answer = await adminClient().ask(runSchema, 'POST', operation, request);
  printAnswer(answer, options, print);
  if (answer.value.failed_count > 0) process.exitCode = 1;
};

const list = (options: PageOptions): Promise<void> =>
  printList(options, {
    path,
    item: runSchema,
    head: [
      'RUN',
      'STARTED',
      'TOOK',
      'TRIGGER',
      'STATE',
      'CREATED',
      'UPDATED',
      'UNCHANGED',
      'DELETED',
      'FAILED',
    ],
    row: (run) => [
      ...[run.run_id, timeText(run.started), durationText(run.duration_ms), run.trigger, run.state],
      ...[run.created, run.updated, run.unchanged, run.deleted, run.failed_count],
    ],
  });

const show = async (runId: number, options: JsonOption): Promise<void> => {
  printAnswer(await adminClient().ask(runSchema, 'GET', `${path}/${runId}`), options, print);
};

/** `tidemark refresh [run | list | show]`. */
export const register = (program: Command): void => {
  const command = program
    .command('refresh')
    .description('update the subscriptions of collectors from the reports; list and show print earlier runs');
  addJsonOption(
    command
      .command('run', { isDefault: true })
      .description('run it now, after the current run if there is one, and show the record'),
  ).action(refresh);
  addPageOptions(command.command('list').description('list the last runs')).action(list);
  addJsonOption(
    command.command('show').description('show a run').argument('<run_id>', 'run', idArgument),
  ).action(show);
};
