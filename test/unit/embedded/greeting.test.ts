import { createServer } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { createAdminClient } from '../../../src/cli/client.ts';
import { loadSettings } from '../../../src/config/settings.ts';
import { greet } from '../../../src/embedded/demo.ts';

const both = { demo: true, link: true };
const resets = expect.stringMatching(/^no demo, no link: admin\.token .*tidemark admin-token reset/);

it('a revoked admin token is named with its remedy, and does not end the run', async () => {
  const problem = JSON.stringify({ code: 'unauthorized', detail: 'the admin token is missing or not valid' });
  const server = createServer((_, response) => void response.writeHead(401).end(problem));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
  const settings = loadSettings({ TIDEMARK_ADMIN_URL: url, TIDEMARK_ADMIN_TOKEN: 'ab'.repeat(32) });
  const greeting = await greet(async () => createAdminClient(settings), url, both);
  expect(greeting).toEqual({ demo: undefined, link: undefined, missing: resets });
});

it('a missing admin token is named with its remedy', async () => {
  const settings = loadSettings({ TIDEMARK_DATA: '/nonexistent' });
  const connect = async () => createAdminClient(settings);
  expect((await greet(connect, settings.admin.url, both)).missing).toEqual(resets);
  const none = await greet(connect, settings.admin.url, { demo: false, link: false });
  expect(none.missing).toBeUndefined();
});
