import { z } from 'zod';

// The records that commands make for themselves, as clients of the admin API: those of the demo and of the doctor.

/** Calls the admin API, and checks its answer. */
export type Ask = <T>(
  schema: z.ZodType<T>,
  method: 'GET' | 'POST',
  path: string,
  body?: object,
) => Promise<T>;

const createOperation = '/operations/monitor_web.custom_report.resources.CreateCustomTimeSeries';

const reportsSchema = z.object({ items: z.array(z.object({ mon_data_id: z.int(), table_id: z.string() })) });
const createdSchema = z.object({
  data_source: z.object({ mon_data_id: z.int(), token: z.string() }),
  result_table: z.object({ table_id: z.string() }),
});
const applicationsSchema = z.object({ items: z.array(z.object({ app_id: z.int() })) });
const applicationSchema = z.object({ application: z.object({ app_id: z.int(), token: z.string() }) });
const tokenSchema = z.object({ token: z.string() });

/** Views mask tokens; this call shows one, and the audit log records that. */
const reveal = async (ask: Ask, path: string): Promise<string> =>
  (await ask(tokenSchema, 'POST', `/api/v1/${path}/reveal-token`, {})).token;

/** The active report of this business and name, made where there is none. */
export const ensureReport = async (
  ask: Ask,
  request: { readonly mon_biz_id: number; readonly name: string; readonly description?: string },
): Promise<{ dataId: number; token: string; table: string }> => {
  const query = `mon_biz_id=${request.mon_biz_id}&name=${request.name}&state=active`;
  const [found] = (await ask(reportsSchema, 'GET', `/api/v1/custom-reports?${query}`)).items;
  if (found !== undefined) {
    const token = await reveal(ask, `data-sources/${found.mon_data_id}`);
    return { dataId: found.mon_data_id, token, table: found.table_id };
  }
  // A repeat of the same call finishes an interrupted creation.
  const { data_source: source, result_table: table } = await ask(
    createdSchema,
    'POST',
    createOperation,
    request,
  );
  return { dataId: source.mon_data_id, token: source.token, table: table.table_id };
};

/** The application of this business and name, made where there is none. */
export const ensureApplication = async (
  ask: Ask,
  request: { readonly mon_biz_id: number; readonly app_name: string },
): Promise<{ appId: number; token: string }> => {
  const query = `mon_biz_id=${request.mon_biz_id}&app_name=${request.app_name}&is_delete=false`;
  const [found] = (await ask(applicationsSchema, 'GET', `/api/v1/applications?${query}`)).items;
  if (found !== undefined)
    return { appId: found.app_id, token: await reveal(ask, `applications/${found.app_id}`) };
  const { application } = await ask(applicationSchema, 'POST', '/api/v1/applications', request);
  return { appId: application.app_id, token: application.token };
};
