import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { headers as newHeaders } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { connectBus } from '../../src/bus/connection.ts';
import { openKvBucket } from '../../src/bus/kv.ts';
import { ensureTopology } from '../../src/bus/topology.ts';
import { loadPipelines } from '../../src/config/pipelines.ts';
import { envelopeVersion } from '../../src/wire/frame.ts';
import { createCli } from '../support/clients/cli.ts';
import { makeTables, type TestEngines } from '../support/stack/engines.ts';
import { fetchEngine } from '../support/stack/fetch-engine.ts';
import { type Stack, startStack } from '../support/stack/stack.ts';
import { waitFor } from '../support/wait.ts';

const root = resolve(import.meta.dirname, '../..');
const folder = join(root, 'schemas/examples/stored');

const row = z.record(z.string(), z.unknown());
const rows = z.array(row);

/**
 * All data of a deployment of a released version: the messages in its streams, its records, and the rows that it made
 * of the messages itself once the dead letters were redriven. Never written again.
 */
const storedSchema = z.strictObject({
  version: z.int(),
  tokens: z.strictObject({ admin: z.string(), viewer: z.string() }),
  messages: z.array(
    z.strictObject({ subject: z.string(), headers: z.record(z.string(), z.string()), payload: z.base64() }),
  ),
  records: z.array(z.strictObject({ bucket: z.string(), key: z.string(), value: z.unknown() })),
  expected: z.strictObject({
    points: z.record(z.string(), rows),
    spans: rows,
    ingest_outcomes: rows,
    ingest_refusals: rows,
    ingest_samples: rows,
    records: row,
  }),
});

type Stored = z.output<typeof storedSchema>;
type Row = z.output<typeof row>;

/** The moment of a record, and columns that came after that version. */
const notItsOwn = 'at, letters, letter_items, days, day_rows, day_sums, book';

const deployments = readdirSync(folder).map((file): [string, Stored] => [
  file,
  storedSchema.parse(JSON.parse(readFileSync(join(folder, file), 'utf8'))),
]);

/** Byte for byte as that version left it. */
const putStored = async (engines: TestEngines, { tokens, messages, records }: Stored): Promise<void> => {
  const bus = await connectBus(engines.nats.url, 'test');
  await ensureTopology(bus, loadPipelines(join(root, 'pipelines')).streams);
  for (const bucket of new Set(records.map((record) => record.bucket))) await openKvBucket(bus, bucket);
  for (const { bucket, key, value } of records)
    await bus.js.publish(`$KV.${bucket}.${key}`, JSON.stringify(value));
  for (const { subject, headers, payload } of messages) {
    const head = newHeaders();
    for (const [name, value] of Object.entries(headers)) head.set(name, value);
    await bus.js.publish(subject, Buffer.from(payload, 'base64'), { headers: head });
  }
  await bus.close();
  await makeTables(engines.clickhouse.url);
  // The samples are of a day that passes.
  await fetchEngine(engines.clickhouse.url, { method: 'POST', body: 'SYSTEM STOP TTL MERGES' });
  mkdirSync(join(engines.folder, 'data'), { recursive: true });
  writeFileSync(join(engines.folder, 'data', 'admin.token'), tokens.admin);
};

it('there is a deployment of the version that is written now', () => {
  expect(deployments.map(([, { version }]) => version)).toContain(envelopeVersion);
});

