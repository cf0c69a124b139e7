import { execFile } from 'node:child_process';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { settingDefinitions } from '../../../src/config/settings.ts';
import { makeAuthority, withTimes } from '../../support/stack/certificates.ts';
import { tempFolder } from '../../support/stack/temp-folder.ts';

// Each test starts the program.
vi.setConfig({ testTimeout: 60_000 });

const program = join(import.meta.dirname, '../../../src/main.ts');

const tidemark = (args: string[], env: NodeJS.ProcessEnv = {}) =>
  promisify(execFile)(process.execPath, [program, 'config', ...args], {
    env: { PATH: process.env.PATH, ...env },
  });

const printed = z.object({
  items: z.array(z.object({ setting: z.string(), value: z.string().nullable(), source: z.string() })),
});

const secret = 's3cr3t-Pa55';

describe('tidemark config print', () => {
  it('shows every setting with its value and where that comes from', async () => {
    const folder = await tempFolder();
    const file = join(folder, 'tidemark.yaml');
    await writeFile(file, 'ingress:\n  push_port: 1111\n');
    const { stdout } = await tidemark(['print', '--json'], {
      TIDEMARK_CONFIG: file,
      TIDEMARK_LOG_LEVEL: 'warn',
    });
    const { items } = printed.parse(JSON.parse(stdout));
    expect(items.map(({ setting }) => setting)).toEqual(settingDefinitions.map(({ env }) => env));
    const of = (name: string) => items.find(({ setting }) => setting === name);
    expect(of('TIDEMARK_LOG_LEVEL')).toMatchObject({
      value: 'warn',
      source: 'environment variable TIDEMARK_LOG_LEVEL',
    });
    expect(of('TIDEMARK_INGRESS_PUSH_PORT')).toMatchObject({ value: '1111', source: `${file}:2:14` });
    expect(of('TIDEMARK_TABLE_PREFIX')).toMatchObject({ value: 'mon', source: 'default' });
    expect(of('TIDEMARK_NATS_URL')).toMatchObject({ value: null, source: 'not set' });
  });

  it('says below the table whose settings these are', async () => {
    const { stdout } = await tidemark(['print']);
    expect(stdout).toMatch(/\n\nThese are of the environment of this command; --remote prints [^\n]*\n$/);
  });

  // It is what people paste into tickets.
  it('hides passwords and tokens, in a variable and in a file', async () => {
    const folder = await tempFolder();
    const file = join(folder, 'nats-url');
    await writeFile(file, `nats://tidemark:${secret}@nats.example:4222\n`);
    const env = {
      TIDEMARK_NATS_URL_FILE: file,
      TIDEMARK_CLICKHOUSE_URL: `http://writer:${secret}@clickhouse.example:8123`,
      TIDEMARK_QUESTDB_URL: `http://${secret}@questdb.example:9000`,
      TIDEMARK_QUESTDB_URLS: `b=http://points:${secret}@b.example:9000,c=http://c.example:9000`,
      TIDEMARK_ADMIN_TOKEN: secret,
      TIDEMARK_NODE_MANAGEMENT_TOKEN: secret,
    };
    const commands = [['print'], ['print', '--json'], ['check'], ['check', '--json']];
    const outputs = await Promise.all(commands.map((args) => tidemark(args, env)));
    for (const { stdout, stderr } of outputs) expect(stdout + stderr).not.toContain(secret);
    expect(outputs[0]?.stdout).toContain('nats://***:***@nats.example:4222');
    expect(outputs[0]?.stdout).toContain('b=http://***:***@b.example:9000/,c=http://c.example:9000/');
    expect(outputs[0]?.stdout).toContain('environment variable TIDEMARK_NATS_URL_FILE');
  });
});

describe('tidemark ingress', () => {
  it('does not begin with fewer processes than are set', async () => {
    const env = { PATH: process.env.PATH, TIDEMARK_INGRESS_OPS_PORT: '65535' };
    await expect(
      promisify(execFile)(process.execPath, [program, 'ingress', '--processes', '2'], { env }),
    ).rejects.toMatchObject({ code: 78, stderr: expect.stringContaining('Set at most 65525') });
  });
});

