import type { Command } from 'commander';
import { revealedToken, rotatedToken } from '../metadata/api/contract.ts';
import { adminClient } from './client.ts';
import { addYesOption, confirm, type YesOption } from './confirm.ts';
import {
  addJsonOption,
  addSubject,
  durationArgument,
  type JsonOption,
  type SubjectOptions,
  subjectOf,
  subjectPath,
  subjectText,
} from './options.ts';
import { printAnswer, printFields, timeText } from './output.ts';

/** A token as a record has it; where it is masked, with the command that shows it. */
export const shownToken = (token: string, id: number): string =>
  token.includes('*') ? `${token} (full: tidemark token show ${id})` : token;

type RotateOptions = JsonOption & SubjectOptions & YesOption & { overlap?: number };

const rotate = async (id: number, options: RotateOptions): Promise<void> => {
  const subject = subjectOf(id, options);
  const path = `${subjectPath(subject)}/rotate-token`;
  if (options.overlap === 0) {
    await confirm(
      `the present token of ${subjectText(subject)} is refused at once, and so are earlier ones`,
      options,
    );
  }
  const body = { overlap_seconds: options.overlap };
  printAnswer(await adminClient().ask(rotatedToken, 'POST', path, { body }), options, (answer) =>
    printFields([
      ['new token', answer.token],
      ['previous token', `accepted until ${timeText(answer.previous_expires_at)}`],
    ]),
  );
};

const show = async (id: number, options: JsonOption & SubjectOptions): Promise<void> => {
  const path = `${subjectPath(subjectOf(id, options))}/reveal-token`;
  printAnswer(await adminClient().ask(revealedToken, 'POST', path, { body: {} }), options, (answer) =>
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
export const register = (program: Command): void => {
  const token = program
    .command('token')
    .description('access tokens of data ids, write tokens of applications');
  const rotating = addSubject(token.command('rotate'))
    .description('issue a new token; the previous token stays valid for the overlap')
    .option(
      '--overlap <duration>',
      'validity of the previous token: 30s, 15m, 1h, 7d, at most 30d; 0 = none, cannot be undone; default 1h',
      durationArgument,
    );
  addJsonOption(addYesOption(rotating)).action(rotate);
  addJsonOption(
    addSubject(token.command('show')).description('show the full token; the audit log records it'),
  ).action(show);
};
