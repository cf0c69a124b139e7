import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import {
  engineUrls,
  kinds,
  loadSettings,
  parseBytes,
  questdbInstances,
  type SettingDefinition,
  type Settings,
  settingDefinitions,
} from '../../../src/config/settings.ts';
import { errorText, Fault } from '../../../src/model/fault.ts';
import { tempFolder } from '../../support/stack/temp-folder.ts';

/** A settings file with this text, and the environment that names it. */
const withFile = async (text: string, env: NodeJS.ProcessEnv = {}) => {
  const file = join(await tempFolder(), 'tidemark.yaml');
  await writeFile(file, text);
  return { file, env: { ...env, TIDEMARK_CONFIG: file } };
};

const refusalOf = (env: NodeJS.ProcessEnv): string => {
  try {
    loadSettings(env);
  } catch (error) {
    if (error instanceof Fault && error.kind === 'permanent' && error.code === 'config_invalid')
      return error.message;
    throw error;
  }
  throw new Error('the settings were taken');
};

const inFile = settingDefinitions.filter(({ key }) => key !== '');

/** `a.b: v` as YAML. */
const yaml = (key: string, value: string): string => {
  const lines = key.split('.').map((part, depth) => `${'  '.repeat(depth)}${part}:`);
  return `${lines.join('\n')} ${value}\n`;
};

