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

const snippetsSchema = z.object({
  items: z.array(z.object({ name: z.string(), title: z.string(), needs: z.string(), text: z.string() })),
});

type SnippetOptions = JsonOption & SubjectOptions & { for?: string; token?: true };

const snippet = async (id: number, options: SnippetOptions): Promise<void> => {
  const subject = subjectOf(id, options);
  const query = queryText(subject.kind === 'data_id' ? { data_id: id } : { app_id: id });
  const client = adminClient();
  const answered = options.token
    ? await client.ask(snippetsSchema, 'POST', `${subjectPath(subject)}/reveal-snippets`, { body: {} })
    : await client.ask(snippetsSchema, 'GET', `/api/v1/snippets${query}`);
  printAnswer(answered, options, ({ items }) => {
    const { for: name } = options;
    if (name === undefined) {
      for (const { title, needs, text } of items)
        printCode(`## ${title}${needs === '' ? '' : ` (needs ${needs})`}\n\n${text}`);
      return;
    }
    const found = items.find((each) => each.name === name);
    if (found === undefined)
      throw new Fault(
        'permanent',
        'not_found',
        `no snippet ${name}: one of ${items.map((each) => each.name).join(', ')}`,
      );
    printCode(found.text.trimEnd());
  });
};

/** `tidemark snippet`. */
export const registerSnippet = (program: Command): void => {
  const command = program
    .command('snippet')
    .description('print what a producer runs to send its first item, with the address and the id')
    .option('--for <name>', 'only this one: curl, python, javascript, go, …')
    .option('--token', 'with the token instead of <token>; the audit log records it');
  addJsonOption(addSubject(command)).action(snippet);
};
