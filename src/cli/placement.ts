import type { Command } from 'commander';
import { z } from 'zod';
import { printList } from './list.ts';
import { addPageOptions, addSystemOption, type PageOptions, type SystemOption } from './options.ts';

const placementSchema = z.object({ mon_data_id: z.number(), table_id: z.string(), questdb: z.string() });

const list = (options: PageOptions & SystemOption & { questdb?: string }): Promise<void> =>
  printList(options, {
    path: '/api/v1/placements',
    query: { questdb: options.questdb, system: options.system },
    item: placementSchema,
    head: ['DATA ID', 'QUESTDB', 'TABLE'],
    row: (item) => [item.mon_data_id, item.questdb, item.table_id],
  });

/** `tidemark placement list`. */
export const register = (program: Command): void => {
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
