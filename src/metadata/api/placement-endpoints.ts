import type { ResultTable } from '../../directory/records.ts';
import { placementSchema } from '../../directory/records.ts';
import { systemOwners } from '../../directory/system-owners.ts';
import { listRecords, recordQuerySchema } from '../records/listing.ts';
import { dataIdOfTableId } from '../records/values.ts';
import { knownInstanceOf } from '../tables/placement.ts';
import { pageOf } from './contract.ts';
import { type Endpoint, endpoint, none } from './endpoint.ts';

const idOf = ({ table_id }: ResultTable): number => dataIdOfTableId(table_id) ?? 0;

/** /api/v1/placements: the QuestDB instance of each table, including the tables from the time of a single instance. */
export const placementEndpoints = (): Endpoint[] => [
  endpoint({
    method: 'GET',
    path: '/api/v1/placements',
    tag: 'Placements',
    summary: 'Lists the QuestDB instance of each table, by ascending data id',
    role: 'viewer',
    params: none,
    query: recordQuerySchema({ mon_data_id: 'integer', table_id: 'text', questdb: 'text' }),
    body: none,
    answer: pageOf(placementSchema.strict().meta({ id: 'Placement' })),
    run: async ({ query, records }) => ({
      body: listRecords(records.tables, query, {
        systemIds: systemOwners(records).dataIds,
        derived: { mon_data_id: (_, id) => id, questdb: (_, id) => knownInstanceOf(records, id) },
        show: (table) => ({
          mon_data_id: idOf(table),
          table_id: table.table_id,
          questdb: knownInstanceOf(records, idOf(table)),
        }),
      }),
    }),
  }),
];
