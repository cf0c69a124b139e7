import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { publishConfirmed } from '../../src/bus/outbox.ts';
import { definedMetrics, roles } from '../../tools/docs/metrics.ts';
import { codeOf, readDocument } from '../support/docs-code.ts';
import { readDeadLetters } from '../support/outcomes/dead-letters.ts';
import { engineVariables } from '../support/stack/fetch-engine.ts';
import { type Report, type Stack, startStack } from '../support/stack/stack.ts';
import { until } from '../support/until.ts';

const root = resolve(import.meta.dirname, '../..');
const files = ['docs/runbook.md', 'docs/operations.md'];
const isCommand = /^(?:tidemark [a-z]|curl |nats |SELECT |ALTER |BACKUP |RESTORE |B=|cp |export )/;

/** Blocks are run as wholes, so their lines are no commands here. */
const spansOf = (path: string): string[] =>
  codeOf(readDocument(path).replace(/^```[^\n]*\n.*?^```/gms, '')).map((line) => line.trim());
const commands = [...new Set(files.flatMap(spansOf))].filter((line) => isCommand.test(line));
const blocks = [...readDocument('docs/operations.md').matchAll(/^```sh\n(.*?)^```/gms)].map(
  ([, block = '']) => block,
);

/** What each prints at least, run as it stands with its placeholders filled; `code` where that is how it ends. */
const runs: Readonly<Record<string, { readonly prints: RegExp; readonly code?: number }>> = {
  'tidemark doctor': { prints: /ok\s+nats/ },
  'tidemark config check': { prints: /settings and pipelines are valid/ },
  'tidemark config nats-users': { prints: /\$JS\.API\.CONSUMER\.MSG\.NEXT\.METRICS\.questdb/ },
  'tidemark config nats-users --values': { prints: /password: << \$NATS_INGRESS_PASSWORD >>/ },
  'curl -s http://<process>:<operations port>/readyz': { prints: /"ready":true/ },
  'tidemark ledger': { prints: /^WHOSE .*\n.* yes / },
  'tidemark ledger --since 1h': { prints: /^WHOSE .*\n.* yes / },
  'tidemark ledger --json': { prints: /"not_known_since": ?null/ },
  'tidemark ledger --data-id <id> --by-minute': { prints: /^MINUTE .*\n.* yes / },
  'tidemark account': { prints: /^no differences: the books agree/ },
  'tidemark account --stores --owner <id>': { prints: /^WHOSE .*\n.* yes / },
  // Nothing is lost here.
  'tidemark account close --data-id <id> --kind <kind> --reason "…"': {
    prints: /data id \d+ has no open difference of kind/,
    code: 1,
  },
  'tidemark dlq list': { prints: /unreadable_message/ },
  'tidemark dlq list --limit 5': { prints: /SEQUENCE/ },
  'tidemark dlq list --reason table_unavailable': { prints: /SEQUENCE/ },
  'tidemark dlq show <number>': { prints: /unreadable_message/ },
  // Bare, as the short name of a longer command: nothing may happen.
  'tidemark dlq redrive': { prints: /all: true/, code: 1 },
  'tidemark dlq purge': { prints: /all: true/, code: 1 },
  'tidemark dlq redrive --reason table_unavailable': { prints: /^0 dead letters/ },
  'tidemark dlq redrive --all': { prints: /^[1-9]\d* dead letters .* redriven/ },
  'tidemark dlq purge <number> --yes': { prints: /^1 dead letter .* purged/ },
  'tidemark dlq resume metrics': { prints: /metrics is resumed/ },
  'tidemark table <id> --cardinality': { prints: /./ },
  'tidemark usage --disk': { prints: /questdb|QuestDB/ },
  'tidemark explain not_stored': { prints: /not_stored/ },
  'tidemark explain <reason>': { prints: /timestamp_too_old/ },
  'tidemark runbook <alarm>': { prints: /What to do/ },
  'tidemark drops --since 1h': { prints: /unauthorized/ },
  'tidemark drops --since 1h --reason unauthorized': { prints: /unauthorized/ },
  'tidemark drops --reason unauthorized': { prints: /unauthorized/ },
  'tidemark usage --failing': { prints: /SENDER|no sender/i },
  'tidemark usage --silent': { prints: /OWNER|WHOSE|no /i },
  'tidemark admin-token list': { prints: /admin/ },
  'tidemark top --once': { prints: /METRICS/ },
  'tidemark audit': { prints: /token/ },
  'tidemark console': { prints: /\/console\/login#/ },
  'tidemark audit --kind data_source --limit 20': { prints: /token/ },
  'tidemark token show <id>': { prints: /[0-9a-f]{32}/ },
  'tidemark report columns <id>': { prints: /COLUMN/ },
  'tidemark refresh': { prints: /state +done/ },
  'tidemark refresh list': { prints: / done / },
  'tidemark refresh show <run_id>': { prints: /state +done/ },
  "SELECT partition, count() FROM system.parts WHERE active AND table = 'otel_traces' GROUP BY partition ORDER BY count() DESC":
    { prints: /^\d{4}-\d\d-\d\d\t\d+/ },
  'SELECT name, sequencerTxn - writerTxn AS behind FROM wal_tables() ORDER BY behind DESC': {
    prints: /__default__/,
  },
  'SELECT name, suspended, errorTag, errorMessage FROM wal_tables() WHERE suspended': { prints: /"count":0/ },
  'ALTER TABLE "<table_id>" RESUME WAL': { prints: /"ddl":"OK"/ },
  'tidemark migrate': { prints: /^schema version \d+/ },
  'tidemark migrate --print --cluster tidemark': { prints: /ON CLUSTER/ },
  'tidemark config print': { prints: /TIDEMARK_/ },
  'tidemark account --stores': { prints: /compared/ },
  'tidemark processes': { prints: /metadata/ },
  'tidemark placement list': { prints: /default/ },
  'tidemark export --output records.json': { prints: /reports +[1-9]/ },
  'tidemark import records.json': { prints: /unchanged +[1-9]/ },
  'tidemark backup --to <folder> --streams-only': { prints: /DEADLETTER +\d+ messages/ },
};

/** Names of commands in a sentence, and what wants more than one stack: what runs it, or why nothing does. */
const notRun: Readonly<Record<string, string>> = {
  'tidemark ledger --data-id N': 'named: with an id above',
  'tidemark drops --tail': 'has no end: test/operations/drops.test.ts',
  'tidemark top': 'has no end: test/operations/line.test.ts',
  'tidemark ingress --processes 4': 'test/engines/transfer/ingress-processes.ts',
  'tidemark backup': 'named: its options stand elsewhere in the document',
  'tidemark restore': 'named: its options stand in the block of the restore',
  'tidemark export': 'named: its options stand elsewhere in the document',
  'tidemark import': 'named: its file stands elsewhere in the document',
  'tidemark restore --check <folder>': 'test/operations/moving.test.ts',
  'tidemark restore <folder>': 'test/operations/moving.test.ts',
  'tidemark up --no-demo': 'test/operations/up.test.ts',
  'tidemark up': 'test/operations/up.test.ts',
  'tidemark env': 'test/operations/up-access.test.ts',
  'tidemark placement list --questdb b': 'test/cluster/questdb-instances.test.ts, which has two instances',
  'tidemark report create --questdb b': 'test/cluster/questdb-instances.test.ts, which has two instances',
  'tidemark admin-token create': 'test/operations/admin-tokens.test.ts, with the name and role that it wants',
  'tidemark admin-token revoke': 'test/operations/admin-tokens.test.ts, with the token that it wants',
  'tidemark admin-token reset --revoke-others': 'test/operations/admin-tokens.test.ts',
  'tidemark up --engines-only': 'test/operations/moving.test.ts',
  "ALTER TABLE … FORCE DROP PARTITION LIST '2026-11-28'": 'gives up a day whose files are damaged',
  'SELECT count() FROM "<table_id>" WHERE timestamp IN \'2026-11-28\'':
    'asks for a day that is not there here',
  'BACKUP … TO File(name)': 'test/engines/clickhouse-confined.test.ts, with the name of a database',
  'nats stream report': 'of the program nats, which is not part of this one',
  'nats stream info <stream>': 'of the program nats, which is not part of this one',
};

const backupBegin = 'eval "$(tidemark env)"; ';

/** Blocks of docs/operations.md that this file does not run. */
const blocksNotRun: readonly (readonly [begin: string, why: string])[] = [
  ['INGRESS=$(openssl', 'a cluster: test/unit/docs/cluster-commands.test.ts holds it against the manifests'],
  ['kubectl ', 'a cluster: test/unit/docs/cluster-commands.test.ts holds it against the manifests'],
  ['COMPOSE_PROJECT_NAME=', 'lines of a file'],
  [
    'docker compose -f deploy/compose.yaml run',
    'containers: test/containers/stack.test.ts upgrades with these steps',
  ],
  ['C="docker compose', 'containers: run by hand'],
  ['make test-containers', 'a suite of its own: test/containers/stack.test.ts'],
  ['B=/backup/', 'engines that hold nothing: test/faults/backup-restore.test.ts'],
  ['tidemark backup --to /backup/monday', 'engines of up: test/operations/moving.test.ts'],
  ['TIDEMARK_DATA=/srv/tidemark', 'two installations: test/operations/moving.test.ts'],
  ['export TIDEMARK_DATA=/srv/tidemark', 'two installations: test/operations/moving.test.ts'],
  ['tidemark account export-book', 'two installations: test/operations/moving.test.ts'],
  ['export TIDEMARK_TRACING_URL', 'settings: test/contract/own-spans.test.ts'],
  ['curl -si -H "traceparent', 'wants tracing: test/contract/own-spans.test.ts'],
  ['curl -s -u "$CLICKHOUSE_USER', 'test/contract/own-spans.test.ts runs this text'],
];

let stack: Stack;
let bus: Bus;
let report: Report;
let folder: string;

type Ended = { readonly code: number; readonly output: string };

const shell = (script: string): Promise<Ended> =>
  new Promise((done) => {
    const env = {
      ...process.env,
      ...stack.env,
      TIDEMARK_NATS_URL: stack.engines.asUser(stack.engines.nats.url, 'operator'),
      TIDEMARK_ADMIN_URL: `http://127.0.0.1:${stack.metadata.ports['api']}`,
      TIDEMARK_ADMIN_TOKEN: stack.adminToken(),
      TIDEMARK_INGRESS_PUSH_PORT: String(stack.ingress[0]?.ports['push']),
      TIDEMARK_INGRESS_OTLP_PORT: String(stack.ingress[0]?.ports['otlp']),
      TIDEMARK_INGRESS_GRPC_PORT: 'off',
      ...engineVariables(stack.engines),
      PATH: `${root}/bin:${process.env['PATH']}`,
    };
    execFile('sh', ['-ec', script], { env, cwd: folder }, (error, stdout, stderr) => {
      const code = typeof error?.code === 'number' ? error.code : 0;
      done({ code: error === null ? 0 : code || 1, output: `${stdout}${stderr}` });
    });
  });

const cliJson = async <T>(schema: z.ZodType<T>, line: string): Promise<T> =>
  schema.parse(JSON.parse((await shell(`tidemark ${line} --json`)).output));

const newestLetter = async (): Promise<string> => {
  const letter = await until('there is a dead letter', async () => (await readDeadLetters(bus)).at(-1));
  return String(letter.sequence);
};

const newestRun = async (): Promise<string> => {
  const runsSchema = z.object({ items: z.array(z.object({ run_id: z.union([z.string(), z.number()]) })) });
  return String((await cliJson(runsSchema, 'refresh list')).items[0]?.run_id);
};

/** The command with this stack's values instead of the texts in brackets. */
const filled = async (command: string): Promise<string> => {
  let line = command
    .replace('<process>:<operations port>', `127.0.0.1:${stack.transfer[0]?.ports['ops']}`)
    .replace('<table_id>', report.result_table.table_id)
    .replace('<id>', String(report.data_source.mon_data_id))
    .replace('<reason>', 'timestamp_too_old')
    .replace('<alarm>', 'TidemarkLag')
    .replace('<kind>', 'lost_in_the_stream')
    .replace('<folder>', join(folder, 'alone'));
  if (line.includes('<number>')) line = line.replace('<number>', await newestLetter());
  if (line.includes('<run_id>')) line = line.replace('<run_id>', await newestRun());
  if (!/^(SELECT|ALTER)/.test(line)) return line;
  const quoted = `'${line.replaceAll("'", "'\\''")}'`;
  return line.includes('system.parts')
    ? `printf %s ${quoted} | curl -sf -u "$CLICKHOUSE_USER:$CLICKHOUSE_PASSWORD" "$CLICKHOUSE_URL" --data-binary @-`
    : `curl -sf -u "$QUESTDB_USER:$QUESTDB_PASSWORD" "$QUESTDB_URL/exec" -G --data-urlencode query=${quoted}`;
};

beforeAll(async () => {
  stack = await startStack({ traces: true });
  bus = await connectBus(stack.engines.nats.url, 'test');
  folder = join(stack.folder, 'operator');
  mkdirSync(folder);
  report = await stack.createReport('runbook');
  const { mon_data_id: data_id, token } = report.data_source;
  const push = (access_token: string): Promise<Response> =>
    fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['push']}/v2/push/`, {
      method: 'POST',
      body: JSON.stringify({ data_id, access_token, data: [{ metrics: { cpu: 1 } }] }),
    });
  await until('the data id is known', async () => ((await push(token)).ok ? true : undefined));
  await push('wrong');
  for (const text of ['one', 'two', 'three', 'four'])
    await publishConfirmed(bus, {
      subject: 'metrics.0',
      messageId: `garbage ${text}`,
      payload: Buffer.from(`no envelope: ${text}`),
      version: 1,
    });
  await until('all is dead-lettered', async () =>
    (await readDeadLetters(bus)).length === 4 ? true : undefined,
  );
  await shell(`tidemark token rotate ${data_id} --overlap 1h`);
  await shell('tidemark refresh');
  await until('the example is kept', async () =>
    Number((await stack.spansQuery('SELECT count() AS samples FROM otel.ingest_samples'))[0]?.['samples']) > 0
      ? true
      : undefined,
  );
});
afterAll(async () => {
  await bus?.close();
  await stack?.stop();
});

// What an operator pastes at night has to work.
describe('every command of the runbook and of operations', () => {
  it('runs here, or has a reason why it does not', () => {
    expect(commands.toSorted()).toEqual([...Object.keys(runs), ...Object.keys(notRun)].toSorted());
    const unknown = blocks.filter(
      (block) => !block.startsWith(backupBegin) && !blocksNotRun.some(([begin]) => block.startsWith(begin)),
    );
    expect(unknown).toEqual([]);
    for (const why of [...Object.values(notRun), ...blocksNotRun.map(([, text]) => text)])
      for (const [path] of why.matchAll(/test\/[a-z/-]+\.test\.ts/g))
        expect([path, existsSync(join(root, path))]).toEqual([path, true]);
  });

  it.each(commands.filter((command) => Object.hasOwn(runs, command)))('works: %s', async (command) => {
    const { prints, code = 0 } = runs[command] ?? { prints: /^$/ };
    const ended = await shell(await filled(command));
    expect(ended).toEqual({ code, output: expect.stringMatching(prints) });
  });

  it('takes the whole backup as the block has it', async () => {
    const block = blocks.find((each) => each.startsWith(backupBegin)) ?? 'false';
    // The variables are there, as `tidemark env` would give them.
    const script = block
      .replace(backupBegin, '')
      .replaceAll(' /backup', ` ${join(folder, 'backup')}`)
      .replaceAll('.tidemark/questdb', join(stack.folder, 'questdb'))
      .replaceAll('.tidemark/clickhouse', join(stack.folder, 'clickhouse'));
    expect(await shell(script)).toMatchObject({ code: 0 });
    const into = join(folder, 'backup');
    const [made = '-'] = readdirSync(into).filter((name) => name.endsWith('Z'));
    for (const path of ['backup.json', 'nats/backup.json', 'questdb/db', 'clickhouse', 'admin.token'])
      expect([path, existsSync(join(into, made, path))]).toEqual([path, true]);
  });
});

describe('every figure that the runbook names', () => {
  it('is one that a role exposes', async () => {
    const defined = new Set((await Promise.all(roles.map(definedMetrics))).flat().map(({ name }) => name));
    const named = spansOf('docs/runbook.md').flatMap(
      (line) => line.match(/\b(?:tidemark|process)_[a-z_]+/g) ?? [],
    );
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((name) => !defined.has(name))).toEqual([]);
  });
});
