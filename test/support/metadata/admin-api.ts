import { expect } from 'vitest';
import { z } from 'zod';
import type { TestEngines } from '../stack/engines.ts';
import { fetchEngine } from '../stack/fetch-engine.ts';
import type { Answer, MetadataRole } from './role.ts';

/** The paths of the operations of specification 4.3 and 4.4. */
export const operations = {
  report: '/operations/monitor_web.custom_report.resources.CreateCustomTimeSeries',
  dataSource: '/operations/metadata.resources.resources.CreateDataIDResource',
  group: '/operations/metadata.resources.resources.CreateTimeSeriesGroupResource',
  resultTable: '/operations/metadata.models.result_table.ResultTable.create_result_table',
  refresh: '/operations/metadata.task.custom_report.refresh_custom_report_2_node_man',
} as const;

/** Any JSON object. */
export const record = z.record(z.string(), z.unknown());

const createdSchema = z.strictObject({
  time_series_group_id: z.int(),
  mon_data_id: z.int(),
  custom_report: record,
  data_source: record,
  time_series_group: record,
  result_table: record,
});

/** Creates a report that must be created. */
export const createReport = async (
  metadata: MetadataRole,
  request: object,
): Promise<z.output<typeof createdSchema>> => {
  const answer = await metadata.ask('POST', operations.report, request);
  expect(answer).toMatchObject({ status: 200 });
  return createdSchema.parse(answer.body);
};

/** Fails unless the answer is this problem, whole. */
export const expectProblem = (answer: Answer, status: number, code: string): void => {
  expect(answer).toMatchObject({ status, body: { status, code, type: `urn:tidemark:problem:${code}` } });
  expect(answer.headers.get('content-type')).toBe('application/problem+json');
  expect(answer.body).toMatchObject({ title: expect.any(String), detail: expect.any(String) });
};

/** The tables that QuestDB has. */
export const tableNames = async (engines: TestEngines): Promise<string[]> => {
  const response = await fetchEngine(`${engines.questdb.url}/exec?query=SELECT+table_name+FROM+tables()`);
  return z
    .object({ dataset: z.array(z.array(z.string())) })
    .parse(await response.json())
    .dataset.flat();
};