describe('settings', () => {
  it('have defaults for everything', async () => {
    const settings = loadSettings({ TIDEMARK_DATA: await tempFolder() });
    expect(settings).toMatchObject({
      host: '127.0.0.1',
      logLevel: 'info',
      tablePrefix: 'mon',
      maxRateDefault: 1000,
      nats: { url: undefined, clientPort: 4222, monitorPort: 8222 },
      questdb: { url: undefined, httpPort: 9000, pgPort: 8812 },
      clickhouse: { url: undefined, cluster: undefined, httpPort: 8123 },
      ingress: {
        pushPort: 10205,
        otlpPort: 4318,
        opsPort: 10310,
        bytesInFlightMax: 192 * 2 ** 20,
        tokenHeaders: ['x-mon-token'],
        tokenAttributes: ['mon.data.token'],
        addressFailuresMax: 20,
        pushHost: '127.0.0.1',
        connectionsMax: 16_384,
        headerBytesMax: 16_384,
        tlsCertFile: undefined,
      },
      transfer: { opsPort: 10311 },
      metadata: { apiPort: 10300, opsPort: 10312 },
      admin: { url: 'http://127.0.0.1:10300', token: undefined },
    });
  });

  it('have a unique name, key and meaning', () => {
    for (const field of ['env', 'key', 'meaning'] as const) {
      const values = settingDefinitions.map((definition) => definition[field]);
      expect(new Set(values).size).toBe(values.length);
    }
    for (const { env } of settingDefinitions) expect(env).toMatch(/^TIDEMARK_[A-Z_]+$/);
  });

  const sample: Readonly<Record<keyof typeof kinds, string>> = {
    port: '12345',
    portOrOff: 'off',
    level: 'debug',
    text: 'sample',
    host: 'relay-1',
    tablePrefix: 'sample',
    url: 'http://sample:1',
    bareUrl: 'http://sample:1',
    publicUrl: 'https://sample.example.com/in',
    origin: 'https://sample.example.com',
    urls: 'nats://sample:1,nats://other:2',
    instances: 'b=http://sample:1,c=https://other:2',
    headers: 'X-SAMPLE, X-OTHER',
    header: 'X-SAMPLE',
    attributes: 'sample.token',
    integer: '-7',
    count: '7',
    processes: '3',
    bytes: '3MiB',
    flag: 'true',
    onOff: 'off',
    path: '/sample',
    durability: 'power',
    explore: 'editor',
    cluster: 'sample',
    replicas: '3',
    days: '30',
    ratio: '0.5',
    secret: 'sample',
    headerSecret: 'sample',
    headerBytes: '3MiB',
  };
  const samples = new Map<SettingDefinition['kind'], string>(
    Object.entries(kinds).map(([name, kind]) => [kind, Reflect.get(sample, name)]),
  );
  const sampleOf = ({ kind }: SettingDefinition): string => samples.get(kind) ?? '';
  // A documented setting that nothing reads is found out in production, when it is needed.
  it.each(inFile)(
    'take $key from the file as $env from the environment, and both change something',
    async (definition) => {
      const value = sampleOf(definition);
      const fromEnv = loadSettings({ [definition.env]: value });
      const { env } = await withFile(yaml(definition.key, value));
      expect(loadSettings(env)).toEqual(fromEnv);
      expect(fromEnv).not.toEqual(loadSettings({}));
    },
  );

  it('come from the environment before the file, and from the file before the default', async () => {
    const { env } = await withFile('bind_host: 10.0.0.1\ningress:\n  push_port: 1111\n  ops_port: 2222\n', {
      TIDEMARK_INGRESS_PUSH_PORT: '3333',
    });
    const { host, ingress, metadata } = loadSettings(env);
    expect([host, ingress.pushPort, ingress.opsPort, metadata.apiPort]).toEqual([
      '10.0.0.1',
      3333,
      2222,
      10300,
    ]);
  });

  it.each(['mon', 'bkmonitor', 'My_Shop-2', '2', 'prod.eu-1', 'a'.repeat(64)])(
    'take the prefix of tables %s',
    (prefix) => {
      expect(loadSettings({ TIDEMARK_TABLE_PREFIX: prefix }).tablePrefix).toBe(prefix);
    },
  );

  // YAML reads these as numbers and truth values, which are written otherwise.
  it.each(['0123456', '007', '12345678901234567890123', '1e3', '0x10', '1.50', 'True', '.5'])(
    'take a text and a password from the file as they are written: %s',
    async (text) => {
      const { env } = await withFile(`questdb:\n  readonly_user: ${text}\n  readonly_password: ${text}\n`);
      const { questdb } = loadSettings(env);
      expect([questdb.readonlyUser, questdb.readonlyPassword]).toEqual([text, text]);
    },
  );

  it('take the value that an alias names, and refuse an alias of several values', async () => {
    const { env } = await withFile('bind_host: &here 10.0.0.1\ningress:\n  push_host: *here\n');
    expect(loadSettings(env).ingress.pushHost).toBe('10.0.0.1');
    const several = await withFile('ingress: &here\n  push_port: 1\ntransfer: *here\n');
    expect(refusalOf(several.env)).toContain(
      `${several.file}:3:11: the alias *here stands for several values. Write them there`,
    );
  });

  it('take a number and a truth value from the file in every form of YAML', async () => {
    const { env } = await withFile(
      'questdb:\n  http_port: 0x2328\ningress:\n  connections_max: 1e3\nclickhouse:\n  unconfined: True\n',
    );
    const { questdb, ingress, clickhouse } = loadSettings(env);
    expect([questdb.httpPort, ingress.connectionsMax, clickhouse.isUnconfined]).toEqual([9000, 1000, true]);
  });

  it('ignore variables of other programs, and a file with nothing in it', async () => {
    const { env } = await withFile('# nothing yet\n', { PATH: '/bin', TIDE: 'x', tidemark_data: 'x' });
    expect(loadSettings(env)).toEqual(loadSettings({}));
  });
});

