import { expect } from 'vitest';
import type { TokenTraffic } from '../outcomes/token-traffic.ts';

const textField = (answer: unknown, name: string): string => String(Object(answer)[name]);

/** The admin API: who calls, tokens that are issued, changed, shown, exported and brought back, and what is refused. */
export const administer = async ({
  stack,
  secrets,
  newReport,
  newApplication,
}: TokenTraffic): Promise<void> => {
  const postTo = async (path: string, token: string, body: unknown, method = 'POST'): Promise<unknown> => {
    const response = await fetch(`http://127.0.0.1:${stack.metadata.ports['api']}${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    return response.json();
  };

  const admin = secrets.note('the first admin token', stack.adminToken());
  const issued = async (name: string, fields: object): Promise<string> =>
    secrets.note(name, textField(await postTo('/api/v1/admin-tokens', admin, { name, ...fields }), 'token'));
  const editor = await issued('an admin token', { role: 'editor' });
  const node = await issued('a node token', { role: 'node' });
  const wrong = secrets.invent('a wrong admin token');
  for (const token of [editor, node, wrong]) {
    await postTo('/api/v1/custom-reports', token, undefined, 'GET');
    await postTo('/api/v1/custom-reports', token, { name: secrets.invent('a body that is refused') });
    await postTo('/api/v1/applications', token, `{"broken ${secrets.invent('broken JSON')}`);
    await postTo(
      `/api/v1/audit?token=${secrets.invent('a query of the admin API')}`,
      token,
      undefined,
      'GET',
    );
    await postTo(
      `/api/v1/applications/${secrets.invent('a path of the admin API')}`,
      token,
      undefined,
      'GET',
    );
  }
  const report = await newReport('rotated');
  const path = `/api/v1/data-sources/${report.data_source.mon_data_id}`;
  const rotated = await postTo(`${path}/rotate-token`, editor, { overlap_seconds: 3600 });
  secrets.note('a new token of a report', textField(rotated, 'token'));
  expect(textField(await postTo(`${path}/reveal-token`, editor, {}), 'token')).toBe(
    textField(rotated, 'token'),
  );
  const application = await newApplication('rotated');
  const answer = await postTo(`/api/v1/applications/${application.app_id}/rotate-token`, admin, {});
  secrets.note('a new token of an application', textField(answer, 'token'));
  const exported = await postTo('/api/v1/export', admin, undefined, 'GET');
  await postTo('/api/v1/import', admin, exported);
  await postTo('/api/v1/import', admin, {
    ...Object(exported),
    version: secrets.invent('an import that is refused'),
  });
  await postTo('/operations/metadata.task.custom_report.refresh_custom_report_2_node_man', editor, {});
  const subscriptions = await postTo('/v1/subscriptions/2', node, undefined, 'GET');
  expect(JSON.stringify(subscriptions)).toContain(textField(rotated, 'token'));
  await postTo('/v1/subscriptions/2', secrets.invent('a wrong node token'), undefined, 'GET');
};
