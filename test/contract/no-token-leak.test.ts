import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { basicAuthorization } from '../../src/embedded/credentials.ts';
import { allKnown } from '../support/examples/sources.ts';
import { administer } from '../support/metadata/token-administration.ts';
import { encodings } from '../support/otlp/client.ts';
import { sendExports } from '../support/otlp/token-exports.ts';
import { openTokenTraffic, type TokenTraffic } from '../support/outcomes/token-traffic.ts';
import { sendPushes } from '../support/push/token-pushes.ts';
import type { Leak } from '../support/secrets.ts';
import { type Stack, startStack } from '../support/stack/stack.ts';
import { untilApplied } from '../support/until-applied.ts';
import { waitFor } from '../support/wait.ts';

let stack: Stack;
let traffic: TokenTraffic;
let bus: Bus;
/** Every published message, as its stream keeps it: subject, headers and payload. */
const published: { subject: string; text: string }[] = [];
/** Where the dimension is stored that holds a token. */
let plainTable = '';

const streams = ['metrics', 'traces', 'ledger', 'deadletter', 'audit'];

const listen = (): void => {
  for (const stream of streams)
    bus.nc.subscribe(`${stream}.>`, {
      callback: (error, { subject, headers, data }) => {
        if (error !== null) throw error;
        const lines = (headers?.keys() ?? []).map((name) => `${name}: ${headers?.get(name)}`);
        const text = [subject, ...lines, Buffer.from(data).toString('latin1')].join('\n');
        published.push({ subject, text });
      },
    });
};

const roles = () => [...stack.ingress, ...stack.transfer, stack.metadata];

/** Every table of QuestDB, row by row, as text. */
const questdbRows = async (): Promise<{ table: string; text: string }[]> => {
  const tables = (await stack.query('SELECT table_name FROM tables()')).dataset.map(([name]) => String(name));
  return Promise.all(
    tables.map(async (table) => ({
      table,
      text: JSON.stringify(await stack.query(`SELECT * FROM "${table}"`)),
    })),
  );
};

/** Every table of ClickHouse that is written to, those of Tidemark and the server's own logs. */
const clickhouseRows = async (): Promise<{ table: string; text: string }[]> => {
  const tables = await stack.spansQuery(
    // Views compute what their tables hold.
    `SELECT database, name FROM system.tables WHERE database IN ('otel', 'default') AND engine != 'View'
       OR (database = 'system' AND (name LIKE '%_log' OR name IN ('processes', 'errors', 'query_cache')))`,
  );
  return Promise.all(
    tables.map(async ({ database, name }) => {
      const table = `${database}.${name}`;
      return { table, text: JSON.stringify(await stack.spansQuery(`SELECT * FROM ${table}`)) };
    }),
  );
};

/** Of the engines, as they are and as HTTP Basic sends them. */
const notePasswords = (): void => {
  const { nats, questdb, clickhouse, reader } = stack.engines;
  const operators = [nats, questdb, clickhouse].map(({ name, url }) => {
    const { username: user, password } = new URL(url);
    return { name, user, password };
  });
  for (const { name, ...account } of [...operators, { name: 'readers', ...reader }]) {
    traffic.secrets.note(`the password of ${name}`, account.password);
    traffic.secrets.note(`the password of ${name}, sent`, basicAuthorization(account).replace('Basic ', ''));
  }
};

beforeAll(async () => {
  stack = await startStack({ traces: true, env: { TIDEMARK_LOG_LEVEL: 'trace' } });
  bus = await connectBus(stack.engines.nats.url, 'test');
  listen();
  traffic = await openTokenTraffic(stack);
  notePasswords();
  await allKnown(stack);
  const pushes = await sendPushes(traffic);
  plainTable = pushes.plainTable;
  await sendExports(traffic);
  await administer(traffic);
  await stack.waitForEmptyStream('METRICS');
  await stack.waitForEmptyStream('TRACES');
  await waitFor('a dead letter', 60_000, () =>
    published.some(({ subject }) => subject.startsWith('deadletter.')),
  );
  await waitFor('the usage of a sender that calls itself by a token', 60_000, () =>
    published.some(
      ({ subject, text }) => subject === 'ledger.usage' && text.includes(`"data_id":${pushes.namedByToken},`),
    ),
  );
  await untilApplied(stack);
  await bus.nc.flush();
});
afterAll(async () => {
  await bus?.close();
  await stack?.stop();
});