describe('a setting that cannot be used', () => {
  const wrong: [env: string, value: string, why: string][] = [
    ['TIDEMARK_INGRESS_PUSH_PORT', '65536', 'is not a port (0 to 65535)'],
    ['TIDEMARK_INGRESS_PUSH_PORT', '-1', 'is not a port (0 to 65535)'],
    ['TIDEMARK_INGRESS_PUSH_PORT', '80.5', 'is not a port (0 to 65535)'],
    ['TIDEMARK_INGRESS_PUSH_PORT', '', 'is not a port (0 to 65535)'],
    ['TIDEMARK_MAX_RATE_DEFAULT', 'many', 'is not an integer'],
    ['TIDEMARK_MAX_RATE_DEFAULT', '1e3', 'is not an integer'],
    ['TIDEMARK_INGRESS_CONNECTIONS_MAX', '-1', 'is not a whole number from 0'],
    ['TIDEMARK_INGRESS_IDLE_TIMEOUT_MS', '30s', 'is not a whole number from 0'],
    ['TIDEMARK_INGRESS_IDLE_TIMEOUT_MS', '99999999999', 'is not a whole number from 0 to 999999999'],
    ['TIDEMARK_MAX_RATE_DEFAULT', '1234567890123456', 'is not an integer of at most 15 digits'],
    ['TIDEMARK_INGRESS_BYTES_IN_FLIGHT_MAX', '64MB', 'is not a size'],
    ['TIDEMARK_DURABILITY', 'disk', 'is not process or power'],
    ['TIDEMARK_INGRESS_BYTES_IN_FLIGHT_MAX', '-1', 'is not a size'],
    ['TIDEMARK_INGRESS_BYTES_IN_FLIGHT_MAX', '1.5GiB', 'is not a size'],
    ['TIDEMARK_NATS_URL', 'localhost', 'is not one or several addresses'],
    ['TIDEMARK_NATS_URL', 'localhost:4222', 'is not one or several addresses'],
    ['TIDEMARK_QUESTDB_URL', 'questdb.example:9000', 'is not an address'],
    [
      'TIDEMARK_QUESTDB_URLS',
      'http://questdb-b:9000',
      'the value in place 1 of its list is not like name=http://host:port',
    ],
    [
      'TIDEMARK_QUESTDB_URLS',
      'b=http://b:1,B=http://c:1',
      'the value in place 2 of its list is not like name',
    ],
    ['TIDEMARK_QUESTDB_URLS', 'b=nats://b:1', 'the value in place 1 of its list is not like name'],
    ['TIDEMARK_QUESTDB_URLS', 'b=http://b:1,', 'the value in place 2 of its list is not like name'],
    [
      'TIDEMARK_QUESTDB_URLS',
      'b=http://b:1,b=http://c:1',
      'the value in place 2 of its list repeats the name b, which an instance before it has',
    ],
    ['TIDEMARK_QUESTDB_URLS', 'default=http://b:1', 'in place 1 of its list repeats the name default'],
    ['TIDEMARK_ADMIN_URL', 'localhost', 'is not an address'],
    // No role could ever connect to these.
    ['TIDEMARK_NATS_URL', 'http://a:1', 'is not one or several addresses like nats://host:port or tls://'],
    ['TIDEMARK_NATS_URL', 'nats://a:1,ws://b:1', 'is not one or several addresses'],
    ['TIDEMARK_QUESTDB_URL', 'tcp://a:1', 'is not an address like http://host:port or https://'],
    ['TIDEMARK_CLICKHOUSE_URL', 'ftp://a:1', 'is not an address like http://host:port or https://'],
    ['TIDEMARK_TRACING_URL', 'grpc://a:1', 'is not an address like http://host:port or https://'],
    ['TIDEMARK_ADMIN_URL', 'ftp://a:1', 'is not an address like http://host:port or https://'],
    ['TIDEMARK_INGRESS_HEADER_BYTES_MAX', '1073741825', 'is not a size of at most 1GiB'],
    ['TIDEMARK_INGRESS_BYTES_IN_FLIGHT_MAX', '8388608GiB', 'is not a size (a number, or'],
    ['TIDEMARK_ADMIN_URL', 'http://someone@a:1', 'has a user or a password'],
    ['TIDEMARK_NODE_MANAGEMENT_URL', 'https://:hidden@a:1/api', 'has a user or a password'],
    ['TIDEMARK_NODE_MANAGEMENT_TOKEN_HEADER', 'bad header', 'is not the name of a header field'],
    ['TIDEMARK_BIND_HOST', '', 'is empty'],
    ['TIDEMARK_BIND_HOST', '999.1.1.1', 'is not an IPv4 address'],
    ['TIDEMARK_INGRESS_PUSH_HOST', '10.0.0.1.1', 'is not an IPv4 address'],
    ['TIDEMARK_INGRESS_OTLP_HOST', '10.0.0.256', 'is not an IPv4 address'],
    ['TIDEMARK_DATA', '', 'is empty'],
    ['TIDEMARK_LOG_LEVEL', 'verbose', '"verbose" is not one of trace'],
    // QuestDB makes no table of most of these.
    ...['', 'a/b', 'a b', 'ÄÖ', '.a', 'a.', 'a..b', 'a'.repeat(65)].map((value): [string, string, string] => [
      'TIDEMARK_TABLE_PREFIX',
      value,
      'is not a prefix of at most 64 letters',
    ]),
  ];

  it.each(wrong)('is refused with its variable, value and reason: %s=%j', (name, value, why) => {
    const message = refusalOf({ [name]: value });
    expect(message).toContain(name);
    expect(message).toContain(why);
  });

  it.each(wrong.filter(([, value]) => value !== ''))(
    'is refused with file and line: %s=%j',
    async (name, value, why) => {
      const key = settingDefinitions.find(({ env }) => env === name)?.key ?? '';
      const [head = '', tail] = key.split('.');
      const { file, env } = await withFile(
        `# a comment\n${head}:${tail === undefined ? '' : `\n  ${tail}:`} "${value}"\n`,
      );
      const message = refusalOf(env);
      expect(message).toContain(`${file}:${tail === undefined ? 2 : 3}:`);
      expect(message).toContain(why);
    },
  );

  // fetch refuses them, and its error would put the password into records and the terminal.
  it.each(['TIDEMARK_ADMIN', 'TIDEMARK_NODE_MANAGEMENT'])(
    'is refused without its password, and with the setting for the token: %s_URL',
    (name) => {
      const message = refusalOf({ [`${name}_URL`]: 'https://someone:hidden@a:1' });
      expect(message).toContain(`${name}_URL`);
      expect(message).toContain(`${name}_TOKEN`);
      expect(message).not.toMatch(/someone|hidden/);
    },
  );

  // An empty value in YAML is null: it must not become the text "null" as an address or a folder.
  it('is refused or the default where the file leaves it empty', async () => {
    const taken: string[] = [];
    for (const key of inFile.map((definition) => definition.key)) {
      const { file, env } = await withFile(`${yaml(key, '')}`);
      try {
        if (!isDeepStrictEqual(loadSettings(env), loadSettings({}))) taken.push(key);
      } catch (error) {
        expect(errorText(error)).toContain(file);
      }
    }
    expect(taken).toEqual([]);
  });

  it.each([
    ['TIDEMARK_NAT_URL', 'TIDEMARK_NATS_URL'],
    ['TIDEMARK_INGRESS_PORT', 'TIDEMARK_INGRESS_'],
  ])('is refused where no such variable exists: %s', (name, meant) => {
    const message = refusalOf({ [name]: 'x' });
    expect(message).toContain(`environment variable ${name}`);
    expect(message).toContain(`Did you mean ${meant}`);
  });

  it.each(['TIDEMARK_BOGUS', 'TIDEMARK_'])('suggests none that is not near: %s', (name) => {
    expect(refusalOf({ [name]: 'x' })).toMatch(/unknown setting\. Unset it; docs\/settings\.md lists all/);
  });

  it.each([
    [
      'an unknown key',
      'ingress:\n  push_prot: 1\n',
      ':2:',
      'unknown key ingress.push_prot. Did you mean ingress.push_port',
    ],
    ['an unknown section', 'egress:\n  port: 1\n', ':2:', 'unknown key egress.port'],
    ['a list', 'nats:\n  - url\n', ':2:', 'unknown key nats.0'],
    ['a text instead of settings', 'hello\n', ':1:', 'unknown key'],
    ['a key twice', 'bind_host: a\nbind_host: b\n', ':2:', 'unique'],
    ['what is no YAML', 'nats: {url: [\n', ':2:', '. Correct the YAML there'],
    [
      'an alias without its anchor',
      'bind_host: a\nnats:\n  url: *none\n',
      ':3:8:',
      'the alias *none has no anchor &none before it. Write the value, or the anchor',
    ],
  ])('is refused with its place in the file: %s', async (_, text, line, why) => {
    const { file, env } = await withFile(text);
    const message = refusalOf(env);
    expect(message).toContain(`${file}${line}`);
    expect(message).toContain(why);
  });

  it('is refused where there is no file of that name', async () => {
    const folder = await tempFolder();
    expect(refusalOf({ TIDEMARK_CONFIG: join(folder, 'none.yaml') })).toMatch(
      /none\.yaml: cannot be read \(ENOENT.*\)\. Correct the path or the permissions of the file$/,
    );
    await mkdir(join(folder, 'sub'));
    expect(refusalOf({ TIDEMARK_CONFIG: join(folder, 'sub') })).toContain('cannot be read');
  });
});

