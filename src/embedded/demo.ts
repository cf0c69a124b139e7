import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { demoNames } from '../directory/system-owners.ts';

/** The credentials of one custom report and of one application, for the demo's commands. */
export type Demo = {
  report: { name: string; bizId: number; dataId: number; token: string; table: string };
  application: { name: string; bizId: number; appId: number; token: string };
};

const { bizId: demoBizId, report: reportName, application: applicationName } = demoNames;
const createReport = 'monitor_web.custom_report.resources.CreateCustomTimeSeries';

const reportSchema = z.object({ mon_data_id: z.number().int(), table_id: z.string() });
const sourceSchema = z.object({ mon_data_id: z.number().int(), token: z.string() });
const applicationSchema = z.object({ app_id: z.number().int(), token: z.string() });
const revealedSchema = z.object({ token: z.string() });
const reportsSchema = z.object({ items: z.array(reportSchema) });
const applicationsSchema = z.object({ items: z.array(applicationSchema) });
const createdReportSchema = z.object({
  data_source: sourceSchema,
  result_table: z.object({ table_id: z.string() }),
});

type Ask = <T>(schema: z.ZodType<T>, method: 'GET' | 'POST', path: string, body?: object) => Promise<T>;

/** The admin API with the token that metadata left in the data folder. */
const connect = (apiUrl: string, token: string): Ask => {
  return async (schema, method, path, body) => {
    const response = await fetch(`${apiUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`status ${response.status} for ${method} ${path}: ${text}`);
    return schema.parse(JSON.parse(text));
  };
};

const tokenIn = async (dataFolder: string): Promise<string> =>
  (await readFile(join(dataFolder, 'admin.token'), 'utf8')).trim();

/** Views mask tokens; this call shows one, and the audit log records that. */
const reveal = async (ask: Ask, path: string): Promise<string> =>
  (await ask(revealedSchema, 'POST', `${path}/reveal-token`, {})).token;

const ensureReport = async (ask: Ask): Promise<Demo['report']> => {
  const own = { name: reportName, bizId: demoBizId };
  const query = `mon_biz_id=${demoBizId}&name=${reportName}&state=active`;
  const [found] = (await ask(reportsSchema, 'GET', `/api/v1/custom-reports?${query}`)).items;
  if (found !== undefined) {
    const token = await reveal(ask, `/api/v1/data-sources/${found.mon_data_id}`);
    return { ...own, dataId: found.mon_data_id, token, table: found.table_id };
  }
  // A repeat of the same call finishes an interrupted creation.
  const request = { mon_biz_id: demoBizId, name: reportName };
  const created = await ask(createdReportSchema, 'POST', `/operations/${createReport}`, request);
  const { data_source: source, result_table: table } = created;
  return { ...own, dataId: source.mon_data_id, token: source.token, table: table.table_id };
};

const ensureApplication = async (ask: Ask): Promise<Demo['application']> => {
  const own = { name: applicationName, bizId: demoBizId };
  const query = `mon_biz_id=${demoBizId}&app_name=${applicationName}&is_delete=false`;
  const [found] = (await ask(applicationsSchema, 'GET', `/api/v1/applications?${query}`)).items;
  if (found !== undefined) {
    const token = await reveal(ask, `/api/v1/applications/${found.app_id}`);
    return { ...own, appId: found.app_id, token };
  }
  const request = { mon_biz_id: demoBizId, app_name: applicationName };
  const schema = z.object({ application: applicationSchema });
  const { application } = await ask(schema, 'POST', '/api/v1/applications', request);
  return { ...own, appId: application.app_id, token: application.token };
};

/** A link into the console that logs in once, within a minute. */
export const makeConsoleLink = async (apiUrl: string, dataFolder: string): Promise<string> => {
  const { path } = await connect(apiUrl, await tokenIn(dataFolder))(
    z.object({ path: z.string() }),
    'POST',
    '/api/v1/console-links',
  );
  return `${apiUrl}${path}`;
};

/** Finds the demo's records, or creates missing and deleted ones. Throws the admin API's error when it refuses. */
export const ensureDemo = async (apiUrl: string, dataFolder: string): Promise<Demo> => {
  const ask = connect(apiUrl, await tokenIn(dataFolder));
  return { report: await ensureReport(ask), application: await ensureApplication(ask) };
};
