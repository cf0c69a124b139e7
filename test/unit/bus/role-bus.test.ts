import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openRoleBus } from '../../../src/bus/role-bus.ts';
import { loadSettings } from '../../../src/config/settings.ts';
import type { Parts } from '../../../src/runtime/run-role.ts';
import { makeAuthority } from '../../support/stack/certificates.ts';
import { tempFolder } from '../../support/stack/temp-folder.ts';

const parts: Parts = { add: () => {}, together: () => parts, broke: () => {} };

// Without its files a role waited for NATS for ever, which had nothing to do with it.
it.each(['TIDEMARK_NATS_CREDENTIALS_FILE', 'TIDEMARK_NATS_CA_FILE'])(
  'a role whose file of %s is missing ends as with every setting that cannot be used',
  async (name) => {
    const missing = join(await tempFolder(), 'missing');
    const settings = loadSettings({ TIDEMARK_NATS_URL: 'tls://127.0.0.1:1', [name]: missing });
    const waits = new AbortController();
    const log = { info: () => {}, warn: () => waits.abort(new Error('it waits for NATS')) };
    await expect(openRoleBus('transfer', { settings, log }, parts, waits.signal)).rejects.toMatchObject({
      kind: 'permanent',
      code: 'config_invalid',
      message: expect.stringMatching(new RegExp(`^${name}: .*ENOENT.*${missing}`)),
    });
  },
);

it.each([
  ['is away for a moment, as while it is replaced', 'tls'],
  ['of authorities is missing, which no address without TLS needs', 'nats'],
])('a role goes on to NATS where a file %s', async (_, scheme) => {
  const folder = await tempFolder();
  const file = join(folder, 'authorities.pem');
  const { cert } = makeAuthority(folder, 'authority');
  const settings = loadSettings({
    TIDEMARK_NATS_URL: `${scheme}://127.0.0.1:1`,
    TIDEMARK_NATS_CA_FILE: file,
  });
  const waits = new AbortController();
  const waited = new Error('it waits for NATS');
  const log = { info: () => {}, warn: () => waits.abort(waited) };
  const opening = openRoleBus('transfer', { settings, log }, parts, waits.signal);
  const ends = expect(opening).rejects.toBe(waited);
  // Its first look is over.
  if (scheme === 'tls') writeFileSync(file, cert);
  await ends;
});
