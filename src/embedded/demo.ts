import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { type Ask, ensureApplication, ensureReport } from '../cli/system-records.ts';
import { demoNames } from '../directory/system-owners.ts';

/** The credentials of one custom report and of one application, for the demo's commands. */
export type Demo = {
  report: { name: string; dataId: number; token: string };
  application: { name: string; appId: number; token: string };
};

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
  const { bizId: mon_biz_id, report, application } = demoNames;
  return {
    report: { name: report, ...(await ensureReport(ask, { mon_biz_id, name: report })) },
    application: {
      name: application,
      ...(await ensureApplication(ask, { mon_biz_id, app_name: application })),
    },
  };
};
