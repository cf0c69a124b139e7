import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { bodyOf, type PushStack, sharedPushStack } from '../../support/push/stack.ts';
import { installPython, pinnedVersion, runPython, whyNoPython } from '../../support/python/python.ts';
import { tempFolder } from '../../support/stack/temp-folder.ts';

let on: PushStack;
beforeAll(async () => {
  on = await sharedPushStack();
});

const success = '{"code":"200","result":"true","message":""}';
const requirements = 'bk-monitor-report-requirements.txt';
const missing = await whyNoPython();

type Sample = {
  readonly name: string;
  readonly value: number;
  readonly labels: Readonly<Record<string, string>>;
};

describe.skipIf(missing !== undefined)(
  `bk-monitor-report ${pinnedVersion(requirements, 'bk-monitor-report')}${missing === undefined ? '' : ` (left out: ${missing})`}`,
  () => {
    it.each([500, 4, 1])(
      'reports a prometheus registry in chunks of %i, and every sample is a row',
      async (chunkSize) => {
        const python = await installPython(requirements);
        const report = await on.report();
        const { mon_data_id: dataId, token } = report.data_source;
        const [line = ''] = await runPython(
          python,
          'report_metrics.py',
          [],
          JSON.stringify({
            url: `http://127.0.0.1:${on.port}/v2/push/`,
            data_id: dataId,
            access_token: token,
            target: '127.0.0.1',
            chunk_size: chunkSize,
          }),
        );
        const samples: Sample[] = JSON.parse(line);
        const rows = await on.storedRows(report);
        const shown = rows.map(({ uid: _, timestamp: __, ...rest }) => JSON.stringify(sorted(rest)));
        const wanted = samples.map(({ name, value, labels }) =>
          JSON.stringify(sorted({ ...labels, [name]: value, target: '127.0.0.1' })),
        );
        expect(samples.length).toBeGreaterThan(15);
        expect(shown.toSorted()).toEqual(wanted.toSorted());
      },
    );
  },
);

const sorted = (row: Readonly<Record<string, unknown>>): [string, unknown][] =>
  Object.entries(row).toSorted(([a], [b]) => (a < b ? -1 : 1));

const run = promisify(execFile);

describe('curl without a JSON content type', () => {
  it.each([
    ['-X POST -d @body', (file: string) => ['-X', 'POST', '-d', `@${file}`]],
    ['-g -X POST -d <text>', (_: string, text: string) => ['-g', '-X', 'POST', '-d', text]],
    ['--data-binary @body', (file: string) => ['--data-binary', `@${file}`]],
  ])('%s is taken, and its point is stored', async (_, argsFor) => {
    const report = await on.report();
    const data = [{ metrics: { cpu_load: 10.5 }, target: '127.0.0.1', dimension: { module: 'db[0]{1}' } }];
    const text = JSON.stringify(JSON.parse(bodyOf(report, data)), undefined, 2);
    const file = join(await tempFolder(), 'body');
    await writeFile(file, text);
    const url = `http://127.0.0.1:${on.port}/v2/push/`;
    const { stdout } = await run('curl', ['-s', ...argsFor(file, text), url]);
    expect(stdout).toBe(success);
    const [row, ...others] = await on.storedRows(report);
    expect(others).toEqual([]);
    expect(row).toMatchObject({ cpu_load: 10.5, target: '127.0.0.1', module: 'db[0]{1}' });
  });
});
