import type { Command } from 'commander';
import { z } from 'zod';
import { adminClient } from './client.ts';
import {
  addJsonOption,
  addSubject,
  durationArgument,
  type JsonOption,
  type SubjectOptions,
  subjectOf,
  subjectPath,
} from './options.ts';
import { printAnswer, printFields, timeText } from './output.ts';

const rotatedSchema = z.object({ token: z.string(), previous_expires_at: z.number() });
const revealedSchema = z.object({
  token: z.string(),
  previous: z.object({ token: z.string(), expires_at: z.number() }).nullable(),
});

/** A token as a record has it; where it is masked, with the command that shows it. */
export const shownToken = (token: string, id: number): string =>
  token.includes('*') ? `${token} (full: tidemark token show ${id})` : token;

type RotateOptions = JsonOption & SubjectOptions & { overlap?: number };

const rotate = async (id: number, options: RotateOptions): Promise<void> => {
  const path = `${subjectPath(subjectOf(id, options))}/rotate-token`;
  const body = { overlap_seconds: options.overlap };
  printAnswer(await adminClient().ask(rotatedSchema, 'POST', path, { body }), options, (answer) =>
    printFields([
      ['new token', answer.token],
      ['previous token', `accepted until ${timeText(answer.previous_expires_at)}`],
    ]),
  );
};

const show = async (id: number, options: JsonOption & SubjectOptions): Promise<void> => {
  const path = `${subjectPath(subjectOf(id, options))}/reveal-token`;
  printAnswer(await adminClient().ask(revealedSchema, 'POST', path, { body: {} }), options, (answer) =>
    printFields([
      ['token', answer.token],
      ...(answer.previous === null
        ? []
        : ([
            [
              'previous token',
              `${answer.previous.token}, accepted until ${timeText(answer.previous.expires_at)}`,
            ],
          ] as const)),
    ]),
  );
};

/** `tidemark token rotate | show`. */
export const registerToken = (program: Command): void => {
  const token = program
    .command('token')
    .description('access tokens of data ids, write tokens of applications');
  addJsonOption(
    addSubject(token.command('rotate'))
      .description('issue a new token; the previous token stays valid for the overlap')
      .option(
        '--overlap <duration>',
        'validity of the previous token: 30s, 15m, 1h, 7d, at most 30d; 0 = none; default 1h',
        durationArgument,
      ),
  ).action(rotate);
  addJsonOption(
    addSubject(token.command('show')).description('show the full token; the audit log records it'),
  ).action(show);
};
