import { writeFile } from 'node:fs/promises';
import { createServer as createPlainServer } from 'node:http';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createClient } from '../../../../src/metadata/refresh/node-management-client.ts';
import { startNodeManagement } from '../../../support/metadata/node-management.ts';
import { makeAuthority, makeCertificate } from '../../../support/stack/certificates.ts';
import { tempFolder } from '../../../support/stack/temp-folder.ts';

const token = 'supersecrettoken123';

const clientOf = (url: string, tokenFile?: string) =>
  createClient({
    url,
    token: tokenFile === undefined ? token : undefined,
    tokenFile,
    tokenHeader: 'Authorization',
    timeoutMs: 1_000,
    backOffMs: 0,
    signal: new AbortController().signal,
  });

/** Run records have these errors, and viewers read them. */
describe('a token of node management', () => {
  it.each([
    ['a second line', `${token}\nsecond line\n`],
    ['a character of no header', `${token}\u{1F600}`],
  ])('with %s in its file is refused once, by its setting, and is not shown', async (_, text) => {
    const file = join(await tempFolder(), 'token');
    await writeFile(file, text);
    const server = await startNodeManagement();
    const call = clientOf(server.url, file);
    const error = await call('info', { subscription_id_list: [] }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      kind: 'permanent',
      code: 'config_invalid',
      message: expect.stringMatching(/^TIDEMARK_NODE_MANAGEMENT_TOKEN_FILE: .*\. Write the token alone/),
    });
    expect(String(error)).not.toMatch(/supersecret|second line/);
    expect(server.calls).toEqual([]);
    await writeFile(file, `${token}\n`);
    expect(await call('info', { subscription_id_list: [] })).toEqual([]);
    expect(server.calls.map(({ authorization }) => authorization)).toEqual([`Bearer ${token}`]);
  });

  it('is not shown where an error of the connection quotes it', async () => {
    onTestFinished(() => void vi.unstubAllGlobals());
    vi.stubGlobal('fetch', async () => {
      throw new TypeError(`"Bearer ${token}" is wrong`, { cause: new Error(`no ${token}`) });
    });
    const error = await clientOf('http://127.0.0.1:1')('info', {}).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      kind: 'transient',
      code: 'node_management_unavailable',
      message: 'info: "Bearer *" is wrong, no *',
    });
  });
});

// Node's own words name an option that a container does not have.
it.each([
  ['of an unknown authority', 'https', 'in NODE_EXTRA_CA_CERTS, and restart the process'],
  ['without TLS', 'http', 'so begin the address with http://'],
])('a server %s is unavailable, with the remedy', async (_, scheme, remedy) => {
  const folder = await tempFolder();
  const { cert, key } = makeCertificate(folder, 'server', makeAuthority(folder, 'authority'));
  const server = scheme === 'https' ? createServer({ cert, key }) : createPlainServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  await expect(clientOf(`https://127.0.0.1:${port}`)('info', {})).rejects.toMatchObject({
    kind: 'transient',
    code: 'node_management_unavailable',
    message: expect.stringMatching(new RegExp(`^(?!.*system-ca).*${remedy}`)),
  });
});

it('a refusal without data is a refusal, and is not tried again', async () => {
  const server = await startNodeManagement();
  await expect(clientOf(server.url)('switch', { subscription_id: 4 })).rejects.toMatchObject({
    kind: 'permanent',
    code: 'node_management_refused',
    message: 'switch: code 3801 no such subscription',
  });
  expect(server.calls).toHaveLength(1);
});
