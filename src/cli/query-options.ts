import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { nowSeconds } from '../model/time.ts';
import { addJsonOption, durationArgument, type JsonOption } from './options.ts';
import { sayLines } from './output.ts';

/** What every answer of a query has. */
export const bounded = z.object({ sql: z.array(z.string()) });

/** What every query may say about its period and its statements. */
export type QueryOptions = JsonOption & { since?: number; wide?: true; sql?: true };

export const addQueryOptions = (command: Command): Command =>
  addJsonOption(
    command
      .option('--since <duration>', 'of the last 15m, 1h, 7d; default 1h', durationArgument)
      .option('--wide', 'allow more than 7 days')
      .option('--sql', 'print the statements that ran, on stderr'),
  );

export const periodOf = ({ since, wide }: QueryOptions) => ({
  ...(since === undefined ? {} : { since: Math.max(0, nowSeconds() - since) }),
  ...(wide === undefined ? {} : { wide }),
});

export const sayStatements = ({ sql }: z.output<typeof bounded>, options: QueryOptions): void => {
  if (options.sql === true && options.json !== true) for (const statement of sql) sayLines(statement);
};

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
