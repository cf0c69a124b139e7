import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Bus, connectBus } from '../../../src/bus/connection.ts';
import { openKvBucket } from '../../../src/bus/kv.ts';
import { publishConfirmed } from '../../../src/bus/outbox.ts';
import { createStreamReader } from '../../../src/bus/stream-reader.ts';
import { readLetter } from '../../../src/dead-letters/dead-letter.ts';
import { createReceivedItemEncoder } from '../../../src/dead-letters/received-item.ts';
import { redriveMessage } from '../../../src/dead-letters/redrive-message.ts';
import { buckets } from '../../../src/directory/keys.ts';
import { createOwners } from '../../../src/directory/owners.ts';
import { type ApplicationPipeline, signals } from '../../../src/model/signals.ts';
import { encodeBlocksEnvelope } from '../../../src/wire/blocks-envelope.ts';
import { encodeEnvelope } from '../../../src/wire/metrics-envelope.ts';
import { type Cli, createCli } from '../../support/clients/cli.ts';
import type { Stack } from '../../support/stack/stack.ts';
import { until } from '../../support/until.ts';
import { sharedStack } from './stack.ts';

let stack: Stack;
let bus: Bus;
let cli: Cli;
let nextBase = 7_000_000_000_000n;

beforeAll(async () => {
  stack = await sharedStack();
  bus = await connectBus(stack.engines.nats.url, 'test');
  cli = createCli(() => ({
    PATH: process.env['PATH'],
    TIDEMARK_ADMIN_URL: `http://127.0.0.1:${stack.metadata.ports['api']}`,
    TIDEMARK_ADMIN_TOKEN: stack.adminToken(),
  }));
});
afterAll(async () => {
  await bus?.close();
});

const arrivedAt = Date.now();
const policy = { aheadMsMax: 3_600_000, ageMsMax: undefined };
const common = { version: 1, arrivedAt, parts: [], outcomes: [] };

/** What a receiver of another version leaves of a request: one item put off, whose time this version finds valid. */
const putOff = async (
  owner: { readonly dataId: number } | { readonly appId: number },
  item: unknown,
  ordinal: number,
  pipeline: ApplicationPipeline = 'traces',
): Promise<string> => {
  const base = String(nextBase);
  nextBase += 1_000n;
  const section = Buffer.from(JSON.stringify([item]));
  const group = { arrivedAt, policy, base, ordinals: [ordinal], bytes: section.length };
  const header = { ...common, key: { base, first: 0 } };
  const payload =
    'dataId' in owner
      ? encodeEnvelope({ ...header, kind: 'metrics', deferred: [{ ...group, ...owner }] }, [section])
      : encodeBlocksEnvelope(
          { ...header, kind: signals[pipeline].kind, deferred: [{ ...group, ...owner }] },
          [section],
        );
  const subject = 'dataId' in owner ? 'metrics.0' : `${pipeline}.0`;
  await publishConfirmed(bus, { subject, messageId: base, payload, version: 1 });
  return base;
};

const settled = async (): Promise<void> => {
  for (const stream of ['METRICS', 'TRACES', 'LOGS', 'OTEL_METRICS', 'LEDGER'] as const)
    await stack.waitForEmptyStream(stream);
};

const listSchema = z.object({
  items: z.array(z.object({ sequence: z.number(), reason: z.string(), uid: z.string().nullable() })),
});
const shownSchema = z.object({ is_redrivable: z.boolean() });
const doneSchema = z.object({ done: z.number(), failed: z.array(z.object({ detail: z.string() })) });

const lettersOf = async (filter: string) => (await cli.json(listSchema, `dlq list ${filter}`)).items;

const onlyLetterOf = async (filter: string): Promise<number> => {
  const letter = await until('it is dead-lettered', async () => (await lettersOf(filter))[0]);
  expect(letter.reason).toBe('deferred_item_valid');
  return letter.sequence;
};

