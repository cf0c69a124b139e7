import type { Command } from 'commander';
import { z } from 'zod';
import { type AdminClient, type Answered, adminClient } from './client.ts';
import { reportOfDataId, requireGroup } from './lookups.ts';
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
  if (maxRate === -1) return 'the default of the deployment';
  return maxRate < 0 ? 'all requests are refused' : 'requests per second';
};

const print = ({ max_rate }: Limited): void => {
  printFields([['max rate', `${max_rate} (${meaningOf(max_rate)})`]]);
};

const groupPath = async (client: AdminClient, dataId: number): Promise<string> =>
  `/api/v1/time-series-groups/${(await requireGroup(client, dataId)).time_series_group_id}`;

const show = async (id: number, options: JsonOption & SubjectOptions): Promise<void> => {
  const client = adminClient();
  const subject = subjectOf(id, options);
  const path = subject.kind === 'data_id' ? await groupPath(client, id) : subjectPath(subject);
  printAnswer(await client.ask(limited, 'GET', path), options, print);
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
  printAnswer(await change(adminClient(), subjectOf(id, options), options.maxRate), options, print);
};

/** `tidemark limit set | show`. */
export const registerLimit = (program: Command): void => {
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
