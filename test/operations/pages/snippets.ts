import { execFile } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { missingTool } from '../../support/clients/builds.ts';
import { createCli } from '../../support/clients/cli.ts';
import { installPython, whyNoPython } from '../../support/python/python.ts';
import type { Application, Report, Stack } from '../../support/stack/stack.ts';
import { until } from '../../support/until.ts';
import { sharedStack } from './stack.ts';

const run = promisify(execFile);

let stack: Stack;
let report: Report;
let application: Application;
const cli = createCli(() => ({ PATH: process.env['PATH'], ...stack.env }));

const snippetsSchema = z.object({
  push_url: z.string(),
  otlp_url: z.string(),
  items: z.array(z.object({ pipeline: z.string(), name: z.string(), text: z.string() })),
});

const read = async (method: string, path: string) =>
  snippetsSchema.parse((await stack.api(method, path, method === 'POST' ? {} : undefined)).body);

/** A snippet with its token, as the command prints it. */
const textOf = (id: number, name: string): Promise<string> => cli.text(`snippet ${id} --for ${name} --token`);

/** Runs the text as the program of a file in a folder of its own. Answers what it wrote. */
const runAs = async (text: string, file: string, command: string, args: readonly string[] = []) => {
  const folder = join(stack.folder, `snippet-${file}`);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, file), text);
  if (file === 's.mjs')
    await symlink(join(import.meta.dirname, '../../../node_modules'), join(folder, 'node_modules'));
  const { stdout, stderr } = await run(command, [...args, join(folder, file)], {
    cwd: folder,
    timeout: 120_000,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'] },
  });
  return `${stdout}${stderr}`;
};

beforeAll(async () => {
  stack = await sharedStack();
  report = await stack.createReport('snippets');
  application = await stack.createApplication('snippets');
});

