import type { Command } from 'commander';
import { z } from 'zod';
import { Fault } from '../model/fault.ts';
import { adminClient } from './client.ts';
import {
  addJsonOption,
  addSubject,
  type JsonOption,
  queryText,
  type SubjectOptions,
  subjectOf,
  subjectPath,
} from './options.ts';
import { printAnswer, printCode } from './output.ts';

const snippetsSchema = z.looseObject({
  items: z.array(z.looseObject({ name: z.string(), title: z.string(), needs: z.string(), text: z.string() })),
});

type Snippets = z.output<typeof snippetsSchema>;

/** The one of this name. Permanent Fault `not_found` without one. */
const snippetOf = ({ items }: Snippets, name: string): Snippets['items'][number] => {
  const found = items.find((each) => each.name === name);
  if (found !== undefined) return found;
  const names = items.map((each) => each.name).join(', ');
  throw new Fault('permanent', 'not_found', `no snippet ${name}: one of ${names}`);
};

type SnippetOptions = JsonOption & SubjectOptions & { for?: string; token?: true };

const snippet = async (id: number, options: SnippetOptions): Promise<void> => {
  const subject = subjectOf(id, options);
  const query = queryText(subject.kind === 'data_id' ? { data_id: id } : { app_id: id });
  const client = adminClient();
  const answered = options.token
    ? await client.ask(snippetsSchema, 'POST', `${subjectPath(subject)}/reveal-snippets`, { body: {} })
    : await client.ask(snippetsSchema, 'GET', `/api/v1/snippets${query}`);
  if (options.for === undefined) {
    printAnswer(answered, options, ({ items }) => {
      for (const { title, needs, text } of items)
        printCode(`## ${title}${needs === '' ? '' : ` (needs ${needs})`}\n\n${text}`);
    });
    return;
  }
  const value = snippetOf(answered.value, options.for);
  const json = { ...answered.value, items: [value] };
  printAnswer({ value, json }, options, ({ text }) => printCode(text.trimEnd()));
};

/** `tidemark snippet`. */
export const register = (program: Command): void => {
  const command = program
    .command('snippet')
    .description('print what a producer runs to send its first item, with the address and the id')
    .option('--for <name>', 'only this one: curl, python, javascript, go, …')
    .option('--token', 'with the token instead of <token>; the audit log records it');
  addJsonOption(addSubject(command)).action(snippet);
};
