import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { askAdmin } from './browser.ts';
import { consoleStack } from './console-stack.ts';

const application = z.object({ application: z.object({ app_id: z.number(), token: z.string() }) });
const report = z.object({ data_source: z.object({ mon_data_id: z.number(), token: z.string() }) });

/** A new application; `token` is its write token. */
export const newApplication = async (name: string): Promise<{ id: number; token: string }> => {
  const { body } = await askAdmin('POST', '/api/v1/applications', { mon_biz_id: 2, app_name: name });
  const { app_id, token } = application.parse(JSON.parse(body)).application;
  return { id: app_id, token };
};

/** A new custom report; `id` is its data id. */
export const newReport = async (name: string): Promise<{ id: number; token: string }> => {
  const path = '/operations/monitor_web.custom_report.resources.CreateCustomTimeSeries';
  const { body } = await askAdmin('POST', path, { mon_biz_id: 2, name });
  const { mon_data_id, token } = report.parse(JSON.parse(body)).data_source;
  return { id: mon_data_id, token };
};

/** A span that lasts `ms`; below 0 it ends before it starts. */
export const span = (name: string, ms = 5) => {
  const start = BigInt(Date.now()) * 1_000_000n;
  return {
    ...{ traceId: randomBytes(16).toString('hex'), spanId: randomBytes(8).toString('hex'), name, kind: 2 },
    startTimeUnixNano: String(start),
    endTimeUnixNano: String(start + BigInt(ms) * 1_000_000n),
  };
};

const post = async (url: string, headers: Record<string, string>, body: object): Promise<number> =>
  (await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })).status;

/** Exports spans as an SDK does. Answers the status. */
export const exportSpans = (token: string, spans: readonly object[]): Promise<number> =>
  post(
    `${consoleStack().otlp}/v1/traces`,
    { 'Content-Type': 'application/json', 'X-MON-TOKEN': token, 'User-Agent': 'a-test-exporter/1.0' },
    { resourceSpans: [{ resource: {}, scopeSpans: [{ scope: {}, spans }] }] },
  );

/** Pushes points. Answers the status. */
export const pushPoints = (
  { id, token }: { id: number; token: string },
  data: readonly object[],
): Promise<number> => post(`${consoleStack().push}/v2/push/`, {}, { data_id: id, access_token: token, data });
