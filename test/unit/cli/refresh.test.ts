import { createServer } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { runCli } from '../../support/clients/cli.ts';

const run = {
  ...{ run_id: 7, trigger: 'manual', state: 'done', started: 1_700_000_000, finished: 1_700_000_001 },
  ...{ duration_ms: 900, created: 0, updated: 0, unchanged: 1, deleted: 0 },
};
const failure = { mon_data_id: 1_500_001, report: 'cpu', error: 'node_management_rejected: no such host' };

/** Runs the command on an admin API that answers with this run. */
const refresh = async (args: readonly string[], answer: object) => {
  const server = createServer((_, response) => void response.end(JSON.stringify(answer)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
  return runCli(['refresh', ...args], {
    PATH: process.env['PATH'],
    TIDEMARK_ADMIN_URL: url,
    TIDEMARK_ADMIN_TOKEN: 'ab'.repeat(32),
  });
};

it.each([
  ['a report that failed', 1, { failed_count: 1, failed: [failure] }],
  ['no failure', 0, { failed_count: 0, failed: [] }],
])('refresh with %s prints its run and ends with code %d', async (_, code, failed) => {
  for (const args of [[], ['run', '--json']]) {
    const outcome = await refresh(args, { ...run, ...failed });
    expect(outcome).toMatchObject({ code, stderr: '', stdout: expect.stringContaining('manual') });
  }
});

it('a run with failures that is only shown is no failure of the command', async () => {
  const outcome = await refresh(['show', '7'], { ...run, failed_count: 1, failed: [failure] });
  expect(outcome).toMatchObject({ code: 0, stdout: expect.stringContaining('no such host') });
});