// People without the right to send in another name read logs, labels and tables.
describe('no token is found', () => {
  it('where there is something to be found', async () => {
    const { secrets, misplaced } = traffic;
    expect([secrets.size, misplaced.size].map((size) => size > 10)).toEqual([true, true]);
    const subjects = new Set(published.map(({ subject }) => subject.split('.')[0]));
    expect([...subjects]).toEqual(expect.arrayContaining(['metrics', 'traces', 'deadletter', 'audit']));
    const stored = await stack.spansQuery('SELECT count() AS spans FROM otel.otel_traces');
    expect(Number(stored[0]?.['spans'])).toBeGreaterThan(10);
    expect((await questdbRows()).length).toBeGreaterThan(2);
    for (const role of roles()) expect(role.lines.length).toBeGreaterThan(0);
  });

  it('in the log of any role or engine', () => {
    const { secrets, misplaced } = traffic;
    const found: Leak[] = [];
    for (const { name, lines } of [...roles(), { name: 'engine', lines: stack.engines.lines }]) {
      found.push(...secrets.in(name, lines.join('\n')), ...misplaced.in(name, lines.join('\n')));
    }
    expect(found).toEqual([]);
  });

  it('in any metric', async () => {
    const { secrets, misplaced } = traffic;
    const found: Leak[] = [];
    for (const role of roles()) {
      const text = await role.metrics();
      expect(text).toContain('tidemark_');
      found.push(...secrets.in(role.name, text), ...misplaced.in(role.name, text));
    }
    expect(found).toEqual([]);
  });

  it('in any message of METRICS, TRACES, LEDGER, DEADLETTER and AUDIT', () => {
    expect(published.flatMap(({ subject, text }) => traffic.secrets.in(subject, text))).toEqual([]);
    const ofOthers = published.filter(({ subject }) => /^(ledger|audit)\./.test(subject));
    expect(ofOthers.flatMap(({ subject, text }) => traffic.misplaced.in(subject, text))).toEqual([]);
  });

  it('in any table of QuestDB and ClickHouse', async () => {
    const rows = [...(await questdbRows()), ...(await clickhouseRows())];
    expect(rows.map(({ table }) => table)).toContain('otel.otel_traces');
    expect(rows.flatMap(({ table, text }) => traffic.secrets.in(table, text))).toEqual([]);
  });

  it('in any answer of a receiver', () => {
    const { answers, secrets } = traffic;
    expect(answers.length).toBeGreaterThan(80);
    expect(answers.flatMap((text) => secrets.in('an answer', text))).toEqual([]);
  });

  it('in any file, but for the records themselves, the first admin token and the configuration of NATS', () => {
    // The records are in the buckets, tokens and all (architecture 3.2); the admin token is in a file for its operator.
    const isRecord = (path: string): boolean =>
      ['data/admin.token', 'nats/nats.conf'].includes(path) || path.includes('/streams/KV_tidemark-records/');
    expect(traffic.secrets.inFiles(stack.folder, isRecord)).toEqual([]);
  });

  it('among the data of its sender but where that is stored', async () => {
    const found = [...(await questdbRows()), ...(await clickhouseRows())].flatMap(({ table, text }) =>
      traffic.misplaced.in(table, text),
    );
    // Attributes and dimensions are stored as they are sent, but for those that are named as a credential.
    const ofSpans = encodings.flatMap((encoding) => [
      `otel.otel_traces: an SDK of ${encoding}`,
      `otel.otel_traces: an attribute of ${encoding}`,
    ]);
    expect(found.toSorted()).toEqual([`${plainTable}: a dimension`, ...ofSpans.toSorted()]);
  });
});
