import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { z } from 'zod';
import { errorText, Fault } from '../model/fault.ts';
import { parseJson } from '../model/json.ts';
import { type AdminClient, adminClient } from './client.ts';
import { printJson, printTable } from './output.ts';

const documentSchema = z.object({
  paths: z.record(z.string(), z.object({ post: z.object({ summary: z.string() }).optional() })),
});

type Operation = { readonly name: string; readonly summary: string };

const prefix = '/operations/';

/** The operations of the specification, as the API's own description has them. */
const operationsOf = async (client: AdminClient): Promise<Operation[]> => {
  const { value } = await client.ask(documentSchema, 'GET', '/openapi.json');
  return Object.entries(value.paths).flatMap(([path, { post }]) =>
    path.startsWith(prefix) && post !== undefined
      ? [{ name: path.slice(prefix.length), summary: post.summary }]
      : [],
  );
};

const lastPart = (name: string): string => name.slice(name.lastIndexOf('.') + 1);

/** By its whole name or the part behind its last dot. Permanent Fault `not_found`. */
const find = (operations: readonly Operation[], name: string): Operation => {
  const found = operations.find((each) => each.name === name || lastPart(each.name) === name);
  if (found !== undefined) return found;
  const names = operations.map((each) => lastPart(each.name)).join(', ');
  throw new Fault('permanent', 'not_found', `unknown operation ${name}; the operations are ${names}`);
};

const textOf = (body: string): string => {
  if (body.trimStart().startsWith('{')) return body;
  try {
    return readFileSync(body === '-' ? 0 : body, 'utf8');
  } catch (error) {
    throw new Fault(
      'permanent',
      'body_unreadable',
      `the body ${body} is neither a JSON object nor a readable file: ${errorText(error)}`,
    );
  }
};

const bodyOf = (body: string): unknown => {
  const value = parseJson(textOf(body));
  if (typeof value === 'object' && value !== null) return value;
  throw new Fault('permanent', 'malformed_json', 'the body is not a JSON object');
};

const timeoutMs = 90_000;

const run = async (name: string | undefined, options: { body?: string; json?: true }): Promise<void> => {
  const client = adminClient();
  const operations = await operationsOf(client);
  if (name === undefined) {
    if (options.json) return printJson({ items: operations });
    printTable(
      ['OPERATION', 'WHAT IT DOES'],
      operations.map((each) => [each.name, each.summary]),
    );
    return;
  }
  const body = options.body === undefined ? {} : bodyOf(options.body);
  const path = `${prefix}${find(operations, name).name}`;
  printJson((await client.ask(z.unknown(), 'POST', path, { body, timeoutMs })).json);
};

/** `tidemark operation`. */
export const register = (program: Command): void => {
  program
    .command('operation')
    .description(
      'call an operation of the specification, and print its answer as JSON; without a name, list them',
    )
    .argument('[name]', 'its name, or the part behind the last dot: CreateDataIDResource')
    .option('--body <json>', 'its request: a JSON object, a file, or - for stdin; default {}')
    .option('--json', 'print the list as JSON, too')
    .action(run);
};
