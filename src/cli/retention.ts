import { type Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { retention } from '../metadata/answers/retention.ts';
import { counted } from '../model/counted.ts';
import { bytesText, daysText } from './amounts.ts';
import { adminClient } from './client.ts';
import { addYesOption, confirm, type YesOption } from './confirm.ts';
import {
  addJsonOption,
  addSubject,
  type JsonOption,
  type Subject,
  type SubjectOptions,
  subjectOf,
  subjectPath,
  subjectText,
} from './options.ts';
import { nothing, printAnswer, printFields } from './output.ts';

const retentionSchema = retention.extend({
  // Missing in answers of earlier versions; a newer metadata may have further signals.
  signals: z.array(retention.shape.signals.element.extend({ pipeline: z.string() })).default([]),
});

type Retention = z.output<typeof retentionSchema>;
type Days = number | 'off' | 'default';

const origins: Readonly<Record<string, string>> = {
  policy: 'set here',
  creation: 'the default when it was created',
  pipelines: 'the pipeline files',
  none: 'nothing sets one',
};

/** A newer metadata may have further origins. */
const originText = (origin: string): string => origins[origin] ?? origin;

const storedText = ({ days, rows, bytes }: { days: number; rows: number; bytes: number }): string =>
  `${counted(rows, 'row')} of ${counted(days, 'day')}, ${bytesText(bytes)}`;

/** One retention, or that of each signal where they differ. */
const keptFields = ({ retention_days: days, origin, signals }: Retention): [string, string][] =>
  signals.every((signal) => signal.retention_days === days && signal.origin === origin)
    ? [
        ['kept', daysText(days)],
        ['by', originText(origin)],
      ]
    : signals.map((signal) => [
        signal.pipeline,
        `kept ${daysText(signal.retention_days)}: ${originText(signal.origin)}`,
      ]);

const print = (shown: Retention): void =>
  printFields([
    ...keptFields(shown),
    ['stored', storedText(shown)],
    ['days', `${shown.oldest_day ?? nothing} to ${shown.newest_day ?? nothing}`],
  ]);

const read = (subject: Subject, days?: Days) =>
  adminClient().ask(
    retentionSchema,
    'GET',
    `${subjectPath(subject)}/retention${days === undefined ? '' : `?days=${days}`}`,
  );

/**
 * Returns where a retention of `days` removes nothing that is stored now, or the operator has confirmed what it removes. Otherwise a
 * permanent Fault `not_confirmed` with rows, days and bytes.
 */
export const confirmRetention = async (subject: Subject, days: Days, options: YesOption): Promise<void> => {
  if (options.yes === true) return;
  const { change } = (await read(subject, days)).value;
  if (change === null || change.rows === 0) return;
  await confirm(
    `${storedText(change)}, all before ${change.kept_from ?? nothing}, of ${subjectText(subject)} are removed`,
    options,
  );
};

const daysArgument = (text: string): Days => {
  if (text === 'off' || text === 'default') return text;
  if (/^[1-9]\d{0,4}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a number of days, off or default.');
};

const show = async (id: number, options: JsonOption & SubjectOptions): Promise<void> =>
  printAnswer(await read(subjectOf(id, options)), options, print);

const set = async (
  id: number,
  days: Days,
  options: JsonOption & SubjectOptions & YesOption,
): Promise<void> => {
  const subject = subjectOf(id, options);
  await confirmRetention(subject, days, options);
  const body = { retention_days: days === 'default' ? null : days };
  await adminClient().ask(z.unknown(), 'PATCH', `${subjectPath(subject)}/policy`, { body });
  printAnswer(await read(subject), options, print);
};

/** `tidemark retention show | set`. */
export const register = (program: Command): void => {
  const retention = program
    .command('retention')
    .description('how long the rows of a data id or an application are kept');
  addJsonOption(
    addSubject(retention.command('show')).description('show the retention, its origin, and what is stored'),
  ).action(show);
  addJsonOption(
    addYesOption(
      addSubject(retention.command('set'))
        .argument('<days>', 'number of days, off = for ever, or default', daysArgument)
        .description('change the retention; older rows are removed for ever, in the background'),
    ),
  ).action(set);
};
