import type { QuestdbTables } from '../../../src/stores/questdb/tables.ts';

const unused = (): never => {
  throw new Error('not used');
};

/** A QuestDB without tables, of which nothing is asked but their names. */
export const noTables: QuestdbTables = {
  createTable: unused,
  createMetricView: unused,
  setTtl: unused,
  drop: unused,
  ttls: async () => new Map(),
  names: async () => [],
};