describe('the snippets', () => {
  it('have the host of the call, the id, and no token but for those who may see it', async () => {
    const dataId = report.data_source.mon_data_id;
    const { items, push_url: push } = await read('GET', `/api/v1/snippets?data_id=${dataId}`);
    expect(push).toBe(`http://127.0.0.1:${stack.ingress[0]?.ports['push']}`);
    for (const { pipeline, text, name } of items) {
      expect([pipeline, text.includes(String(dataId)), text.includes('<token>')], name).toEqual([
        'metrics',
        true,
        true,
      ]);
      expect(text).not.toContain(report.data_source.token);
    }
    const made = await stack.api('POST', '/api/v1/admin-tokens', {
      name: 'reader of snippets',
      role: 'viewer',
    });
    const { token } = z.object({ token: z.string() }).parse(made.body);
    const refused = await fetch(
      `http://127.0.0.1:${stack.metadata.ports['api']}/api/v1/data-sources/${dataId}/reveal-snippets`,
      { method: 'POST', headers: { Authorization: `Bearer ${token}` } },
    );
    expect(refused.status).toBe(403);
    const { items: revealed } = await read('POST', `/api/v1/data-sources/${dataId}/reveal-snippets`);
    for (const { text } of revealed) {
      expect(text).toContain(report.data_source.token);
      expect(text).not.toContain('<token>');
    }
    const audit = await until('the audit has it', async () => {
      const { body } = await stack.api(
        'GET',
        `/api/v1/audit?action=data_source.reveal_token&target_id=${dataId}`,
      );
      return z.object({ items: z.array(z.unknown()) }).parse(body).items[0];
    });
    expect(JSON.stringify(audit)).not.toContain(report.data_source.token);
    const printed = await cli.text(`snippet ${dataId} --for curl --token`);
    expect(printed).toContain(report.data_source.token);
    expect(await cli.text(`snippet ${application.app_id} --for collector`)).toContain('<token>');
  });

  /** Waits for the one span of a snippet. */
  const expectOrder = async ({ app_id: id }: Application): Promise<void> => {
    const rows = await until('the span is stored', async () => {
      const stored = await stack.spansQuery(
        `SELECT SpanName, ServiceName FROM otel.otel_traces WHERE AppId = ${id}`,
      );
      return stored.length > 0 && stored;
    });
    expect(rows).toEqual([{ SpanName: 'order', ServiceName: 'shop' }]);
  };

  const point = [[10.5, '127.0.0.1', 'db']];

  it.for([
    ['curl', 'push.sh', 'sh'],
    ['python', 'push.py', 'python3'],
    ['javascript', 'push.mjs', process.execPath],
    ['go', 'push.go', 'go', 'run'],
    ['java', 'Push.java', 'java'],
  ] as const)('%s: what is copied stores a point', async ([name, file, command, ...args], { skip }) => {
    const missing = command === process.execPath ? undefined : await missingTool(command);
    if (missing !== undefined) skip(missing);
    const own = await stack.createReport(`snippet ${name}`);
    const text = await textOf(own.data_source.mon_data_id, name);
    expect(await runAs(text, file, command, args)).toMatch(/"code":"200"/);
    await stack.waitForRows(own.result_table.table_id, 1);
    const { dataset } = await stack.query(
      `SELECT cpu_load, target, module FROM "${own.result_table.table_id}"`,
    );
    expect(dataset).toEqual(point);
  });

  // A sender with a wrong token has nothing but what its program prints.
  it.for([
    ['curl', 'push.sh', 'sh'],
    ['python', 'push.py', 'python3'],
    ['javascript', 'push.mjs', process.execPath],
  ] as const)('%s: what is copied prints why a point was refused', async ([name, file, command]) => {
    const { mon_data_id: id, token } = report.data_source;
    const text = await textOf(id, name);
    expect(await runAs(text.replace(token, 'f'.repeat(32)), file, command)).toMatch(
      /"reason":"unauthorized"/,
    );
  });

  it.for(['python', 'python-logs', 'python-metrics'] as const)(
    '%s: what is copied prints that what it sent was refused',
    async (name, { skip }) => {
      const whyNot = await whyNoPython();
      if (whyNot !== undefined) skip(whyNot);
      const text = await textOf(application.app_id, name);
      const wrong = text.replace(application.token, 'f'.repeat(32));
      expect(await runAs(wrong, 's.py', await installPython())).toMatch(/\b401\b/);
    },
  );

  it.for(['curl', 'python', 'javascript'] as const)(
    '%s: what is copied stores a span',
    async (name, { skip }) => {
      const whyNot = name === 'python' ? await whyNoPython() : undefined;
      if (whyNot !== undefined) skip(whyNot);
      const python = name === 'python' ? await installPython() : '';
      const own = await stack.createApplication(`snippet ${name}`);
      const text = await textOf(own.app_id, name);
      const [file, command] = {
        curl: ['s.sh', 'sh'],
        python: ['s.py', python],
        javascript: ['s.mjs', process.execPath],
      }[name];
      await runAs(text, file ?? '', command ?? '');
      await expectOrder(own);
    },
  );

  it.for([
    ['curl-logs', 'otel_logs', 'Body', 'the order is late'],
    ['python-logs', 'otel_logs', 'Body', 'the order is late'],
    ['curl-metrics', 'otel_metrics_sum', 'MetricName', 'orders'],
    ['python-metrics', 'otel_metrics_sum', 'MetricName', 'orders'],
  ] as const)('%s: what is copied stores a row of %s', async ([name, table, column, value], { skip }) => {
    const isPython = name.startsWith('python');
    const whyNot = isPython ? await whyNoPython() : undefined;
    if (whyNot !== undefined) skip(whyNot);
    const own = await stack.createApplication(`snippet ${name}`);
    const text = await textOf(own.app_id, name);
    await runAs(text, isPython ? 's.py' : 's.sh', isPython ? await installPython() : 'sh');
    const rows = await until('the row is stored', async () => {
      const stored = await stack.spansQuery(
        `SELECT ${column}, ServiceName FROM otel.${table} WHERE AppId = ${own.app_id}`,
      );
      return stored.length > 0 && stored;
    });
    expect(rows).toEqual([{ [column]: value, ServiceName: 'shop' }]);
  });

  it('variables: a program that knows neither the address nor the token stores a span in their environment', async () => {
    const own = await stack.createApplication('snippet variables');
    const program = join(import.meta.dirname, '../../support/clients/by-variables.ts');
    const text = `${await textOf(own.app_id, 'variables')}\nexec '${process.execPath}' '${program}'\n`;
    expect(await runAs(text, 'variables.sh', 'sh')).toBe('');
    await expectOrder(own);
  });
});
