import { createHash } from 'node:crypto';
import type { DatabaseAccounts } from '../config/engine-credentials.ts';

const xmlText = (text: string): string =>
  text.replace(/[<>&]/g, (character) => `&#${character.charCodeAt(0)};`);

type Xml = { readonly [name: string]: Xml | string | number | readonly (Xml | string | number)[] };

const elements = (content: Xml | string | number): string =>
  typeof content === 'object'
    ? Object.entries(content)
        .flatMap(([name, value]) => [value].flat().map((each) => `<${name}>${elements(each)}</${name}>`))
        .join('\n')
    : xmlText(String(content));

const document = (content: Xml): string => `${elements({ clickhouse: content })}\n`;

/** Names of this machine on its own loopback, as patterns. */
const ownNames = '(127\\.0\\.0\\.1|localhost|\\[::1\\])';

const matching = (pattern: string): string => `regex:${pattern}`;

/** The server answers requests from this machine's own names and pages that have credentials. */
const handlers = (port: number): readonly Xml[] => {
  const local = {
    // At any port: a proxy has another.
    Host: matching(`^${ownNames}(:[0-9]+)?$`),
    Origin: matching(`^(https?://${ownNames}:${port})?$`),
    'Sec-Fetch-Site': matching('^(same-origin|none)?$'),
  };
  const answer = (status: number, text: string, headers: Xml = {}): Xml => ({
    type: 'static',
    status,
    http_response_headers: { 'Content-Type': 'text/plain; charset=UTF-8', ...headers },
    response_content: `${text}\n`,
  });
  return [
    ...['Authorization', 'X-ClickHouse-User'].map((header) => ({
      url: '/',
      headers: { ...local, [header]: matching('.+') },
      handler: { type: 'dynamic_query_handler', query_param_name: 'query' },
    })),
    { url: '/ping', headers: local, handler: answer(200, 'Ok.') },
    {
      headers: local,
      handler: answer(401, 'HTTP Basic authentication is required: tidemark env prints user and password.', {
        'WWW-Authenticate': 'Basic realm="ClickHouse"',
      }),
    },
    { handler: answer(403, 'Requests with a foreign Host or Origin are refused.') },
  ];
};

/** Neither of them reads or writes anything outside this server. */
const tableEngines = [
  ...['Atomic', 'Memory', 'Null', 'Log', 'TinyLog', 'StripeLog', 'Set', 'Join', 'Buffer', 'Merge'],
  ...['View', 'MaterializedView', 'GenerateRandom', 'MergeTree', 'ReplacingMergeTree'],
  ...['AggregatingMergeTree', 'SummingMergeTree', 'CollapsingMergeTree', 'VersionedCollapsingMergeTree'],
  ...['CoalescingMergeTree', 'GraphiteMergeTree'],
];

/**
 * All of SQL except what reaches files or the network: sources, dictionaries, further listeners, the rights of users.
 */
const operatorRights = [
  'SHOW, SELECT, INSERT, CHECK, ALTER, DROP, UNDROP TABLE, TRUNCATE, OPTIMIZE, BACKUP, KILL QUERY, dictGet',
  'CREATE DATABASE, CREATE TABLE, CREATE VIEW, CREATE ARBITRARY TEMPORARY TABLE, CREATE TEMPORARY VIEW, CREATE FUNCTION',
  'SYSTEM MERGES, SYSTEM TTL MERGES, SYSTEM MOVES, SYSTEM CLEANUP, SYSTEM VIEWS, SYSTEM FLUSH, SYSTEM DROP CACHE',
  'SYSTEM SYNC REPLICA, SYSTEM WAIT LOADING PARTS, SYSTEM LOAD PRIMARY KEY, SYSTEM UNLOAD PRIMARY KEY',
];

const grants = (...rights: readonly string[]): Xml => ({ query: rights.map((right) => `GRANT ${right}`) });

/** Settings that name files or disks: no user may change them. */
const fixedSettings: Xml = Object.fromEntries(
  [
    ...['merge_tree_disk', 'format_schema', 'output_format_schema', 'format_template_row'],
    ...['format_template_resultset', 'format_avro_schema_registry_url'],
  ].map((name) => [name, { const: '' }]),
);

/** The limits of one query of a reader. A value of 0 would be no limit. */
export const readerLimits = {
  max_execution_time: 60,
  max_rows_to_read: 1_000_000_000,
  max_result_rows: 1_000_000,
  max_result_bytes: 1_000_000_000,
  max_memory_usage: 2_000_000_000,
  max_temporary_data_on_disk_size_for_query: 4_000_000_000,
  max_temporary_data_on_disk_size_for_user: 8_000_000_000,
  max_concurrent_queries_for_user: 32,
} as const;

/** Reads, with limits that it may lower and not raise. Other settings of a query are its own (2): clients send some with each. */
const readerProfile: Xml = {
  readonly: 2,
  ...readerLimits,
  constraints: Object.fromEntries(Object.entries(readerLimits).map(([name, max]) => [name, { min: 1, max }])),
};

const loopbackOnly: Xml = { ip: ['127.0.0.1', '::1'] };

const user = (password: Xml, profile: string, rights: Xml): Xml => ({
  ...password,
  networks: loopbackOnly,
  profile,
  quota: 'default',
  grants: rights,
});

const hashed = (password: string): Xml => ({
  password_sha256_hex: createHash('sha256').update(password).digest('hex'),
});

/** The configuration of the server and its users: files of clickhouse-local. They hold no password, only hashes of long random ones. */
export const clickhouseConfiguration = ({
  port,
  accounts,
  usersFile,
}: {
  readonly port: number;
  readonly accounts: DatabaseAccounts;
  /** Name of the second file, beside the first. */
  readonly usersFile: string;
}): { readonly server: string; readonly users: string } => ({
  server: document({
    users_config: usersFile,
    // None: by these addresses every function and engine goes that speaks HTTP.
    remote_url_allow_hosts: '',
    allowed_disks_for_table_engines: 'default',
    http_handlers: { rule: handlers(port) },
  }),
  users: document({
    profiles: {
      default: { constraints: fixedSettings },
      reader: readerProfile,
      library: { max_sessions_for_user: 1 },
    },
    quotas: { default: '' },
    users: {
      // The library's own session, which opens the listener and sleeps. It has no password and its place is taken: the profile
      // allows one session, so that no request can be this user.
      default: user({ password: '' }, 'library', grants('SYSTEM LISTEN ON *.*', 'SELECT ON system.numbers')),
      [accounts.user]: user(
        hashed(accounts.password),
        'default',
        grants(
          ...operatorRights.map((rights) => `${rights} ON *.*`),
          ...tableEngines.map((engine) => `TABLE ENGINE ON ${engine}`),
        ),
      ),
      [accounts.readonlyUser]: user(
        hashed(accounts.readonlyPassword),
        'reader',
        grants('SHOW, SELECT, dictGet ON *.*'),
      ),
    },
  }),
});
