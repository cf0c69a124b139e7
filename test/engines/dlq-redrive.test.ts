import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { openKvBucket } from '../../src/bus/kv.ts';
import { publishConfirmed } from '../../src/bus/outbox.ts';
import { createDeadLetterAdmin } from '../../src/dead-letters/admin.ts';
import { redriveMessage } from '../../src/dead-letters/redrive-message.ts';
import { buckets } from '../../src/directory/keys.ts';
import { type Cli, createCli } from '../support/clients/cli.ts';
import { figureOf, readDeadLetters } from '../support/outcomes/dead-letters.ts';
import { changeClickhouse } from '../support/outcomes/refused-export.ts';
import { type Application, type Stack, startStack } from '../support/stack/stack.ts';
import { until } from '../support/until.ts';

let stack: Stack;
let bus: Bus;
let cli: Cli;
let nextTrace = 1;

beforeAll(async () => {
  stack = await startStack({
    traces: true,
    // A pause so long that no test sees its end.
    pipelines: (_file, text) =>
      text
        .replace(/dead_letters_in_a_row_max: \d+/, 'dead_letters_in_a_row_max: 20')
        .replace(/pause_seconds: \d+/, 'pause_seconds: 3600'),
  });
  bus = await connectBus(stack.engines.nats.url, 'test');
  const env = {
    PATH: process.env['PATH'],
    TIDEMARK_ADMIN_URL: `http://127.0.0.1:${stack.metadata.ports['api']}`,
  };
  cli = createCli(() => ({ ...env, TIDEMARK_ADMIN_TOKEN: stack.adminToken() }));
});
afterAll(async () => {
  await bus?.close();
  await stack?.stop();
});

const clickhouse = (sql: string): Promise<void> => changeClickhouse(stack, sql);
const refuse = (name: string) =>
  clickhouse(`ALTER TABLE otel.otel_traces ADD CONSTRAINT ${name} CHECK SpanName != '${name}'`);
const accept = (name: string) => clickhouse(`ALTER TABLE otel.otel_traces DROP CONSTRAINT ${name}`);