const balanceOf = async (column: 'data_id' | 'app_id', id: number): Promise<Record<string, number>> => {
  const rows = await stack.spansQuery(
    `SELECT kind, sum(count) AS items FROM otel.ingest_outcomes FINAL ARRAY JOIN mapKeys(outcomes) AS kind, mapValues(outcomes) AS count
      WHERE ${column} = ${id} GROUP BY kind HAVING items != 0 ORDER BY kind`,
  );
  return Object.fromEntries(rows.map((row) => [String(row['kind']), Number(row['items'])]));
};

/** Publishes what a redrive publishes, under another id: what the stream takes once it has forgotten the first. */
const publishAgain = async (sequence: number): Promise<void> => {
  const { entries } = await createStreamReader(bus).readForwards('DEADLETTER', {
    fromSequence: sequence,
    limit: 1,
  });
  const [entry] = entries;
  const letter = entry === undefined ? undefined : readLetter(entry);
  if (letter === undefined) throw new Error('no dead letter');
  const [records, columns] = await Promise.all(
    [buckets.records, buckets.columns].map((name) => openKvBucket(bus, name)),
  );
  if (records === undefined || columns === undefined) throw new Error('no buckets');
  const rules = { time: policy, pointsMax: 1, metricsMax: 512, dimensionsMax: 64 };
  const encode = createReceivedItemEncoder({
    owners: createOwners({ records, columns }, rules, Date.now),
    retentionDays: {},
  });
  const rows = await encode(letter, { isForGood: true, isBegun: false });
  const message = redriveMessage(letter, rows);
  await publishConfirmed(bus, message);
  await publishConfirmed(bus, { ...message, messageId: `${message.messageId}-forgotten` });
};

const point = { metrics: { cpu: 1.5, load: 2 }, target: 'h1', dimension: { zone: 'a b' } };

// The item was acknowledged: it must not be lost to two versions that run side by side, and not be there twice either.
describe('a point that was dead-lettered as received', () => {
  it.each([
    ['wide', false, 1, [['1.5', '2', 'h1', 'a b']]],
    [
      'split',
      true,
      2,
      [
        ['cpu', '1.5', 'h1', 'a b'],
        ['load', '2', 'h1', 'a b'],
      ],
    ],
  ] as const)(
    'is stored once with the uid of its receiver, however often it is redriven (%s)',
    async (name, isSplit, rows, values) => {
      const report = await stack.createReport(`received ${name}`, { is_split_measurement: isSplit });
      const { mon_data_id: dataId } = report.data_source;
      const { table_id: table } = report.result_table;
      const base = await putOff({ dataId }, { ...point, timestamp: arrivedAt - 1_000 }, 5);
      const sequence = await onlyLetterOf(`--data-id ${dataId}`);
      await settled();
      expect(await balanceOf('data_id', dataId)).toEqual({ dead_lettered: 1 });
      const shown = await stack.api('GET', `/api/v1/dead-letters/${sequence}`);
      expect(shownSchema.parse(shown.body).is_redrivable).toBe(true);

      await publishAgain(sequence);
      await settled();
      const answers = await Promise.all(
        [1, 2, 3].map(() => stack.api('POST', `/api/v1/dead-letters/${sequence}/redrive`, {})),
      );
      expect(answers.map(({ status }) => status).filter((status) => status !== 404)).toContain(200);
      await settled();

      await stack.waitForRows(table, rows);
      const columns = isSplit ? 'metric, value' : 'cpu, load';
      const { dataset } = await stack.query(
        `SELECT ${columns}, target, zone, uid, timestamp FROM "${table}" ORDER BY uid`,
      );
      const time = new Date(arrivedAt - 1_000).toISOString().replace('Z', '000Z');
      const uidOf = (offset: number): string => String(BigInt(base) + 5n + BigInt(offset));
      expect(dataset.map((row) => row.map(String))).toEqual(
        values.map((row, index) => [...row, uidOf(index), time]),
      );
      expect(await balanceOf('data_id', dataId)).toEqual({ stored: 1 });
      expect(await lettersOf(`--data-id ${dataId}`)).toEqual([]);
    },
  );

  it('stays in DEADLETTER while its data id is disabled, deleted or purged, and the answer names which', async () => {
    const report = await stack.createReport('received refused');
    const { mon_data_id: dataId } = report.data_source;
    await putOff({ dataId }, { ...point, timestamp: arrivedAt }, 0);
    const sequence = await onlyLetterOf(`--data-id ${dataId}`);
    const problem = async (): Promise<unknown> => {
      const { status, body } = await stack.api('POST', `/api/v1/dead-letters/${sequence}/redrive`, {});
      return [status, z.object({ detail: z.string() }).parse(body).detail];
    };
    await cli.text(`report disable ${dataId}`);
    expect(await problem()).toEqual([
      409,
      expect.stringMatching(/data_source_disabled\): data id \d+ is disabled; enable it/),
    ]);
    const dry = await cli.run(`dlq redrive --data-id ${dataId} --dry-run --json`);
    expect(doneSchema.parse(JSON.parse(dry.stdout))).toMatchObject({
      done: 0,
      failed: [{ detail: expect.stringContaining('data_source_disabled') }],
    });
    await cli.text(`report delete ${dataId} --yes`);
    expect(await problem()).toEqual([409, expect.stringContaining('is deleted; purge the dead letter')]);
    await cli.text(`report purge ${dataId} --table ${report.result_table.table_id}`);
    expect(await problem()).toEqual([409, expect.stringContaining('data_source_purged')]);
    expect(await lettersOf(`--data-id ${dataId}`)).toHaveLength(1);
    // Nothing was begun, so the other way is free.
    await cli.text(`dlq purge ${sequence} --yes`);
    await settled();
    expect(await balanceOf('data_id', dataId)).toEqual({ 'dropped/purged_by_operator': 1 });
  });

  it('and whose redrive was begun is redriven to the end, for its rows may be stored already', async () => {
    const report = await stack.createReport('received begun');
    const { mon_data_id: dataId } = report.data_source;
    await putOff({ dataId }, { ...point, timestamp: arrivedAt }, 0);
    const sequence = await onlyLetterOf(`--data-id ${dataId}`);
    await publishAgain(sequence);
    const claims = await openKvBucket(bus, buckets.system);
    await claims.create(`dead_letter.${sequence}`, { action: 'redrive', at: 1 });
    await cli.text(`report disable ${dataId}`);
    await cli.text(`dlq redrive ${sequence}`);
    await settled();
    await stack.waitForRows(report.result_table.table_id, 1);
    expect(await balanceOf('data_id', dataId)).toEqual({ stored: 1 });
  });
});

