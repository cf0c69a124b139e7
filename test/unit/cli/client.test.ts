import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import { Agent, getGlobalDispatcher, setGlobalDispatcher } from 'undici';
import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { createAdminClient } from '../../../src/cli/client.ts';
import { loadSettings } from '../../../src/config/settings.ts';

afterEach(() => void vi.useRealTimers());

/** A client of an admin API that answers thus. */
const clientOf = async (listener: RequestListener) => {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
  return createAdminClient(loadSettings({ TIDEMARK_ADMIN_URL: url, TIDEMARK_ADMIN_TOKEN: 'ab'.repeat(32) }));
};

// A network that drops packets without a word ends no connection: the last figures would stand for ever.
it('a stream without a byte for 30 s counts as lost', async () => {
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const client = await clientOf((_, response) => void response.writeHead(200).write('first\n'));
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const lines: string[] = [];
  const onLine = (line: string): void => {
    lines.push(line);
    begin();
  };
  let outcome: unknown = 'open';
  const followed = client
    .follow('/api/v1/live', () => {}, onLine)
    .catch((error: unknown) => {
      outcome = error;
    });
  await begun;
  await vi.advanceTimersByTimeAsync(29_900);
  expect(outcome).toBe('open');
  await vi.advanceTimersByTimeAsync(100);
  await followed;
  expect(lines).toEqual(['first']);
  expect(outcome).toMatchObject({
    kind: 'transient',
    code: 'admin_unreachable',
    message: expect.stringContaining('sent nothing for 30 s'),
  });
});

// A call that is under way may go on: to start metadata would be of no use, and to repeat the call may do it twice.
it.each([
  ['GET', 'ask for a shorter period'],
  ['POST', 'the call may still take effect'],
] as const)('an answer to %s that is late is not taken for a refused connection', async (method, remedy) => {
  const client = await clientOf(() => {});
  const asked = client.ask(z.unknown(), method, '/api/v1/outcomes', { timeoutMs: 20 });
  await expect(asked).rejects.toMatchObject({
    kind: 'transient',
    code: 'admin_timeout',
    message: expect.stringMatching(new RegExp(`no answer .* within 0\\.02 s: .*${remedy}`)),
  });
});

// Node's fetch gives up after five minutes by itself; here after a second.
it('a call that may take ten minutes is given up by its own timeout alone', async () => {
  const usual = getGlobalDispatcher();
  setGlobalDispatcher(new Agent({ headersTimeout: 1_000 }));
  onTestFinished(() => setGlobalDispatcher(usual));
  const held: ServerResponse[] = [];
  const client = await clientOf((_, response) => void held.push(response));
  const ask = (timeoutMs: number) => client.ask(z.string(), 'POST', '/api/v1/import', { timeoutMs });
  const long = ask(600_000);
  await expect.poll(() => held.length).toBe(1);
  await expect(ask(299_999)).rejects.toThrow('Headers Timeout Error');
  for (const response of held) response.end('"imported"');
  await expect(long).resolves.toMatchObject({ value: 'imported' });
});

it('a refused connection is called one', async () => {
  const client = createAdminClient(
    loadSettings({ TIDEMARK_ADMIN_URL: 'http://127.0.0.1:1', TIDEMARK_ADMIN_TOKEN: 'ab'.repeat(32) }),
  );
  const asked = client.ask(z.unknown(), 'GET', '/api/v1/outcomes');
  await expect(asked).rejects.toMatchObject({
    code: 'admin_unreachable',
    message: expect.stringContaining('start tidemark metadata'),
  });
});

// The error of a header repeats its value, and "not reachable" would send its reader to a process that runs.
it.each(['ab\ncd', 'ab\u0101cd'])(
  'an admin token that no header can hold is named without itself',
  async (token) => {
    const settings = loadSettings({ TIDEMARK_ADMIN_URL: 'http://127.0.0.1:1', TIDEMARK_ADMIN_TOKEN: token });
    const asked = createAdminClient(settings).ask(z.unknown(), 'GET', '/api/v1/defaults');
    const error = await asked.catch((reason: unknown) => reason);
    expect(error).toMatchObject({ kind: 'permanent', code: 'admin_token_invalid' });
    expect(String(error)).not.toContain('ab');
  },
);

it('a blank admin token is called one, and not a missing right', async () => {
  const settings = loadSettings({ TIDEMARK_ADMIN_URL: 'http://127.0.0.1:1', TIDEMARK_ADMIN_TOKEN: ' ' });
  const asked = createAdminClient(settings).ask(z.unknown(), 'GET', '/api/v1/defaults');
  await expect(asked).rejects.toMatchObject({
    code: 'admin_token_invalid',
    message: expect.stringContaining('the admin token is blank'),
  });
});

it('an answer of a newer metadata is read without its further fields, and printed with them', async () => {
  const schema = z.strictObject({ items: z.array(z.strictObject({ id: z.int() }).nullable()) });
  const newer = { items: [{ id: 1, more: [2] }, null, { id: 3, more: {} }], further: true };
  const client = await clientOf((_, response) => void response.end(JSON.stringify(newer)));
  await expect(client.ask(schema, 'GET', '/')).resolves.toEqual({
    value: { items: [{ id: 1 }, null, { id: 3 }] },
    json: newer,
  });
});

it('an answer without a field of its contract is refused, also beside further fields', async () => {
  const client = await clientOf((_, response) => void response.end('{"further":true}'));
  const asked = client.ask(z.strictObject({ id: z.int() }), 'GET', '/');
  await expect(asked).rejects.toMatchObject({ code: 'admin_api_failed' });
});