// More people read the logs and consoles with a refused start than may have the password.
describe('a secret', () => {
  const secret = 's3cr3t-Pa55';
  it.each([
    ['TIDEMARK_NATS_URL', `nats://tidemark:${secret}@localhost:99999`],
    ['TIDEMARK_NATS_URL', `nats://tidemark/${secret}:a@b@127.0.0.1`],
    ['TIDEMARK_NATS_URL', `nats://tidemark:1/${secret}@127.0.0.1`],
    ['TIDEMARK_NATS_URL', `nats://tidemark:1#${secret}@127.0.0.1`],
    ['TIDEMARK_QUESTDB_URL', `http://admin:${secret}@local host:9000`],
    ['TIDEMARK_CLICKHOUSE_URL', `http://tidemark:${secret}@`],
    ['TIDEMARK_QUESTDB_URLS', `b=http://admin:${secret}@b:1,c=http://admin:${secret}@local host:9000`],
    ['TIDEMARK_QUESTDB_URLS', `http://admin:${secret}@b:1`],
  ])('in %s is not shown when the address cannot be used', async (name, value) => {
    expect(refusalOf({ [name]: value })).not.toContain(secret);
    const [head, tail] = settingDefinitions.find(({ env }) => env === name)?.key.split('.') ?? [];
    const { env } = await withFile(`${head}:\n  ${tail}: "${value}"\n`);
    expect(refusalOf(env)).not.toContain(secret);
  });

  it.each([
    ['TIDEMARK_NATS_URL', `nats://operator:${secret}%off@n:1`, 'write %25'],
    ['TIDEMARK_NATS_URL', `nats://a:1,nats://${secret}%@n:1`, 'write %25'],
    ['TIDEMARK_QUESTDB_URL', `http://operator:${secret}%off@q:1`, 'write %25'],
    ['TIDEMARK_CLICKHOUSE_URL', `http://${secret}%2:x@c:1`, 'write %25'],
    ['TIDEMARK_QUESTDB_URLS', `b=http://b:1,c=http://operator:${secret}%off@q:1`, 'write %25'],
    ['TIDEMARK_NATS_URL', `nats://operator:${secret}%ff@n:1`, 'is not UTF-8'],
  ])('in %s with a wrong %% is refused with the remedy and is not shown', (name, value, remedy) => {
    const message = refusalOf({ [name]: value });
    expect(message).toContain(name);
    expect(message).toContain(remedy);
    expect(message).not.toContain(secret);
  });

  it('with a % and other characters is taken where they are written as codes', () => {
    const url = 'nats://operator:50%25off%40%C3%A9@n:1,tls://n:2';
    expect(loadSettings({ TIDEMARK_NATS_URL: url }).nats.url).toBe(url);
  });

  it('for a header is not shown when it holds a line feed', () => {
    const message = refusalOf({ TIDEMARK_NODE_MANAGEMENT_TOKEN: `${secret}\nsecond line` });
    expect(message).toContain('TIDEMARK_NODE_MANAGEMENT_TOKEN: the value has a character that no header may');
    expect(message).not.toMatch(/s3cr3t|second/);
  });

  // As from a secret that was made of a file.
  it('takes a token of node management with a line feed at its end', () => {
    const { nodeManagement } = loadSettings({ TIDEMARK_NODE_MANAGEMENT_TOKEN: 'abc\n' });
    expect(nodeManagement.token).toBe('abc');
  });

  it('like the admin token is read from the variable, else from the data folder', async () => {
    const folder = await tempFolder();
    await writeFile(join(folder, 'admin.token'), `${secret}\n`);
    expect(loadSettings({ TIDEMARK_DATA: folder }).admin.token).toBe(secret);
    expect(loadSettings({ TIDEMARK_DATA: folder, TIDEMARK_ADMIN_TOKEN: 'other' }).admin.token).toBe('other');
  });
});