describe('tidemark config check', () => {
  it('reports that every setting is valid', async () => {
    const { stdout } = await tidemark(['check'], { TIDEMARK_LOG_LEVEL: 'warn' });
    expect(stdout).toMatch(/^settings and pipelines are valid; 1 of \d+ settings differ from the default\n$/);
  });

  it('lets a missing file of authorities for NATS pass where no address has TLS', async () => {
    const env = { TIDEMARK_NATS_CA_FILE: '/missing.pem', TIDEMARK_NATS_URL: 'nats://127.0.0.1:1' };
    expect((await tidemark(['check'], env)).stdout).toMatch(/^settings and pipelines are valid/);
  });

  it('refuses a token file of node management that no header may have, and warns of a missing one', async () => {
    const file = join(await tempFolder(), 'token');
    const env = { TIDEMARK_NODE_MANAGEMENT_TOKEN_FILE: file };
    const { stdout, stderr } = await tidemark(['check'], env);
    expect(stdout).toMatch(/^settings and pipelines are valid/);
    expect(stderr).toMatch(/^warning: TIDEMARK_NODE_MANAGEMENT_TOKEN_FILE: ENOENT/);
    await writeFile(file, `${secret}\nsecond line\n`);
    await expect(tidemark(['check'], env)).rejects.toMatchObject({
      code: 78,
      stderr: expect.stringMatching(
        new RegExp(`^(?!.*${secret}).*TIDEMARK_NODE_MANAGEMENT_TOKEN_FILE: the file holds`, 's'),
      ),
    });
  });

  // Each role may run on a host of its own.
  it('refuses one port for two servers of a role, and warns of one for two roles', async () => {
    await expect(tidemark(['check'], { TIDEMARK_INGRESS_PUSH_PORT: '4318' })).rejects.toMatchObject({
      code: 78,
      stderr: expect.stringContaining(
        'TIDEMARK_INGRESS_PUSH_PORT and TIDEMARK_INGRESS_OTLP_PORT: both are port 4318',
      ),
    });
    const { stdout, stderr } = await tidemark(['check'], { TIDEMARK_INGRESS_PUSH_PORT: '10300' });
    expect(stdout).toMatch(/^settings and pipelines are valid/);
    expect(stderr).toMatch(
      /^warning: tidemark up refuses this: TIDEMARK_INGRESS_PUSH_PORT and TIDEMARK_METADATA_API_PORT: both/,
    );
  });

  it('warns of a QuestDB server that is given twice, without its password', async () => {
    const env = {
      TIDEMARK_QUESTDB_URL: 'http://localhost:9000',
      TIDEMARK_QUESTDB_URLS: `b=http://points:${secret}@127.0.0.1:9000/,c=https://c.example,d=https://C.example:443,e=http://c.example`,
    };
    const { stdout, stderr } = await tidemark(['check'], env);
    expect(stdout).toMatch(/^settings and pipelines are valid/);
    expect(stderr).toMatch(
      /^warning: QuestDB instances default and b are one server, 127\.0\.0\.1:9000: .*\nwarning: QuestDB instances c and d are one server, c\.example:443: .*\n$/,
    );
    expect(stderr).not.toContain(secret);
  });

  it('warns of a room for request bytes that the largest bodies do not fit into', async () => {
    const { stdout, stderr } = await tidemark(['check'], { TIDEMARK_INGRESS_BYTES_IN_FLIGHT_MAX: '191MiB' });
    expect(stdout).toMatch(/^settings and pipelines are valid/);
    expect(stderr).toMatch(
      /^(warning: (traces|logs|otel_metrics)\.yaml: a body of inflated_bytes_max needs 201326592 bytes [^\n]*\n){3}$/,
    );
  });

  it('warns of limits that need more memory than there is', async () => {
    const { stdout, stderr } = await tidemark(['check'], {
      TIDEMARK_INGRESS_BYTES_IN_FLIGHT_MAX: '8388607GiB',
    });
    expect(stdout).toMatch(/^settings and pipelines are valid/);
    expect(stderr).toMatch(
      /^warning: an ingress process may need \d+ MiB of memory, .* it is killed\. [^\n]*\n$/,
    );
  });

  it('names what has no effect in pipeline files of earlier versions, and lets them pass', async () => {
    const folder = join(await tempFolder(), 'pipelines');
    await cp(join(import.meta.dirname, '../../../pipelines'), folder, { recursive: true });
    const file = join(folder, 'ledger.yaml');
    const text = await readFile(file, 'utf8');
    await writeFile(
      file,
      text.replace('  consumer:', '  stages: [read, gather, write, settle]\n  consumer:'),
    );
    const { stdout, stderr } = await tidemark(['check'], { TIDEMARK_PIPELINES: folder });
    expect(stdout).toMatch(/^settings and pipelines are valid/);
    expect(stderr).toMatch(
      /^warning: .*ledger\.yaml:\d+:11 \/transfer\/stages: a list of stages has no effect/,
    );
  });

  it.each<[string, NodeJS.ProcessEnv, string]>([
    ['an unknown variable', { TIDEMARK_NAT_URL: 'x' }, 'environment variable TIDEMARK_NAT_URL'],
    [
      'a prefix of tables',
      { TIDEMARK_TABLE_PREFIX: 'a/b' },
      'TIDEMARK_TABLE_PREFIX: the value "a/b" is not a prefix',
    ],
    [
      'a file of credentials for NATS',
      { TIDEMARK_NATS_CREDENTIALS_FILE: '/missing.creds' },
      'TIDEMARK_NATS_CREDENTIALS_FILE: the file cannot be read (ENOENT',
    ],
    [
      'a file of authorities for NATS',
      { TIDEMARK_NATS_CA_FILE: '/', TIDEMARK_NATS_URL: 'tls://127.0.0.1:1' },
      'TIDEMARK_NATS_CA_FILE: the file cannot be read (EISDIR',
    ],
    ['a value', { TIDEMARK_INGRESS_PUSH_PORT: '99999' }, 'TIDEMARK_INGRESS_PUSH_PORT'],
    [
      'a file that is not there',
      { TIDEMARK_NATS_URL_FILE: '/nowhere' },
      'TIDEMARK_NATS_URL_FILE: the file cannot be read',
    ],
    [
      'a secret that is given twice',
      { TIDEMARK_ADMIN_TOKEN: 'a', TIDEMARK_ADMIN_TOKEN_FILE: '/nowhere' },
      'TIDEMARK_ADMIN_TOKEN is set, too',
    ],
    ['pipelines', { TIDEMARK_PIPELINES: '/nowhere' }, '/nowhere'],
    ['a schedule', { TIDEMARK_REFRESH_CRON: 'every-five' }, 'TIDEMARK_REFRESH_CRON'],
    [
      'a network of proxies',
      { TIDEMARK_INGRESS_TRUSTED_PROXIES: '10.0.0.0/99' },
      'TIDEMARK_INGRESS_TRUSTED_PROXIES',
    ],
    [
      'a name of a proxy',
      { TIDEMARK_METADATA_TRUSTED_PROXIES: 'proxy.example.com' },
      'TIDEMARK_METADATA_TRUSTED_PROXIES',
    ],
    ['a network of local peers', { TIDEMARK_CONSOLE_LOCAL_PEERS: '172.18.0.0/16' }, '172.18.0.0/16'],
    ['headers of tracing', { TIDEMARK_TRACING_HEADERS: 'broken' }, 'TIDEMARK_TRACING_HEADERS'],
    [
      'operations ports beyond the last port',
      { TIDEMARK_INGRESS_OPS_PORT: '65516', TIDEMARK_INGRESS_PROCESSES: '3' },
      'TIDEMARK_INGRESS_OPS_PORT: the value 65516 leaves no operations port for the last of 3 ingress processes, which would have 65536. Set at most 65515, or fewer TIDEMARK_INGRESS_PROCESSES',
    ],
    [
      'a certificate without a key',
      { TIDEMARK_INGRESS_TLS_CERT_FILE: '/tls.crt' },
      'TIDEMARK_INGRESS_TLS_KEY_FILE',
    ],
    [
      'a key without a certificate',
      { TIDEMARK_METADATA_TLS_KEY_FILE: '/tls.key' },
      'TIDEMARK_METADATA_TLS_CERT_FILE',
    ],
    [
      'TLS files that cannot be used',
      { TIDEMARK_INGRESS_TLS_CERT_FILE: '/missing.crt', TIDEMARK_INGRESS_TLS_KEY_FILE: '/missing.key' },
      'TIDEMARK_INGRESS_TLS_CERT_FILE, TIDEMARK_INGRESS_TLS_KEY_FILE',
    ],
    [
      'TLS files of the admin API that cannot be used',
      { TIDEMARK_METADATA_TLS_CERT_FILE: '/missing.crt', TIDEMARK_METADATA_TLS_KEY_FILE: '/missing.key' },
      'TIDEMARK_METADATA_TLS_CERT_FILE, TIDEMARK_METADATA_TLS_KEY_FILE',
    ],
    [
      'a file of authorities for the admin API',
      { TIDEMARK_ADMIN_CA_FILE: '/missing.pem' },
      'TIDEMARK_ADMIN_CA_FILE',
    ],
    [
      'a reader without a password',
      { TIDEMARK_QUESTDB_READONLY_USER: 'readonly' },
      'TIDEMARK_QUESTDB_READONLY_PASSWORD',
    ],
    ['a platform prefix', { TIDEMARK_NODE_MANAGEMENT_PREFIX: '9x' }, 'TIDEMARK_NODE_MANAGEMENT_PREFIX'],
    [
      'node management without a host',
      { TIDEMARK_NODE_MANAGEMENT_URL: 'http://nodes:1' },
      'TIDEMARK_NODE_MANAGEMENT_HOSTS',
    ],
  ])('ends with code 78 and names the invalid setting: %s', async (_, env, named) => {
    await expect(tidemark(['check'], env)).rejects.toMatchObject({
      code: 78,
      stderr: expect.stringContaining(named),
    });
  });

  // It is no error: the roles start with it, and so does one whose certificate expires while it runs.
  it.each(['INGRESS', 'METADATA'])('warns of a certificate that is not valid now: %s', async (role) => {
    const folder = await tempFolder();
    const { certFile, keyFile, cert } = makeAuthority(folder, 'server');
    await writeFile(certFile, withTimes(cert, -2, -1));
    const { stderr } = await tidemark(['check'], {
      [`TIDEMARK_${role}_TLS_CERT_FILE`]: certFile,
      [`TIDEMARK_${role}_TLS_KEY_FILE`]: keyFile,
    });
    expect(stderr).toMatch(new RegExp(`warning: TIDEMARK_${role}_TLS_CERT_FILE: the certificate expired at`));
  });

  // Each was taken, and then no certificate was trusted: of NATS by every role, of the admin API by every command.
  it.each([
    ['TIDEMARK_NATS_CA_FILE', { TIDEMARK_NATS_URL: 'tls://127.0.0.1:1' }],
    ['TIDEMARK_ADMIN_CA_FILE', {}],
  ])('ends with code 78 where %s has no authorities, or not all', async (name, env) => {
    const folder = await tempFolder();
    const { cert, key } = makeAuthority(folder, 'authority');
    const file = join(folder, 'authorities.pem');
    for (const [text, why] of [
      ['', 'has no certificate'],
      [key, 'has no certificate'],
      [cert.slice(0, 200), 'certificate 1 of the authorities cannot be read'],
      [cert + cert.slice(0, 200), 'certificate 2 of the authorities cannot be read'],
    ] as const) {
      await writeFile(file, text);
      await expect(tidemark(['check'], { ...env, [name]: file })).rejects.toMatchObject({
        code: 78,
        stderr: expect.stringMatching(new RegExp(`${name}: .*${why}.*Use a PEM file with certificates`)),
      });
    }
  });
});
