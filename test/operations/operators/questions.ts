import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { engineVariables } from '../../support/stack/fetch-engine.ts';
import type { Stack } from '../../support/stack/stack.ts';
import { waitFor } from '../../support/wait.ts';
import { sharedStack } from './stack.ts';

const root = resolve(import.meta.dirname, '../../..');
const text = readFileSync(resolve(root, 'docs/questions.md'), 'utf8');
const lines = [...text.matchAll(/```sh\n([^`]*)```/g)]
  .flatMap(([, block = '']) => block.trim().split('\n'))
  .filter((line) => !line.startsWith('kubectl '));

let stack: Stack;

/** The line with the ports of this stack. */
const here = (line: string): string =>
  line
    .replace(':10310/', `:${stack.ingress[0]?.ports['ops']}/`)
    .replace(':10311/', `:${stack.transfer[0]?.ports['ops']}/`)
    .replace(':10312/', `:${stack.metadata.ports['ops']}/`);

const answers: Readonly<Record<string, RegExp>> = {
  'tidemark ledger': /yes|adds up|=|[0-9]/,
  'tidemark account --stores': /^compared: /m,
  'tidemark account': /^(?:no differences: the books agree|WHOSE )/,
  'tidemark drops': /unauthorized/,
  'tidemark doctor': /ok\s+tables of questdb/,
};

describe('every command of docs/questions.md', () => {
  beforeAll(async () => {
    stack = await sharedStack();
    const { data_source: source } = await stack.createReport('questions');
    const push = (token: string) =>
      fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['push']}/v2/push/`, {
        method: 'POST',
        body: JSON.stringify({
          data_id: source.mon_data_id,
          access_token: token,
          data: [{ metrics: { cpu: 1 } }],
        }),
      });
    await waitFor('the data id is known', 60_000, async () => (await push(source.token)).ok);
    await push('wrong');
    await waitFor('outcome and example are recorded', 60_000, async () => {
      const [row] = await stack.spansQuery(
        "SELECT (SELECT count() FROM otel.ingest_outcomes) AS outcomes, (SELECT count() FROM otel.ingest_samples WHERE reason = 'unauthorized') AS samples",
      );
      return Number(row?.['outcomes']) > 0 && Number(row?.['samples']) > 0;
    });
  });

  // An answer that was right a version ago leads the wrong way at night.
  it.each(lines)('%s', async (line) => {
    const env = {
      ...process.env,
      ...stack.env,
      ...engineVariables(stack.engines),
      PATH: `${root}/bin:${process.env['PATH']}`,
    };
    const { stdout } = await promisify(execFile)('sh', ['-c', here(line)], { env });
    const wanted = Object.entries(answers).find(([command]) => line.startsWith(command))?.[1];
    expect(stdout).toMatch(wanted ?? /\S/);
    if (line.includes('ledger')) expect(stdout).toContain('1');
  });
});
