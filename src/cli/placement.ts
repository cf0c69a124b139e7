import type { Command } from 'commander';
import { z } from 'zod';
import { adminClient, pageOf } from './client.ts';
import {
  addPageOptions,
  addSystemOption,
  type PageOptions,
  queryText,
  type SystemOption,
} from './options.ts';
import { printAnswer, printMore, printTable } from './output.ts';

const placementSchema = z.object({ mon_data_id: z.number(), table_id: z.string(), questdb: z.string() });

const list = async (options: PageOptions & SystemOption & { questdb?: string }): Promise<void> => {
  const { questdb, limit, cursor, system } = options;
  const path = `/api/v1/placements${queryText({ questdb, limit, cursor, system })}`;
  const answer = await adminClient().ask(pageOf(placementSchema), 'GET', path);
  printAnswer(answer, options, ({ items, next_cursor }) => {
    printTable(
      ['DATA ID', 'QUESTDB', 'TABLE'],
      items.map((item) => [String(item.mon_data_id), item.questdb, item.table_id]),
    );
    printMore(next_cursor);
  });
};

/** `tidemark placement list`. */
export const registerPlacement = (program: Command): void => {
  const placement = program.command('placement').description('QuestDB instances of the tables');
  addPageOptions(
    addSystemOption(
      placement
        .command('list')
        .description('list tables with their instances')
        .option('--questdb <name>', 'only tables on this instance'),
    ),
  ).action(list);
};