/** Sends three spans, the middle one of this name. */
const send = async (application: Application, name: string): Promise<string> => {
  const traceId = String(nextTrace++).padStart(32, 'c');
  const time = `${Date.now()}000000`;
  const spans = ['first', name, 'last'].map((each, index) => ({
    traceId,
    spanId: String(index + 1).padStart(16, '0'),
    name: each,
    startTimeUnixNano: time,
    endTimeUnixNano: time,
    attributes: [{ key: 'password', value: { stringValue: 'hunter2hunter2' } }],
  }));
  const response = await fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['otlp']}/v1/traces`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-mon-token': application.token },
    body: JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }),
  });
  expect(response.status).toBe(200);
  return traceId;
};

const settled = async (): Promise<void> => {
  for (const stream of ['METRICS', 'TRACES', 'LEDGER'])
    await until(`${stream} is empty`, async () => {
      const { state } = await (await bus.manager()).streams.info(stream);
      return state.messages === 0;
    });
};

/** Names of the stored spans, without and with what merges would make one of. */
const stored = async (traceId: string): Promise<{ plain: unknown[]; distinct: unknown }> => {
  const rows = await stack.spansQuery(
    `SELECT SpanName, uid FROM otel.otel_traces WHERE TraceId = '${traceId}' ORDER BY uid`,
  );
  return { plain: rows.map((row) => row['SpanName']), distinct: new Set(rows.map((row) => row['uid'])).size };
};

/** The outcomes of an application's spans in the records. */
const balance = async ({ app_id: appId }: Application): Promise<Record<string, number>> => {
  const rows = await stack.spansQuery(
    `SELECT kind, sum(count) AS items FROM otel.ingest_outcomes FINAL ARRAY JOIN mapKeys(outcomes) AS kind, mapValues(outcomes) AS count
      WHERE app_id = ${appId} GROUP BY kind HAVING items != 0 ORDER BY kind`,
  );
  return Object.fromEntries(rows.map((row) => [String(row['kind']), Number(row['items'])]));
};

const listSchema = z.object({
  items: z.array(
    z.object({ sequence: z.number(), reason: z.string(), redrives: z.number(), items: z.number() }),
  ),
  next_cursor: z.string().nullable(),
});
const doneSchema = z.object({
  matched: z.number(),
  done: z.number(),
  items: z.number(),
  first_cursor: z.string().nullable(),
});

const lettersOf = async (application: Application) =>
  (await cli.json(listSchema, `dlq list --app-id ${application.app_id}`)).items;

/** An application with one dead letter, and the trace that it belongs to. */
const withLetter = async (name: string) => {
  const application = await stack.createApplication(name);
  await refuse(name);
  const traceId = await send(application, name);
  await settled();
  const [letter] = await lettersOf(application);
  if (letter === undefined) throw new Error('no dead letter');
  expect(letter).toMatchObject({ reason: 'span_refused', redrives: 0, items: 1 });
  expect(await balance(application)).toEqual({ stored: 2, dead_lettered: 1 });
  return { application, traceId, sequence: letter.sequence };
};

const allStored = async (application: Application, traceId: string, name: string): Promise<void> => {
  await settled();
  expect(await stored(traceId)).toEqual({ plain: ['first', name, 'last'], distinct: 3 });
  expect(await balance(application)).toEqual({ stored: 3 });
  expect(await lettersOf(application)).toEqual([]);
};

const admin = async () => {
  const claims = await openKvBucket(bus, buckets.system);
  const encodeItem = () => Promise.reject(new Error('no item as it was received is in this test'));
  const readRecord = () => Promise.reject(new Error('nothing is purged by this admin'));
  return createDeadLetterAdmin({
    bus,
    claims,
    claimsBucket: buckets.system,
    encodeItem,
    readRecord,
    readRecords: readRecord,
    readKeptDays: async () => undefined,
    isRead: () => true,
    now: Date.now,
  });
};

// An operator who mends a cause must be able to send everything back without asking what was stored already.
describe('a dead letter that is redriven', () => {
  it('is shown with its row, its secrets masked, and then stored once; its item moves from dead-lettered to stored', async () => {
    const { application, traceId, sequence } = await withLetter('p1');
    const shown = await cli.text(`dlq show ${sequence}`);
    expect(shown).toContain('"SpanName": "p1"');
    expect(shown).toContain(traceId);
    expect(shown).not.toContain('hunter2');
    await accept('p1');
    const dry = await cli.json(doneSchema, `dlq redrive --app-id ${application.app_id} --dry-run`);
    expect(dry).toMatchObject({ matched: 1, done: 1 });
    expect(await lettersOf(application)).toHaveLength(1);
    expect(await cli.text(`dlq redrive --app-id ${application.app_id}`)).toBe(
      '1 dead letter (1 item) redriven\n',
    );
    await allStored(application, traceId, 'p1');
  });

  it('and refused again is kept again with its redrive counted, and stored once by the next redrive', async () => {
    const { application, traceId, sequence } = await withLetter('p2');
    await cli.text(`dlq redrive ${sequence}`);
    const again = await until('it is refused again', async () =>
      (await lettersOf(application)).find((letter) => letter.sequence > sequence),
    );
    await settled();
    expect(again).toMatchObject({ reason: 'span_refused', redrives: 1 });
    expect(await lettersOf(application)).toHaveLength(1);
    expect(await balance(application)).toEqual({ stored: 2, dead_lettered: 1 });
    const [letter] = (await readDeadLetters(bus)).filter((each) => each.sequence === again.sequence);
    expect(letter?.messageId).toMatch(/^dl:\d+:1:1$/);
    await accept('p2');
    await cli.text(`dlq redrive ${again.sequence}`);
    await allStored(application, traceId, 'p2');
  });

  it('by two at once is stored once', async () => {
    const { application, traceId, sequence } = await withLetter('p3');
    await accept('p3');
    const answers = await Promise.all(
      [1, 2, 3].map(() => stack.api('POST', `/api/v1/dead-letters/${sequence}/redrive`, {})),
    );
    expect(answers.some(({ status }) => status === 200)).toBe(true);
    expect(answers.every(({ status }) => status === 200 || status === 404)).toBe(true);
    await allStored(application, traceId, 'p3');
  });

  it('by a process that was killed after the PubAck is stored once by the next redrive, within the duplicate window and after it', async () => {
    const { application, traceId, sequence } = await withLetter('p4');
    await accept('p4');
    const letter = await (await admin()).get(sequence);
    if (letter === undefined) throw new Error('no dead letter');
    const message = redriveMessage(letter);
    await publishConfirmed(bus, message);
    // What the stream takes when it has forgotten the message id.
    await publishConfirmed(bus, { ...message, messageId: `${message.messageId}-forgotten` });
    await settled();
    await cli.text(`dlq redrive ${sequence}`);
    await allStored(application, traceId, 'p4');
  });

  // A copy of the bus that is older than the redrive has the dead letters again that were redriven since.
  it('and comes back with a copy of DEADLETTER is removed by a purge, and its item stays recorded as stored', async () => {
    const { application, traceId, sequence } = await withLetter('p9');
    const { streams } = await bus.manager();
    const kept = await streams.getMessage('DEADLETTER', { seq: sequence });
    if (kept === null) throw new Error('no dead letter');
    await accept('p9');
    await cli.text(`dlq redrive ${sequence}`);
    await allStored(application, traceId, 'p9');
    await bus.js.publish(kept.subject, kept.data);
    const [restored] = await lettersOf(application);
    expect(restored).toMatchObject({ reason: 'span_refused', redrives: 0, items: 1 });
    await cli.text(`dlq purge ${restored?.sequence} --yes`);
    await allStored(application, traceId, 'p9');
  });

  it('and was begun cannot be purged, nor can one whose purge was begun be redriven: its rows may be stored', async () => {
    const { application, traceId, sequence } = await withLetter('p5');
    const claims = await openKvBucket(bus, buckets.system);
    await claims.create(`dead_letter.${sequence}`, { action: 'redrive', at: 1 });
    expect(await cli.text('audit --action dead_letter.purge')).toMatch(/done {2,}dead_letter: 1 removed$/m);
    for (const option of ['--dry-run', '--yes']) {
      const { code, stderr } = await cli.run(`dlq purge ${sequence} ${option}`);
      expect([code, stderr], option).toEqual([1, expect.stringContaining('a redrive of dead letter')]);
    }
    await accept('p5');
    await cli.text(`dlq redrive ${sequence}`);
    await allStored(application, traceId, 'p5');
    expect(await claims.get(`dead_letter.${sequence}`)).toBeUndefined();
  });

  it('of a malformed message is published with the same bytes, and returns with its redrive counted', async () => {
    const garbage = Buffer.from('not an envelope, for any version');
    await publishConfirmed(bus, { subject: 'traces.0', messageId: 'garbage', payload: garbage, version: 1 });
    const find = async (redrive: number) =>
      (await readDeadLetters(bus)).find(
        ({ header, bytes }) => bytes.equals(garbage) && header['redrive'] === redrive,
      );
    const first = await until('it is dead-lettered', () => find(0));
    await cli.text(`dlq redrive ${first.sequence}`);
    await until('it is dead-lettered again', () => find(1));
    await settled();
    expect(await find(0)).toBeUndefined();
  });
});

describe('a dead letter that is purged', () => {
  it('is removed for good and its item counts as dropped by the operator; not without a confirmation, nor without the role', async () => {
    const { application, traceId, sequence } = await withLetter('p6');
    await accept('p6');
    const { code, stderr } = await cli.run(`dlq purge --app-id ${application.app_id}`);
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('the purge removes 1 dead letter (1 item) for ever'),
    ]);
    expect(await lettersOf(application)).toHaveLength(1);
    expect((await cli.run('dlq purge --yes')).stderr).toContain('all: true');
    expect(await cli.text(`dlq purge ${sequence} --yes`)).toBe('1 dead letter (1 item) purged\n');
    // There is nothing to confirm.
    expect(await cli.text(`dlq purge --app-id ${application.app_id}`)).toBe(
      '0 dead letters (0 items) purged\n',
    );
    for (const command of [`purge ${sequence} --yes`, `purge ${sequence}`, `redrive ${sequence}`])
      expect(await cli.run(`dlq ${command}`), command).toMatchObject({
        code: 1,
        stderr: `tidemark: dead letter ${sequence} does not exist\n`,
      });
    await settled();
    expect(await lettersOf(application)).toEqual([]);
    expect((await stored(traceId)).plain).toEqual(['first', 'last']);
    expect(await balance(application)).toEqual({ stored: 2, 'dropped/purged_by_operator': 1 });
    expect(await cli.text('audit --kind dead_letter')).toContain('dead_letter.purge');
  });
});

// A copy of the bus that is older than the purge has the dead letters again that were purged since.
it('a dead letter that was purged and comes back with a copy of DEADLETTER is not redriven, which a dry run says, and stays purged', async () => {
  const { application, traceId, sequence } = await withLetter('p10');
  const { streams } = await bus.manager();
  const kept = await streams.getMessage('DEADLETTER', { seq: sequence });
  if (kept === null) throw new Error('no dead letter');
  await accept('p10');
  await cli.text(`dlq purge ${sequence} --yes`);
  await settled();
  await bus.js.publish(kept.subject, kept.data);
  const [restored] = await lettersOf(application);
  for (const option of [' --dry-run', ''])
    expect(await cli.run(`dlq redrive --app-id ${application.app_id}${option}`)).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('0 dead letters (0 items)'),
      stderr: expect.stringContaining(
        `${restored?.sequence}: dead letter ${restored?.sequence} was purged before`,
      ),
    });
  expect(await cli.text(`dlq show ${restored?.sequence}`)).toMatch(/can be redriven +no/);
  await cli.text(`dlq purge ${restored?.sequence} --yes`);
  await settled();
  expect((await stored(traceId)).plain).toEqual(['first', 'last']);
  expect(await balance(application)).toEqual({ stored: 2, 'dropped/purged_by_operator': 1 });
  expect(await lettersOf(application)).toEqual([]);
});

// Between the dry run, which an operator confirms, and the act others may come.
describe('an act that begins with the cursor of its dry run', () => {
  it('takes what the dry run counted, and leaves dead letters that came later', async () => {
    const { application, sequence } = await withLetter('p7');
    const act = async (name: string, more: object) => {
      const { status, body } = await stack.api('POST', `/api/v1/dead-letters/${name}`, {
        app_id: application.app_id,
        ...more,
      });
      expect(status, JSON.stringify(body)).toBe(200);
      return doneSchema.parse(body);
    };
    const counted = await act('purge', { dry_run: true });
    expect(counted).toMatchObject({ matched: 1, done: 1 });
    await send(application, 'p7');
    await settled();
    const [later] = await lettersOf(application);
    expect(later?.sequence).toBeGreaterThan(sequence);
    expect(await act('purge', { cursor: counted.first_cursor })).toMatchObject({ matched: 1, done: 1 });
    expect(await lettersOf(application)).toEqual([later]);
    await accept('p7');
    expect(await act('redrive', { cursor: counted.first_cursor })).toMatchObject({ matched: 0 });
    expect(await act('redrive', {})).toMatchObject({ matched: 1, done: 1 });
    await settled();
    expect(await balance(application)).toEqual({ stored: 5, 'dropped/purged_by_operator': 1 });
  });
});

type PointsReport = Awaited<ReturnType<Stack['createReport']>>;

/** A dead letter of three points of 2023, as for a table that is unavailable: a part of many rows. */
const plantPoints = async (report: PointsReport, uid: number): Promise<string> => {
  const table = report.result_table.table_id;
  const rows = [1, 2, 3]
    .map((up) => `${table},target=a up=${up},uid=${uid + up - 1}i ${1_700_000_000_000 + up}\n`)
    .join('');
  const part = {
    dataId: report.data_source.mon_data_id,
    table,
    layout: 'wide',
    rows: 3,
    points: 3,
    base: String(uid),
    first: 0,
    last: 2,
    timeMin: 1_700_000_000_001,
    timeMax: 1_700_000_000_003,
    bytes: rows.length,
  };
  const header = JSON.stringify({
    version: 1,
    reason: 'table_unavailable',
    error: 'the table does not exist',
    stream: 'METRICS',
    streamSequence: 1,
    subject: 'metrics.0',
    dataId: part.dataId,
    table,
    uid: `${uid}+0`,
    part,
    items: 3,
    redrive: 0,
    at: Date.now(),
  });
  const length = Buffer.alloc(4);
  length.writeUInt32LE(Buffer.byteLength(header));
  const payload = Buffer.concat([length, Buffer.from(header), Buffer.from(rows)]);
  const messageId = `dl:${uid}:0:t:0`;
  await publishConfirmed(bus, { subject: 'deadletter.metrics', messageId, payload, version: 1 });
  return table;
};

describe('the dead-lettered points of a table', () => {
  it('are all stored once when they are redriven after the table exists', async () => {
    const report = await stack.createReport('redriven points');
    const dataId = report.data_source.mon_data_id;
    const table = await plantPoints(report, 1);
    expect(await cli.text('dlq list --reason table_unavailable')).toContain(`data id ${dataId}`);
    expect(await cli.text(`dlq redrive --table "${table}"`)).toBe('1 dead letter (3 items) redriven\n');
    await stack.waitForRows(table, 3);
    expect(await cli.text('dlq list --reason table_unavailable')).not.toContain(`data id ${dataId}`);
  });

  // They would count as stored, and be gone.
  it('are not redriven where a retention that was set would remove them at once, but where only the default would', async () => {
    const report = await stack.createReport('outlived points');
    const dataId = report.data_source.mon_data_id;
    const table = await plantPoints(report, 11);
    await cli.text(`retention set ${dataId} 30 --yes`);
    for (const option of [' --dry-run', ''])
      expect(await cli.run(`dlq redrive --table "${table}"${option}`)).toMatchObject({
        code: 1,
        stdout: expect.stringContaining('0 dead letters (0 items)'),
        stderr: expect.stringContaining('is older than the retention of 30 days'),
      });
    expect(await cli.text('dlq list --reason table_unavailable')).toContain(`data id ${dataId}`);
    await cli.text(`retention set ${dataId} default`);
    expect(await cli.text(`dlq redrive --table "${table}"`)).toBe('1 dead letter (3 items) redriven\n');
  });

  it('whose redrive was begun are redriven also where the retention is over: their rows may be stored', async () => {
    const report = await stack.createReport('begun points');
    const table = await plantPoints(report, 21);
    await cli.text(`retention set ${report.data_source.mon_data_id} 30 --yes`);
    const [letter] = (await readDeadLetters(bus)).filter(({ header }) => header['table'] === table);
    const claims = await openKvBucket(bus, buckets.system);
    await claims.create(`dead_letter.${letter?.sequence}`, { action: 'redrive', at: 1 });
    expect(await cli.text(`dlq redrive --table "${table}"`)).toBe('1 dead letter (3 items) redriven\n');
  });
});

// An operator who has mended the cause does not want to wait for the end of a pause.
describe('a consumer that its breaker stopped', () => {
  it('continues at once after a resume', async () => {
    const application = await stack.createApplication('resumed');
    const isOpen = async (): Promise<boolean> =>
      figureOf((await stack.transfer[0]?.metrics()) ?? '', 'tidemark_transfer_breaker_open', {
        pipeline: 'traces',
      }) === 1;
    await clickhouse("ALTER TABLE otel.otel_traces ADD CONSTRAINT nothing CHECK SpanName = ''");
    for (let sent = 0; sent < 10; sent++) await send(application, 'x');
    await until('the breaker is open', isOpen);
    await clickhouse('ALTER TABLE otel.otel_traces DROP CONSTRAINT nothing');
    const waiting = await send(application, 'waits');
    expect(await isOpen()).toBe(true);
    expect(await cli.text('dlq resume traces')).toBe('traces is resumed\n');
    await settled();
    expect((await stored(waiting)).plain).toEqual(['first', 'waits', 'last']);
    expect(await isOpen()).toBe(false);
  });
});
