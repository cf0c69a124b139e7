import type { z } from 'zod';
import { type AdminClient, adminClient, pageOf } from './client.ts';
import { type PageOptions, queryText } from './options.ts';
import { type Cell, printAnswer, printMore, printTable } from './output.ts';

/** A list of the admin API, and how it is shown to people. */
type List<T> = {
  readonly path: string;
  /** Parameters beside those of the page. */
  readonly query?: Parameters<typeof queryText>[0];
  readonly item: z.ZodType<T>;
  readonly head: readonly string[];
  readonly row: (item: T) => readonly Cell[];
  /** Called before an answer without items is printed. */
  readonly ifEmpty?: (client: AdminClient) => Promise<void>;
};

/** Asks for a page of a list, and prints it, with how to get the next one. */
export const printList = async <T>(
  options: PageOptions,
  { path, query, item, head, row, ifEmpty }: List<T>,
): Promise<void> => {
  const { limit, cursor } = options;
  const client = adminClient();
  const answer = await client.ask(pageOf(item), 'GET', `${path}${queryText({ ...query, limit, cursor })}`);
  if (answer.value.items.length === 0) await ifEmpty?.(client);
  printAnswer(answer, options, ({ items, next_cursor }) => {
    printTable(head, items.map(row));
    printMore(next_cursor);
  });
};