describe('a span that was dead-lettered as received', () => {
  const nanos = `${arrivedAt - 2_000}000000`;
  const span = {
    traceId: 'd'.repeat(32),
    spanId: 'e'.repeat(16),
    name: 'GET /',
    kind: 2,
    startTimeUnixNano: nanos,
    endTimeUnixNano: `${arrivedAt - 1_000}000001`,
    attributes: [{ key: 'a', value: { stringValue: 'b' } }],
    events: [{ timeUnixNano: nanos, name: 'e', attributes: [] }],
    status: { code: 2, message: 'm' },
  };
  const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'cart' } }] };
  const scope = { name: 's', version: '1' };

  it('is stored once, as its receiver would have it, however often it is redriven', async () => {
    const { app_id: appId, token } = await stack.createApplication('received', {
      fill_dimensions: false,
    });
    const base = await putOff({ appId }, { resource, scope, span }, 3);
    const sequence = await onlyLetterOf(`--app-id ${appId}`);
    await settled();
    expect(await balanceOf('app_id', appId)).toEqual({ dead_lettered: 1 });
    await cli.text(`app disable ${appId}`);
    expect((await cli.run(`dlq redrive ${sequence}`)).stderr).toMatch(/application_disabled\): application/);
    await cli.text(`app enable ${appId}`);
    await publishAgain(sequence);
    await settled();
    await cli.text(`dlq redrive ${sequence}`);
    await settled();
    expect(await balanceOf('app_id', appId)).toEqual({ stored: 1 });
    expect(await lettersOf(`--app-id ${appId}`)).toEqual([]);

    // The same span by a receiver, of another trace.
    const body = {
      resourceSpans: [{ resource, scopeSpans: [{ scope, spans: [{ ...span, traceId: 'f'.repeat(32) }] }] }],
    };
    const response = await fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['otlp']}/v1/traces`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-mon-token': token },
      body: JSON.stringify(body),
    });
    expect(response.status).toBe(200);
    await settled();
    const rows = await stack.spansQuery(
      `SELECT * EXCEPT (TraceId, uid, ArrivedAt), uid, toUnixTimestamp64Milli(ArrivedAt) AS arrived FROM otel.otel_traces WHERE AppId = ${appId} ORDER BY TraceId`,
    );
    const [redriven, received, ...more] = rows.map(({ uid, arrived, ...row }) => ({ uid, arrived, row }));
    expect(more).toEqual([]);
    expect(redriven).toEqual({
      uid: String(BigInt(base) + 3n),
      arrived: String(arrivedAt),
      row: { ...received?.row },
    });
  });
});

describe('a log record that was dead-lettered as received', () => {
  const logRecord = {
    timeUnixNano: `${arrivedAt - 2_000}000007`,
    observedTimeUnixNano: `${arrivedAt - 1_000}000000`,
    severityNumber: 17,
    severityText: 'ERROR',
    body: { stringValue: 'card refused' },
    attributes: [{ key: 'a', value: { stringValue: 'b' } }],
    traceId: 'd'.repeat(32),
    spanId: 'e'.repeat(16),
    flags: 1,
    eventName: 'refused',
  };
  const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'cart' } }] };
  const scope = { name: 's', version: '1', attributes: [{ key: 'c', value: { stringValue: 'd' } }] };

  it('is stored once, as its receiver would have it, however often it is redriven', async () => {
    const { app_id: appId } = await stack.createApplication('received-logs', { fill_dimensions: false });
    const urls = { resourceSchemaUrl: 'https://example.com/r', scopeSchemaUrl: 'https://example.com/s' };
    const base = await putOff({ appId }, { resource, scope, ...urls, logRecord }, 3, 'logs');
    const sequence = await onlyLetterOf(`--app-id ${appId} --pipeline logs`);
    await settled();
    expect(await balanceOf('app_id', appId)).toEqual({ dead_lettered: 1 });
    await publishAgain(sequence);
    await settled();
    await cli.text(`dlq redrive ${sequence}`);
    await settled();
    expect(await balanceOf('app_id', appId)).toEqual({ stored: 1 });
    expect(await lettersOf(`--app-id ${appId}`)).toEqual([]);
    const rows = await stack.spansQuery(
      `SELECT * EXCEPT (ArrivedAt, Timestamp, TimestampTime, ObservedTimestamp), toUnixTimestamp64Nano(Timestamp) AS time,
         toUnixTimestamp(TimestampTime) AS seconds, toUnixTimestamp64Nano(ObservedTimestamp) AS observed,
         toUnixTimestamp64Milli(ArrivedAt) AS arrived FROM otel.otel_logs WHERE AppId = ${appId}`,
    );
    expect(
      rows.map((row) => ({ ...row, seconds: Number(row['seconds']), BizId: Number(row['BizId']) })),
    ).toEqual([
      {
        ...{ TraceId: logRecord.traceId, SpanId: logRecord.spanId, TraceFlags: 1 },
        ...{ SeverityText: 'ERROR', SeverityNumber: 17, ServiceName: 'cart', Body: 'card refused' },
        ...{ ResourceSchemaUrl: urls.resourceSchemaUrl, ResourceAttributes: { 'service.name': 'cart' } },
        ...{
          ScopeSchemaUrl: urls.scopeSchemaUrl,
          ScopeName: 's',
          ScopeVersion: '1',
          ScopeAttributes: { c: 'd' },
        },
        ...{ LogAttributes: { a: 'b' }, EventName: 'refused' },
        ...{ uid: String(BigInt(base) + 3n), AppId: String(appId), BizId: 2, arrived: String(arrivedAt) },
        ...{ time: logRecord.timeUnixNano, observed: logRecord.observedTimeUnixNano },
        seconds: Math.floor((arrivedAt - 2_000) / 1000),
      },
    ]);
  });
});
