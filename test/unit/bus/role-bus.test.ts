import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openRoleBus } from '../../../src/bus/role-bus.ts';
import { loadSettings } from '../../../src/config/settings.ts';
import type { Parts } from '../../../src/runtime/run-role.ts';
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
