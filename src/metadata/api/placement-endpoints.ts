import type { ResultTable } from '../../directory/records.ts';
import { placementSchema } from '../../directory/records.ts';
import { systemOwners } from '../../directory/system-owners.ts';
import { fieldFault } from '../problem.ts';
import { askedId, listRecords, recordQuerySchema } from '../records/listing.ts';
import type { Records } from '../records/store.ts';
import { dataIdOfTableId } from '../records/values.ts';
import { knownInstanceOf } from '../tables/placement.ts';
import { pageOf } from './contract.ts';
import type { ApiDeps } from './deps.ts';
import { type Endpoint, endpoint } from './endpoint.ts';

const idOf = ({ table_id }: ResultTable): number => dataIdOfTableId(table_id) ?? 0;

/** A list without items would look like an instance without tables. An instance that the settings lost still has its tables. */
const refuseUnknownInstance = (wanted: unknown, names: readonly string[], records: Records): void => {
  if (wanted === undefined) return;
  const all = new Set([...names, ...records.placements.list().map(({ value }) => value.questdb)]);
  if (![...all].includes(String(wanted)))
    throw fieldFault('invalid_value', 'questdb', `must be one of ${[...all].join(', ')}`);
};

/** /api/v1/placements: the QuestDB instance of each table, including the tables from the time of a single instance. */
export const placementEndpoints = ({ placing }: ApiDeps): Endpoint[] => [
  endpoint({
    method: 'GET',
    path: '/api/v1/placements',
    tag: 'Placements',
    summary: 'Lists the QuestDB instance of each table, by ascending data id',
    role: 'viewer',
    query: recordQuerySchema({ mon_data_id: 'integer', table_id: 'text', questdb: 'text' }),
    answer: pageOf(placementSchema.strict().meta({ id: 'Placement' })),
    run: async ({ query, records }) => {
      refuseUnknownInstance(Reflect.get(query, 'questdb'), placing.names, records);
      return {
        body: listRecords(records.tables, query, {
          systemIds: () => systemOwners(records).dataIds,
          namedId: askedId(query, 'mon_data_id'),
          derived: { mon_data_id: (_, id) => id, questdb: (_, id) => knownInstanceOf(records, id) },
          show: (table) => ({
            mon_data_id: idOf(table),
            table_id: table.table_id,
            questdb: knownInstanceOf(records, idOf(table)),
          }),
        }),
      };
    },
  }),
];
