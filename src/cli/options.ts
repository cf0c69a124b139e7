import { type Command, InvalidArgumentError, Option } from 'commander';
import { dataIdRange } from '../directory/keys.ts';
import { isCalendarDate } from '../model/event-day.ts';
import { nowSeconds } from '../model/time.ts';
import { helpText, integerArgument } from './output.ts';

/** Option of every command: print the JSON of the admin API instead of text. */
export type JsonOption = { json?: true };

/** Gives a command `--json`. */
export const addJsonOption = (command: Command): Command =>
  command.option('--json', 'print the answer of the admin API as JSON');

/** The options that page through a list. */
export type PageOptions = JsonOption & { limit?: number; cursor?: string };

export type ListOptions = PageOptions & SystemOption & { biz?: number; name?: string; search?: string };

/** What Tidemark made for itself is left out unless it is asked for. */
export type SystemOption = { system?: true };

/** Gives a command `--system`. */
export const addSystemOption = (command: Command): Command =>
  command.option('--system', 'include the records that tidemark doctor created for its trials');

/** Gives a command the options of anything that is listed. */
export const addPageOptions = (command: Command): Command =>
  addJsonOption(
    command
      .option('--limit <n>', 'at most this many (1 to 1000), default 100', integerArgument)
      .option('--cursor <cursor>', 'next_cursor of the previous page'),
  );

/** Gives a command the options of a list of records. */
export const addListOptions = (command: Command): Command =>
  addPageOptions(
    addSystemOption(
      command
        .option('--biz <id>', 'only this business', integerArgument)
        .option('--name <name>', 'only this name')
        .option('--search <words>', 'each a part of the name, the beginning of the id, or biz:<id>'),
    ),
  );

/** `?` and those of these parameters that have a value, or the empty text. */
export const queryText = (values: Readonly<Record<string, string | number | true | undefined>>): string => {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined) query.set(name, String(value));
  }
  return query.size === 0 ? '' : `?${query}`;
};

/** The parameters of a list of records, beside those of its pages. */
export const listQuery = ({ biz, name, search, system }: ListOptions) => ({
  mon_biz_id: biz,
  ...{ name, search, system },
});

const secondsOf = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;

/** `0` and `30s`, `15m`, `1h`, `7d` as seconds; undefined for another text. */
const durationOf = (text: string): number | undefined => {
  if (text === '0') return 0;
  const [, digits, unit] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  if (unit !== 's' && unit !== 'm' && unit !== 'h' && unit !== 'd') return undefined;
  return Number(digits) * secondsOf[unit];
};

/** A duration as seconds: `30s`, `15m`, `1h`, `7d`, or `0`. */
export const durationArgument = (text: string): number => {
  const seconds = durationOf(text);
  if (seconds === undefined) throw new InvalidArgumentError('It must be a duration: 30s, 15m, 1h, 7d, or 0.');
  return seconds;
};

/** `--timeout`; the help shows its default as it is typed. */
export const timeoutOption = (description: string): Option =>
  new Option('--timeout <duration>', description).argParser(durationArgument).default(30, '30s');

const timeForm =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?) ?(?:Z|([+-]\d{2}):?(\d{2}))?)?$/i;

/** An ISO time in ms since the epoch, of UTC where it names no zone, as every time that the commands print; NaN for another text. */
const timeOf = (text: string): number => {
  const [, date = '', time = '00:00', hours = '+00', minutes = '00'] = timeForm.exec(text) ?? [];
  return isCalendarDate(date) ? Date.parse(`${date}T${time}${hours}:${minutes}`) : Number.NaN;
};

/** A moment as Unix seconds: `2h` or `7d` ago, or an ISO time. */
export const momentArgument = (text: string): number => {
  const age = durationOf(text);
  if (age !== undefined) return Math.max(0, nowSeconds() - age);
  const ms = timeOf(text);
  if (Number.isNaN(ms) || ms < 0)
    throw new InvalidArgumentError('It must be an age (30m, 2h, 7d) or a time (2026-11-20T13:30:00Z).');
  return Math.floor(ms / 1000);
};

/** The period of a query, Unix seconds. */
export type PeriodOptions = { since?: number; until?: number };

/** Gives a command `--since` with this description of its ages, and `--until`. */
export const addPeriodOptions = (command: Command, ages: string): Command =>
  command
    .option('--since <when>', `of the last ${ages}, or since a time (UTC)`, momentArgument)
    .option('--until <when>', 'until 15m, 1h, 7d ago, or a time (UTC); default now', momentArgument);

export const idArgument = (text: string): number => {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It must be an id: digits only.');
  return Number(text);
};

/** The owner: a data id, an application, or all. */
export type OwnerOptions = { dataId?: number; appId?: number };

/** Adds the options `--data-id` and `--app-id` to a command, of which it accepts at most one. */
export const addOwnerOptions = (command: Command): Command =>
  command
    .addOption(
      new Option('--data-id <mon_data_id>', 'only this data id').argParser(idArgument).conflicts('appId'),
    )
    .addOption(new Option('--app-id <app_id>', 'only this application').argParser(idArgument));

/** The kind of an id on the command line. */
export type Subject = { readonly kind: 'data_id' | 'application'; readonly id: number };

/** The options that name the kind of an id. */
export type SubjectOptions = { app?: true; dataId?: true };

/**
 * The kind that the options name; without them, an id from the first data id on is a data id, and a lower one an
 * application.
 */
export const subjectOf = (id: number, { app, dataId }: SubjectOptions): Subject => ({
  kind: !app && (dataId || id >= dataIdRange.first) ? 'data_id' : 'application',
  id,
});

/** `data id 1500002`, `application 3`. */
export const subjectText = ({ kind, id }: Subject): string =>
  `${kind === 'data_id' ? 'data id' : 'application'} ${id}`;

/** The path of the owner in the admin API. */
export const subjectPath = ({ kind, id }: Subject): string =>
  `/api/v1/${kind === 'data_id' ? 'data-sources' : 'applications'}/${id}`;

/** Gives a command that is for both data ids and applications its id. */
export const addSubject = (command: Command): Command =>
  command
    .argument('<mon_data_id|app_id>', 'data id or application id', idArgument)
    .addOption(new Option('--app', 'the id is of an application').conflicts('dataId'))
    .addOption(new Option('--data-id', 'the id is a data id'))
    .addHelpText('after', () =>
      helpText([
        `Data ids are ${dataIdRange.first} to ${dataIdRange.last}, applications count from 1: an id from ${dataIdRange.first} is ` +
          'taken as a data id and a lower one as of an application, unless --app or --data-id says otherwise.',
      ]),
    );