describe('a size', () => {
  it.each([
    ['0', 0],
    ['512', 512],
    ['64KiB', 65_536],
    ['16MiB', 16 * 2 ** 20],
    ['2 GiB', 2 * 2 ** 30],
    [' 1KiB ', 1024],
    ['', undefined],
    ['KiB', undefined],
    ['1kib', undefined],
    ['1KB', undefined],
    ['1.5MiB', undefined],
    ['-1', undefined],
    ['1 MiB 2', undefined],
    ['1234567890123', undefined],
    ['8388607GiB', 8_388_607 * 2 ** 30],
    ['8388608GiB', undefined],
    ['999999999999GiB', undefined],
  ])('of %j is %s', (text, bytes) => {
    expect(parseBytes(text)).toBe(bytes);
  });
});

describe('the engines', () => {
  // A folder that does not exist: the default one has the credentials of `tidemark up` once it ran here.
  const withoutData = { TIDEMARK_DATA: '/nonexistent' };

  const urls = (env: NodeJS.ProcessEnv): Settings['admin']['url'][] => {
    const settings = loadSettings({ ...withoutData, ...env });
    return [...Object.values(engineUrls(settings)), settings.admin.url];
  };

  it.each([
    [
      {},
      ['nats://127.0.0.1:4222', 'http://127.0.0.1:9000', 'http://127.0.0.1:8123', 'http://127.0.0.1:10300'],
    ],
    // All addresses is where to listen, and nowhere to connect to.
    [
      { TIDEMARK_BIND_HOST: '0.0.0.0', TIDEMARK_NATS_CLIENT_PORT: '1' },
      ['nats://127.0.0.1:1', 'http://127.0.0.1:9000', 'http://127.0.0.1:8123', 'http://127.0.0.1:10300'],
    ],
    // The engines of `tidemark up` stay on loopback, where the roles listen elsewhere.
    [
      { TIDEMARK_BIND_HOST: '::1', TIDEMARK_NATS_CLIENT_PORT: '1' },
      ['nats://127.0.0.1:1', 'http://127.0.0.1:9000', 'http://127.0.0.1:8123', 'http://[::1]:10300'],
    ],
    [
      {
        TIDEMARK_NATS_URL: 'nats://n:1',
        TIDEMARK_QUESTDB_URL: 'http://q:2',
        TIDEMARK_CLICKHOUSE_URL: 'http://c:3',
        TIDEMARK_ADMIN_URL: 'http://a:4',
      },
      ['nats://n:1', 'http://q:2', 'http://c:3', 'http://a:4'],
    ],
  ])('are reached at the address of %j', (env, expected) => {
    expect(urls(env)).toEqual(expected);
  });

  it('of points are the first one, called default, and the further ones by name in their order', () => {
    const further = ' b=http://q-b:2, a-1=https://user:pass@q-a:3/ ';
    const settings = loadSettings({ TIDEMARK_QUESTDB_URL: 'http://q:1', TIDEMARK_QUESTDB_URLS: further });
    expect(questdbInstances(settings)).toEqual([
      { name: 'default', url: 'http://q:1' },
      { name: 'b', url: 'http://q-b:2' },
      { name: 'a-1', url: 'https://user:pass@q-a:3/' },
    ]);
    expect(questdbInstances(loadSettings(withoutData))).toEqual([
      { name: 'default', url: 'http://127.0.0.1:9000' },
    ]);
  });
});
