import type { AdminClient } from '../cli/client.ts';
import { type Ask, ensureApplication, ensureReport } from '../cli/system-records.ts';
import { demoNames } from '../directory/system-owners.ts';
import { consoleLink } from '../metadata/api/contract.ts';
import { errorText, Fault } from '../model/fault.ts';

/** The credentials of one custom report and of one application, for the demo's commands. */
export type Demo = {
  report: { name: string; dataId: number; token: string };
  application: { name: string; appId: number; token: string };
};

const askOf =
  (client: AdminClient): Ask =>
  async (schema, method, path, body) =>
    (await client.ask(schema, method, path, body === undefined ? {} : { body })).value;

/** A link into the console that logs in once, within a minute. */
const makeConsoleLink = async (client: AdminClient, apiUrl: string): Promise<string> => {
  const { path } = await askOf(client)(consoleLink, 'POST', '/api/v1/console-links', {});
  return `${apiUrl}${path}`;
};

/** Finds the demo's records, or creates missing and deleted ones. */
const ensureDemo = async (client: AdminClient): Promise<Demo> => {
  const ask = askOf(client);
  const { bizId: mon_biz_id, report, application } = demoNames;
  return {
    report: { name: report, ...(await ensureReport(ask, { mon_biz_id, name: report })) },
    application: {
      name: application,
      ...(await ensureApplication(ask, { mon_biz_id, app_name: application })),
    },
  };
};

const tokenFaults: ReadonlySet<string> = new Set(['unauthorized', 'forbidden', 'admin_token_missing']);

/** Why there is none, with the remedy. */
const whyNot = (error: unknown): string =>
  error instanceof Fault && tokenFaults.has(error.code)
    ? 'admin.token of the data folder has no token of the role admin: tidemark admin-token reset writes one'
    : errorText(error);

/** What the admin API gives for the summary, and in `missing` what it does not give, why, and the remedy. */
export type Greeting = {
  readonly demo: Demo | undefined;
  readonly link: string | undefined;
  readonly missing: string | undefined;
};

/** Never throws: the stack runs without either. `connect` may throw. */
export const greet = async (
  connect: () => Promise<AdminClient>,
  apiUrl: string,
  wanted: { readonly demo: boolean; readonly link: boolean },
): Promise<Greeting> => {
  const missing: string[] = [];
  let why = '';
  const tried = async <T>(
    what: string,
    isWanted: boolean,
    make: (client: AdminClient) => Promise<T>,
  ): Promise<T | undefined> => {
    if (!isWanted) return undefined;
    try {
      return await make(await connect());
    } catch (error) {
      missing.push(`no ${what}`);
      why = whyNot(error);
      return undefined;
    }
  };
  const demo = await tried('demo', wanted.demo, ensureDemo);
  const link = await tried('link', wanted.link, (client) => makeConsoleLink(client, apiUrl));
  return { demo, link, missing: missing.length === 0 ? undefined : `${missing.join(', ')}: ${why}` };
};
