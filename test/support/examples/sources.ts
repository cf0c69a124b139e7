import { randomBytes } from 'node:crypto';
import { connectBus } from '../../../src/bus/connection.ts';
import { openKvBucket } from '../../../src/bus/kv.ts';
import { buckets, recordKeys } from '../../../src/directory/keys.ts';
import { createPushClient } from '../push/client.ts';
import { bodyOf } from '../push/stack.ts';
import type { Stack } from '../stack/stack.ts';
import { waitFor } from '../wait.ts';
import type { Receiver, SourceForm } from './examples.ts';

/** What a case sends to: a data id or an application, its credential, and the table of a data id. */
export type PreparedSource = {
  readonly id: number;
  readonly token: string;
  /** The token that was good before a rotation; the same where there was none. */
  readonly tokenBefore: string;
  readonly table: string;
};

const call = async (stack: Stack, method: string, path: string, body: unknown): Promise<unknown> => {
  const answer = await stack.api(method, path, body);
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
  return answer.body;
};

const partsOf = (form: SourceForm) => (typeof form === 'string' ? { of: form } : form);

let names = 0;
const newName = (): string => `example ${++names} ${randomBytes(3).toString('hex')}`;

/** Writes what no API call can: a data source of a type that is not offered yet. */
const makeEvent = async (stack: Stack, dataId: number): Promise<void> => {
  const bus = await connectBus(stack.engines.nats.url, 'test');
  try {
    const records = await openKvBucket(bus, buckets.records);
    const key = recordKeys.dataSource(dataId);
    await records.put(key, { ...Object((await records.get(key))?.value), type_label: 'event' });
  } finally {
    await bus.close();
  }
};

const prepareReport = async (stack: Stack, form: SourceForm): Promise<PreparedSource> => {
  const { of, with: fields = {}, policy } = partsOf(form);
  const report = await stack.createReport(newName(), { is_split_measurement: of === 'split', ...fields });
  const { mon_data_id: id, token: tokenBefore } = report.data_source;
  const path = `/api/v1/custom-reports/${report.custom_report.custom_report_id}`;
  let token = tokenBefore;
  if (policy !== undefined) await call(stack, 'PATCH', `/api/v1/data-sources/${id}/policy`, policy);
  if (of === 'disabled') await call(stack, 'POST', `${path}/disable`, {});
  if (of === 'deleted') await call(stack, 'DELETE', path, {});
  if (of === 'event') await makeEvent(stack, id);
  if (of === 'rotated') {
    const answer = Object(await call(stack, 'POST', `/api/v1/data-sources/${id}/rotate-token`, {}));
    token = String(answer.token);
  }
  return { id, token, tokenBefore, table: report.result_table.table_id };
};

const prepareApplication = async (stack: Stack, form: SourceForm, table: string): Promise<PreparedSource> => {
  const { of, with: fields = {}, policy } = partsOf(form);
  const { app_id: id, token: tokenBefore } = await stack.createApplication(newName(), fields);
  const path = `/api/v1/applications/${id}`;
  let token = tokenBefore;
  if (policy !== undefined) await call(stack, 'PATCH', `${path}/policy`, policy);
  if (of === 'disabled') await call(stack, 'POST', `${path}/disable`, {});
  if (of === 'deleted') await call(stack, 'DELETE', path, {});
  if (of === 'rotated') token = String(Object(await call(stack, 'POST', `${path}/rotate-token`, {})).token);
  return { id, token, tokenBefore, table };
};

/** Creates a data id or an application for a case. The receivers have it once `allKnown` has resolved. */
export const prepareSource = (stack: Stack, receiver: Receiver, form: SourceForm): Promise<PreparedSource> =>
  receiver === 'push' ? prepareReport(stack, form) : prepareApplication(stack, form, `otel.otel_${receiver}`);

/**
 * Waits until ingress follows everything that was changed before: the directory is one watch, so what was changed last is known
 * last.
 */
export const allKnown = async (stack: Stack): Promise<void> => {
  const report = await stack.createReport(newName());
  const path = `/api/v1/custom-reports/${report.custom_report.custom_report_id}/disable`;
  await call(stack, 'POST', path, {});
  const client = createPushClient(stack.ingress[0]?.ports['push'] ?? 0);
  try {
    await waitFor('ingress to know all sources', 60_000, async () => {
      return (await client.send({ body: bodyOf(report, []) })).status === 403;
    });
  } finally {
    client.close();
  }
};
