import { z } from 'zod';
import type { Bus } from '../../../src/bus/connection.ts';
import { dataIdRange } from '../../../src/directory/keys.ts';
import { backupSchema } from '../../../src/metadata/backup/document.ts';
import { importRecords } from '../../../src/metadata/backup/import.ts';
import {
  applicationRequestSchema,
  dataSourceRequestSchema,
  groupRequestSchema,
  reportRequestSchema,
  resultTableRequestSchema,
} from '../../../src/metadata/records/requests.ts';
import { openRecords } from '../../../src/metadata/records/store.ts';
import { type CreationDeps, createCustomTimeSeries } from '../../../src/metadata/reports/creation.ts';
import {
  deleteReport,
  purgeDataSource,
  purgeReport,
  setReportEnabled,
} from '../../../src/metadata/reports/life-cycle.ts';
import {
  createApplication,
  createDataSource,
  createGroup,
  createResultTable,
} from '../../../src/metadata/reports/operations.ts';
import { rotateApplicationToken, rotateDataSourceToken } from '../../../src/metadata/reports/rotation.ts';
import type { Placing } from '../../../src/metadata/tables/placement.ts';
import { defaultInstance } from '../../../src/model/instances.ts';
import type { QuestdbSql } from '../../../src/stores/questdb/sql.ts';
import { createQuestdbTables } from '../../../src/stores/questdb/tables.ts';
import { authored } from '../authored.ts';

/** What a metadata process works on, with its copies read. */
export const openMetadata = async (bus: Bus, sql: QuestdbSql): Promise<CreationDeps> => {
  const records = await openRecords(
    bus,
    async () => dataIdRange.first,
    (fault) => {
      throw fault;
    },
  );
  await records.ready;
  const tables = createQuestdbTables(sql, new URL('../../../schemas', import.meta.url).pathname);
  return { records, tables, placing: onlyInstance, tablePrefix: 'mon' };
};

/** One QuestDB, as most deployments have. */
export const onlyInstance: Placing = { names: [defaultInstance], isAway: () => false };

const of = z.object({ id: z.int() });
const by = { operator: 'caller', revision: undefined };
const overlapSeconds = 60;

/** The calls of the admin API that write more than once, each with its input as JSON. */
export const metadataCalls = {
  createReport: (deps: CreationDeps, input: unknown) =>
    createCustomTimeSeries(deps, authored(reportRequestSchema, input)),
  createDataSource: (deps: CreationDeps, input: unknown) =>
    createDataSource(deps, authored(dataSourceRequestSchema, input)),
  createGroup: (deps: CreationDeps, input: unknown) => createGroup(deps, authored(groupRequestSchema, input)),
  createResultTable: (deps: CreationDeps, input: unknown) =>
    createResultTable(deps, authored(resultTableRequestSchema, input)),
  createApplication: (deps: CreationDeps, input: unknown) =>
    createApplication(deps, authored(applicationRequestSchema, input)),
  deleteReport: ({ records }: CreationDeps, input: unknown) => deleteReport(records, of.parse(input).id, by),
  purgeReport: ({ records }: CreationDeps, input: unknown) => {
    const { id, table_id } = of.extend({ table_id: z.string() }).parse(input);
    return purgeReport(records, id, table_id, by);
  },
  purgeDataSource: ({ records }: CreationDeps, input: unknown) => {
    const { id, table_id } = of.extend({ table_id: z.string() }).parse(input);
    return purgeDataSource(records, id, table_id, by);
  },
  setReportEnabled: ({ records }: CreationDeps, input: unknown) => {
    const { id, is_enable } = of.extend({ is_enable: z.boolean() }).parse(input);
    return setReportEnabled(records, id, is_enable, by);
  },
  rotateDataSourceToken: ({ records }: CreationDeps, input: unknown) =>
    rotateDataSourceToken(records, of.parse(input).id, overlapSeconds, by),
  rotateApplicationToken: ({ records }: CreationDeps, input: unknown) =>
    rotateApplicationToken(records, of.parse(input).id, overlapSeconds, by),
  importRecords: (deps: CreationDeps, input: unknown) => importRecords(deps, backupSchema.parse(input)),
} as const;

export type MetadataCall = keyof typeof metadataCalls;