// What is stored during an upgrade was written by the version before.
describe.each(deployments)('the data of an earlier deployment, %s:', (_, stored) => {
  const { expected, tokens } = stored;
  let stack: Stack;

  beforeAll(async () => {
    stack = await startStack({ traces: true, beforeRoles: (engines) => putStored(engines, stored) });
  });
  afterAll(() => stack?.stop());

  const settled = async (): Promise<void> => {
    for (const stream of ['METRICS', 'TRACES', 'LEDGER'] as const)
      await stack.waitForEmptyStream(stream, 120_000);
  };

  const pointsOf = async (table: string): Promise<Row[]> => {
    const { columns, dataset } = await stack.query(`SELECT *, uid::string AS uid_text FROM "${table}"`);
    return dataset
      .map((values): Row => {
        const { uid_text: uid, ...rest } = Object.fromEntries(
          columns.map(({ name }, i) => [name, values[i]]),
        );
        return Object.fromEntries(Object.entries({ ...rest, uid }).filter(([, value]) => value !== null));
      })
      .toSorted((a, b) => (String(a['uid']) < String(b['uid']) ? -1 : 1));
  };

  it('its records are served as they were, to the tokens they had', async () => {
    const url = `http://127.0.0.1:${stack.metadata.ports['api']}/api/v1/custom-reports`;
    const viewer = await fetch(url, { headers: { authorization: `Bearer ${tokens.viewer}` } });
    expect(viewer.status).toBe(200);
    const { status, body } = await stack.api('GET', '/api/v1/export');
    expect(status).toBe(200);
    expect(body).toMatchObject(expected.records);
  });

  it('its messages and dead letters are stored as it stored them itself, each item once', async () => {
    await settled();
    expect((await stack.streamState('DEADLETTER')).messages).toBe(
      stored.messages.filter(({ subject }) => subject.startsWith('deadletter.')).length,
    );
    const cli = createCli(() => ({
      PATH: process.env['PATH'],
      TIDEMARK_ADMIN_URL: `http://127.0.0.1:${stack.metadata.ports['api']}`,
      TIDEMARK_ADMIN_TOKEN: tokens.admin,
    }));
    await cli.text('dlq redrive --all');
    await settled();
    expect((await stack.streamState('DEADLETTER')).messages).toBe(0);
    for (const [table, points] of Object.entries(expected.points)) {
      await stack.waitForRows(table, points.length);
      expect(await pointsOf(table)).toEqual(points);
    }
    expect(await stack.spansQuery('SELECT * FROM otel.otel_traces ORDER BY uid')).toEqual(expected.spans);
  });

  it('its outcomes, refusals and samples are those it recorded itself', async () => {
    await waitFor('the outcomes of the redrive', 60_000, async () => {
      const outcomes = await stack.spansQuery(
        `SELECT * EXCEPT (${notItsOwn}) FROM otel.ingest_outcomes FINAL ORDER BY pipeline, base, first, ordinal, redrive`,
      );
      return outcomes.length === expected.ingest_outcomes.length;
    });
    const outcomes = `SELECT * EXCEPT (${notItsOwn}) FROM otel.ingest_outcomes FINAL`;
    const found = await stack.spansQuery(`${outcomes} ORDER BY pipeline, base, first, ordinal, redrive`);
    expect(found).toEqual(expected.ingest_outcomes);
    // Transfer publishes its own refusals and samples once a second.
    for (const [table, columns] of [
      ['ingest_refusals', '*'],
      // It knew no ids of requests.
      ['ingest_samples', '* EXCEPT (request)'],
    ] as const)
      await waitFor(`the rows of ${table}`, 60_000, async () => {
        const stored = await stack.spansQuery(`SELECT ${columns} FROM otel.${table} FINAL`);
        expect(stored).toEqual(expect.arrayContaining(expected[table]));
        return true;
      });
  });

  it('its senders go on with the tokens and policies they had', async () => {
    const records = z
      .looseObject({
        data_sources: z.record(z.string(), z.looseObject({ token: z.string(), is_enable: z.boolean() })),
        applications: z.record(z.string(), z.looseObject({ token: z.string() })),
      })
      .parse(expected.records);
    for (const [id, { token, is_enable: isEnabled }] of Object.entries(records.data_sources)) {
      const response = await fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['push']}/v2/push/`, {
        method: 'POST',
        body: JSON.stringify({ data_id: Number(id), access_token: token, data: [{ metrics: { cpu: 1 } }] }),
      });
      expect(response.status).toBe(isEnabled ? 200 : 403);
    }
    for (const { token } of Object.values(records.applications)) {
      const response = await fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['otlp']}/v1/traces`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-mon-token': token },
        body: '{}',
      });
      expect(response.status).toBe(200);
    }
  });
});
