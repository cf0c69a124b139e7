import type { Command } from 'commander';
import { integerArgument } from './output.ts';

/** Every command that prints records prints JSON instead of text when asked to. */
export type JsonOption = { json?: true };

/** What a list command takes. */
export type ListOptions = JsonOption & { biz?: number; name?: string; limit?: number; cursor?: string };

/** Gives a command the options of a list. */
export const addListOptions = (command: Command): Command =>
  command
    .option('--biz <id>', 'only this business', integerArgument)
    .option('--name <name>', 'only this name')
    .option('--limit <n>', 'at most so many (1 to 1000)', integerArgument)
    .option('--cursor <cursor>', 'continue a list')
    .option('--json', 'print {items, next_cursor} as JSON');

/** The query of a list command: `?` and what was asked for, or nothing. */
export const listQuery = (options: ListOptions): string => {
  const query = new URLSearchParams();
  if (options.biz !== undefined) query.set('mon_biz_id', String(options.biz));
  if (options.name !== undefined) query.set('name', options.name);
  if (options.limit !== undefined) query.set('limit', String(options.limit));
  if (options.cursor !== undefined) query.set('cursor', options.cursor);
  return query.size === 0 ? '' : `?${query}`;
};
