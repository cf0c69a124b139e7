import type { Command } from 'commander';
import { z } from 'zod';
import { type AdminClient, type Answered, adminClient } from './client.ts';
import { type Defaults, readDefaults } from './defaults.ts';
import { groupPath, reportOfDataId } from './lookups.ts';
import {
  addJsonOption,
  addSubject,
  type JsonOption,
  type Subject,
  type SubjectOptions,
  subjectOf,
  subjectPath,
} from './options.ts';
import { integerArgument, printAnswer, printFields } from './output.ts';

const limited = z.object({ max_rate: z.number() });
const applicationAnswer = z.object({ application: limited }).transform(({ application }) => application);
const reportAnswer = z
  .object({ time_series_group: limited })
  .transform((records) => records.time_series_group);

type Limited = z.output<typeof limited>;

const meaningOf = (maxRate: number): string => {
  if (maxRate === 0) return 'unlimited';
  return maxRate < 0 ? 'all requests are refused' : 'requests per second';
};

/** -1 stands for a number of the running deployment. */
const rateText = (maxRate: number, { max_rate: { value, origin } }: Defaults): string => {
  if (maxRate !== -1) return `${maxRate} (${meaningOf(maxRate)})`;
  const from = origin === 'default' ? 'the default of TIDEMARK_MAX_RATE_DEFAULT' : origin;
  return `-1 (the default of the deployment, ${value}: ${meaningOf(value)}; from ${from})`;
};

const print = async (client: AdminClient, answer: Answered<Limited>, options: JsonOption): Promise<void> => {
  const defaults = options.json ? undefined : await readDefaults(client);
  printAnswer(answer, options, ({ max_rate }) => {
    if (defaults !== undefined) printFields([['max rate', rateText(max_rate, defaults)]]);
  });
};

const show = async (id: number, options: JsonOption & SubjectOptions): Promise<void> => {
  const client = adminClient();
  const subject = subjectOf(id, options);
  const path = subject.kind === 'data_id' ? await groupPath(client, id) : subjectPath(subject);
  await print(client, await client.ask(limited, 'GET', path), options);
};

const change = async (client: AdminClient, subject: Subject, maxRate: number): Promise<Answered<Limited>> => {
  const body = { max_rate: maxRate };
  if (subject.kind === 'application') {
    return client.ask(applicationAnswer, 'PATCH', subjectPath(subject), { body });
  }
  const report = await reportOfDataId(client, subject.id);
  return report === undefined
    ? client.ask(limited, 'PATCH', await groupPath(client, subject.id), { body })
    : client.ask(reportAnswer, 'PATCH', `/api/v1/custom-reports/${report.custom_report_id}`, { body });
};

const set = async (id: number, options: JsonOption & SubjectOptions & { maxRate: number }): Promise<void> => {
  const client = adminClient();
  await print(client, await change(client, subjectOf(id, options), options.maxRate), options);
};

/** `tidemark limit set | show`. */
export const register = (program: Command): void => {
  const limit = program
    .command('limit')
    .description('requests per second that a data id or an application may send');
  addJsonOption(
    addSubject(limit.command('set'))
      .description('set the limit; receivers apply it within a second')
      .requiredOption(
        '--max-rate <n>',
        'requests per second over all receivers; -1 the default, 0 unlimited, below -1 none',
        integerArgument,
      ),
  ).action(set);
  addJsonOption(addSubject(limit.command('show')).description('show the limit')).action(show);
};
