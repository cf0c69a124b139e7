import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import type { z } from 'zod';
import { adminClient } from './client.ts';
import {
  addJsonOption,
  addPeriodOptions,
  type JsonOption,
  type PeriodOptions,
  queryText,
} from './options.ts';
import { printAnswer, sayLines } from './output.ts';

/** What every query may say about its period and its statements. */
export type QueryOptions = JsonOption & PeriodOptions & { wide?: true; sql?: true };

export const addQueryOptions = (command: Command): Command =>
  addJsonOption(
    addPeriodOptions(command, '15m, 1h (default), 7d')
      .option('--wide', 'allow more than 7 days')
      .option('--sql', 'print the statements that ran, on stderr'),
  );

/** A query: by POST with a body, or by GET with parameters. */
type Query = { readonly path: string } & (
  | { readonly body: object }
  | { readonly parameters: Readonly<Record<string, string | number | undefined>> }
);

/** Asks a query about the period of the options; prints its answer, and on stderr the statements that ran. */
export const printQuery = async <T extends { readonly sql: readonly string[] }>(
  options: QueryOptions,
  schema: z.ZodType<T>,
  query: Query,
  print: (answer: T) => void,
): Promise<void> => {
  const { since, until, wide } = options;
  const answer = await ('body' in query
    ? adminClient().ask(schema, 'POST', query.path, { body: { ...query.body, since, until, wide } })
    : adminClient().ask(
        schema,
        'GET',
        `${query.path}${queryText({ ...query.parameters, since, until, wide })}`,
      ));
  printAnswer(answer, options, print);
  if (options.sql === true && options.json !== true) for (const each of answer.value.sql) sayLines(each);
};

/** Says that there are more items than the answer has. */
export const sayMore = (isTruncated: boolean): void => {
  if (isTruncated) sayLines('more follow: raise --limit');
};

/** Nanoseconds since 1970 as `2026-11-20 13:30:35.123Z`. */
export const nanoTimeText = (nanoseconds: string): string =>
  millisecondText(Number(BigInt(nanoseconds) / 1_000_000n));

/** Milliseconds since 1970 in the same form. */
export const millisecondText = (milliseconds: number): string =>
  new Date(milliseconds).toISOString().replace('T', ' ');

export type Attribute<S extends string> = { scope: S; key: string; value: string };

/** `http.route=/cart`, each further one behind the ones before. */
export const attributeArgument =
  <S extends string>(scope: S) =>
  (text: string, before: Attribute<S>[] = []): Attribute<S>[] => {
    const at = text.indexOf('=');
    if (at < 1) throw new InvalidArgumentError('It must look like http.route=/cart.');
    return [...before, { scope, key: text.slice(0, at), value: text.slice(at + 1) }];
  };

export const traceIdArgument = (text: string): string => {
  if (!/^[0-9a-fA-F]{32}$/.test(text))
    throw new InvalidArgumentError('It must be a trace id: 32 hex digits.');
  return text;
};
