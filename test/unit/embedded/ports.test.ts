import { expect, it } from 'vitest';
import { requireDifferentPorts } from '../../../src/config/port-settings.ts';
import { loadSettings } from '../../../src/config/settings.ts';
import { requireFreePorts } from '../../../src/embedded/ports.ts';
import { planStack } from '../../../src/embedded/stack.ts';

/** Checks the ports of a stack with these settings. */
const check = async (env: Readonly<Record<string, string>>): Promise<void> => {
  const settings = loadSettings({ TIDEMARK_DATA: '/nonexistent', ...env });
  const { engineHost, enginePorts, rolePorts } = await planStack(settings);
  requireDifferentPorts([
    { host: engineHost, ports: enginePorts },
    { host: settings.host, ports: rolePorts },
  ]);
};

it.each([
  [
    'of two receivers, one of them the default',
    { TIDEMARK_INGRESS_PUSH_PORT: '4318' },
    'TIDEMARK_INGRESS_PUSH_PORT and TIDEMARK_INGRESS_OTLP_PORT: both are port 4318 (push receiver, trace receiver). Set one of them to another port',
  ],
  [
    'of an engine and a role',
    { TIDEMARK_QUESTDB_PG_PORT: '10300' },
    'TIDEMARK_QUESTDB_PG_PORT and TIDEMARK_METADATA_API_PORT: both are port 10300 (QuestDB PostgreSQL wire, admin API). Set one of them to another port',
  ],
  [
    'of all addresses and of one',
    { TIDEMARK_INGRESS_PUSH_HOST: '0.0.0.0', TIDEMARK_INGRESS_PUSH_PORT: '10300' },
    'TIDEMARK_INGRESS_PUSH_PORT and TIDEMARK_METADATA_API_PORT: both are port 10300 (push receiver, admin API). Set one of them to another port',
  ],
] as const)('one port %s is refused with the names of both settings', async (_, env, message) => {
  await expect(check(env)).rejects.toMatchObject({ code: 'config_invalid', message });
});

it.each([
  ['the defaults', {}],
  ['free ones', { TIDEMARK_INGRESS_PUSH_PORT: '0', TIDEMARK_INGRESS_OTLP_PORT: '0' }],
  [
    'the same of different addresses',
    { TIDEMARK_INGRESS_PUSH_HOST: '127.0.0.2', TIDEMARK_INGRESS_PUSH_PORT: '4318' },
  ],
  [
    'that of an engine which runs elsewhere',
    { TIDEMARK_QUESTDB_URL: 'http://db:9000', TIDEMARK_METADATA_API_PORT: '9000' },
  ],
] as const)('%s are taken', async (_, env) => {
  await expect(check(env)).resolves.toBeUndefined();
});

const wanted = { port: 0, variable: 'TIDEMARK_X_PORT', purpose: 'test' };

it('a host on which nothing can listen is refused with its setting', async () => {
  const host = '192.0.2.1';
  const refusal = (each: object) => ({
    code: 'listen_failed',
    message: expect.stringMatching(
      new RegExp(`^${Object.values(each)[0]}: nothing can listen on ${host} .*Set it to`),
    ),
  });
  const ofAll = { hostVariable: 'TIDEMARK_BIND_HOST' };
  await expect(requireFreePorts([{ host, ...ofAll, ports: [wanted] }])).rejects.toMatchObject(refusal(ofAll));
  const own = { hostVariable: 'TIDEMARK_INGRESS_PUSH_HOST' };
  const ports = [{ ...wanted, host, ...own }];
  await expect(requireFreePorts([{ host: '127.0.0.1', ...ofAll, ports }])).rejects.toMatchObject(
    refusal(own),
  );
});

it('each address of this machine can be listened on', async () => {
  for (const host of ['127.0.0.1', '0.0.0.0', '::'])
    await expect(requireFreePorts([{ host, ports: [wanted] }])).resolves.toBeUndefined();
});
