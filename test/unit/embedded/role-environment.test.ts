import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { loadSettings } from '../../../src/config/settings.ts';
import { shownSettings } from '../../../src/config/shown-settings.ts';
import { ensureCredentials } from '../../../src/embedded/credentials.ts';
import { writeInstallation } from '../../../src/embedded/installation.ts';
import { clientUrls, createRoleAccounts, planStack, roleEnvironment } from '../../../src/embedded/stack.ts';
import { tempFolder } from '../../support/stack/temp-folder.ts';

const rate = 'TIDEMARK_MAX_RATE_DEFAULT';
const drain = 'TIDEMARK_INGRESS_DRAIN_MS';

/** Value and source of these two, as a role of `tidemark up` has them. */
const atRole = async (folder: string, own: Record<string, string>) => {
  const env = { TIDEMARK_DATA: folder, ...own };
  const settings = loadSettings(env);
  const plan = await planStack(settings);
  const credentials = await ensureCredentials(folder);
  writeInstallation(folder, plan, clientUrls(settings, plan, credentials, createRoleAccounts()));
  const shown = shownSettings(roleEnvironment('metadata', settings, plan, env));
  return [rate, drain].map((name) => {
    const found = shown.find(({ setting }) => setting === name);
    return [found?.value, found?.source];
  });
};

it('a limit of the settings file holds at the roles also where it equals the default', async () => {
  const folder = await tempFolder();
  const file = join(folder, 'tidemark.yaml');
  await writeFile(file, 'max_rate_default: 1000\ningress:\n  drain_ms: 20000\n');
  expect(await atRole(folder, { TIDEMARK_CONFIG: file })).toEqual([
    ['1000', `${file}:1:19`],
    ['20000', `${file}:3:13`],
  ]);
});

it('a limit of the environment holds at the roles also where it equals the default', async () => {
  expect(await atRole(await tempFolder(), { [rate]: '1000', [drain]: '20000' })).toEqual([
    ['1000', `environment variable ${rate}`],
    ['20000', `environment variable ${drain}`],
  ]);
});

it('a limit that nobody set is off at the roles, and is called that of tidemark up', async () => {
  expect(await atRole(await tempFolder(), {})).toEqual([
    ['0', 'tidemark up'],
    ['0', 'tidemark up'],
  ]);
});
