import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPublisher, type Publisher } from '../../../src/bus/publisher.ts';
import { type BlocksHeader, encodeBlocksEnvelope } from '../../../src/wire/blocks-envelope.ts';
import { encodeEnvelope, type MetricsHeader, type Part } from '../../../src/wire/metrics-envelope.ts';
import { createOutcomeReader, type OutcomeReader } from '../../support/outcomes/outcomes.ts';
import { createPushClient, type PushClient } from '../../support/push/client.ts';
import { bodyOf } from '../../support/push/stack.ts';
import { type LiveRecords, openLiveRecords } from '../../support/stack/live-records.ts';
import type { Report, Stack } from '../../support/stack/stack.ts';
import { sharedStack } from './stack.ts';

let stack: Stack;
let live: LiveRecords;
let publisher: Publisher;
let client: PushClient;
let outcomes: OutcomeReader;
let nextId = 1;

beforeAll(async () => {
  stack = await sharedStack();
  live = await openLiveRecords(stack);
  publisher = createPublisher(live.bus, { deadlineMs: 10_000, awayMs: 5_000 });
  client = createPushClient(stack.ingress[0]?.ports['push'] ?? 0);
  outcomes = createOutcomeReader(stack);
});
afterAll(async () => {
  client?.close();
  publisher?.close();
  await outcomes?.close();
  await live?.close();
});

const dataIdOf = (report: Report): number => report.data_source.mon_data_id;
const tableOf = (report: Report): string => report.result_table.table_id;

const push = (report: Report, data: unknown) => client.send({ body: bodyOf(report, data) });

const exportSpans = (token: string, spans: readonly object[]) =>
  fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['otlp']}/v1/traces`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-MON-TOKEN': token },
    body: JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }),
  });

let nextSpan = 1;
const span = (change: object = {}): object => {
  const now = `${Date.now()}000000`;
  const spanId = `${nextSpan++}`.padStart(16, '1');
  const traceId = 'a'.repeat(32);
  return { traceId, spanId, name: 'work', startTimeUnixNano: now, endTimeUnixNano: now, ...change };
};

const publish = (subject: 'metrics.0' | 'traces.0', payload: Uint8Array) =>
  publisher.publish(subject, `outcomes-${nextId++}`, payload, 1);

/** A part of these rows (line protocol without the table, `uid` last). */
const partOf = (report: Report, rows: readonly string[], change: Partial<Part> = {}): [Part, Buffer] => {
  const text = rows.map((row) => `${tableOf(report)},${row}i ${Date.now()}\n`).join('');
  const part: Part = {
    dataId: dataIdOf(report),
    table: tableOf(report),
    layout: 'wide',
    rows: rows.length,
    points: rows.length,
    base: '5000',
    first: 0,
    last: 99,
    timeMin: 1,
    timeMax: 2,
    bytes: Buffer.byteLength(text),
    ...change,
  };
  return [part, Buffer.from(text)];
};

const metricsMessage = (
  parts: readonly [Part, Buffer][],
  change: Partial<MetricsHeader> = {},
  deferred: readonly Buffer[] = [],
): Buffer => {
  const header: MetricsHeader = {
    version: 1,
    kind: 'metrics',
    arrivedAt: Date.now(),
    key: { base: String(7_000_000 + nextId++), first: 0 },
    parts: parts.map(([part]) => part),
    deferred: [],
    outcomes: [],
    ...change,
  };
  return encodeEnvelope(header, [...parts.map(([, bytes]) => bytes), ...deferred]);
};

const spansMessage = (appId: number, block: Buffer, rows: number): Buffer => {
  const header: BlocksHeader = {
    version: 1,
    kind: 'spans',
    arrivedAt: Date.now(),
    key: { base: String(8_000_000 + nextId++), first: 0 },
    parts: [
      {
        appId,
        bizId: 2,
        day: 20_000,
        rows,
        base: '9000',
        first: 0,
        last: rows - 1,
        timeMin: '1',
        timeMax: '2',
        bytes: block.length,
      },
    ],
    deferred: [],
    outcomes: [],
  };
  return encodeBlocksEnvelope(header, [block]);
};

const deadLetterHeaders = async (): Promise<Record<string, unknown>[]> => {
  const manager = await live.bus.manager();
  const { state } = await manager.streams.info('DEADLETTER');
  const found: Record<string, unknown>[] = [];
  for (let sequence = state.first_seq; sequence <= state.last_seq; sequence++) {
    const message = await manager.streams.getMessage('DEADLETTER', { seq: sequence });
    if (message === null) continue;
    const data = Buffer.from(message.data);
    found.push(JSON.parse(data.toString('utf8', 4, 4 + data.readUInt32LE(0))));
  }
  return found;
};

// An item in no record is lost without a trace; an item in two hides a loss elsewhere.
describe('the balance of a data id', () => {
  it('has every point of a push that was answered 200: stored, dropped at the receiver, dropped for its time', async () => {
    const report = await stack.createReport('balance-push');
    const good = { metrics: { up: 1, down: 2 } };
    const data = [good, { ...good, timestamp: 'N' }, { metrics: {} }, good, { ...good, timestamp: 5 }, good];
    expect((await push(report, data)).status).toBe(200);
    expect((await push(report, [good])).status).toBe(200);
    // Refused whole: never received.
    expect((await push(report, [{ metrics: {} }])).status).toBe(400);
    expect(await outcomes.settled({ dataId: dataIdOf(report) })).toEqual([
      {
        pipeline: 'metrics',
        dataId: dataIdOf(report),
        appId: 0,
        received: 7,
        recorded: 7,
        stored: 4,
        dropped: { metrics_empty: 1, timestamp_not_numeric: 1, timestamp_unit_seconds: 1 },
        deadLettered: 0,
      },
    ]);
  });

  it('counts a point of a split table once, however many metrics it has', async () => {
    const report = await stack.createReport('balance-narrow', { is_split_measurement: true });
    await push(report, [{ metrics: { a: 1, b: 2, c: 3 } }, { metrics: { a: 1 } }]);
    expect(await outcomes.settled({ dataId: dataIdOf(report) })).toMatchObject([{ received: 2, stored: 2 }]);
  });

  it('is its own where pushes of several share messages', async () => {
    const reports = [await stack.createReport('shared-a'), await stack.createReport('shared-b')];
    const pushes = Array.from({ length: 120 }, (_, index) => {
      const report = reports[index % 2];
      const data = [{ metrics: { up: 1 } }, ...(index % 3 === 0 ? [{ metrics: {} }] : [])];
      return report === undefined ? undefined : push(report, data);
    });
    for (const answer of await Promise.all(pushes)) expect(answer?.status).toBe(200);
    for (const report of reports) {
      expect(await outcomes.settled({ dataId: dataIdOf(report) })).toMatchObject([
        { received: 80, stored: 60, dropped: { metrics_empty: 20 }, deadLettered: 0 },
      ]);
    }
    const [records] = await stack.spansQuery(
      `SELECT count() AS c FROM otel.ingest_outcomes FINAL WHERE data_id = ${dataIdOf(reports[0] ?? expect.fail())}`,
    );
    expect(Number(records?.['c'])).toBeLessThanOrEqual(60);
  });

  it('drops the points of a purged one, those it shares messages with untouched', async () => {
    const [gone, kept] = [await stack.createReport('purged'), await stack.createReport('beside-purged')];
    await live.purge(dataIdOf(gone), tableOf(gone));
    const sections = [partOf(gone, ['target=a up=1,uid=1']), partOf(kept, ['target=a up=1,uid=2'])] as const;
    // The purge reaches transfer a moment later; messages before that are stored.
    let published = 0;
    for (;;) {
      await publish('metrics.0', metricsMessage(sections));
      published++;
      const [balance] = await outcomes.settled({ dataId: dataIdOf(gone) });
      expect(balance?.received).toBe(published);
      if ((balance?.dropped['data_source_purged'] ?? 0) > 0) break;
      expect(published).toBeLessThan(100);
    }
    expect(await outcomes.settled({ dataId: dataIdOf(kept) })).toMatchObject([
      { received: published, stored: published, dropped: {} },
    ]);
  });

  it('has a refused row as dead-lettered, its neighbours as stored', async () => {
    const report = await stack.createReport('refused');
    await publish('metrics.0', metricsMessage([partOf(report, ['target=a up=1,uid=5000'])]));
    await stack.waitForRows(tableOf(report), 1);
    const rows = ['target=a up=1,uid=5001', 'target=a up="text",uid=5002', 'target=a up=3,uid=5003'];
    const key = { base: '5001', first: 1 };
    const drops = [{ dataId: dataIdOf(report), dropped: { target_invalid: 2 } }];
    await publish('metrics.0', metricsMessage([partOf(report, rows)], { key, outcomes: drops }));
    expect(await outcomes.settled({ dataId: dataIdOf(report) })).toMatchObject([
      { received: 6, stored: 3, dropped: { target_invalid: 2 }, deadLettered: 1 },
    ]);
    // What a redrive needs to write the record of its own.
    const letters = (await deadLetterHeaders()).filter(({ dataId }) => dataId === dataIdOf(report));
    expect(letters).toMatchObject([
      { reason: 'row_refused', items: 1, uid: '5002', ordinal: 1, outcome: { base: '5001', first: 1 } },
    ]);
  });

  // In a split table a point is several rows; its rows may be refused one by one.
  it('counts a point once whose rows were refused twice', async () => {
    const report = await stack.createReport('refused-narrow', { is_split_measurement: true });
    const row = (metric: string, value: string, uid: number): string =>
      `metric=${metric},target=a value=${value},uid=${uid}`;
    const good = partOf(report, [row('a', '1', 6000)], { layout: 'narrow' });
    await publish('metrics.0', metricsMessage([good]));
    await stack.waitForRows(tableOf(report), 1);
    const bad = [row('a', '"x"', 6001), row('b', '"x"', 6002)];
    const part = partOf(report, bad, { layout: 'narrow', points: 1 });
    await publish('metrics.0', metricsMessage([part]));
    expect(await outcomes.settled({ dataId: dataIdOf(report) })).toMatchObject([
      { received: 2, stored: 1, deadLettered: 1 },
    ]);
    const letters = (await deadLetterHeaders()).filter(({ dataId }) => dataId === dataIdOf(report));
    expect(letters.map(({ items }) => items)).toEqual([1, 0]);
  });

  it('has the points of an unreadable section as dead-lettered, and the rest of the message stored', async () => {
    const report = await stack.createReport('unreadable-section');
    const section = Buffer.from('[{"metrics"');
    const group = {
      dataId: dataIdOf(report),
      arrivedAt: Date.now(),
      policy: { aheadMsMax: undefined, ageMsMax: undefined },
      base: '5000',
      ordinals: [3, 4],
      bytes: section.length,
    };
    const part = partOf(report, ['target=a up=1,uid=5000']);
    await publish('metrics.0', metricsMessage([part], { deferred: [group] }, [section]));
    expect(await outcomes.settled({ dataId: dataIdOf(report) })).toMatchObject([
      { received: 3, stored: 1, deadLettered: 2 },
    ]);
  });

  it('without an owner has the malformed messages, each once', async () => {
    const received = async (): Promise<number> => (await outcomes.settled({ dataId: 0 }))[0]?.received ?? 0;
    const before = await received();
    const garbage = Buffer.from(`no envelope ${nextId}`);
    await publish('metrics.0', garbage);
    await publish('metrics.0', garbage);
    expect((await received()) - before).toBe(1);
    const [balance] = await outcomes.settled({ dataId: 0 });
    expect(balance?.deadLettered).toBe(balance?.received);
  });

  // A message is delivered at least once: a second record of it would count its points twice.
  it('does not change after a redelivery', async () => {
    const report = await stack.createReport('again');
    const drops = [{ dataId: dataIdOf(report), dropped: { metrics_empty: 3 } }];
    const parts = [partOf(report, ['target=a up=1,uid=5000', 'target=a up=2,uid=5001'])];
    const message = metricsMessage(parts, { outcomes: drops });
    for (let times = 0; times < 3; times++) {
      await publish('metrics.0', message);
      expect(await outcomes.settled({ dataId: dataIdOf(report) })).toMatchObject([
        { received: 5, stored: 2, dropped: { metrics_empty: 3 } },
      ]);
    }
  });

  it('is taken from a message of a program that wrote no key', async () => {
    const report = await stack.createReport('keyless');
    const drops = [{ dataId: dataIdOf(report), dropped: { metrics_empty: 3 } }];
    const { key: _, ...keyless } = { key: undefined, outcomes: drops };
    const { key: __, ...header }: MetricsHeader = {
      version: 1,
      kind: 'metrics',
      arrivedAt: Date.now(),
      parts: [],
      deferred: [],
      ...keyless,
    };
    for (let times = 0; times < 2; times++) await publish('metrics.0', encodeEnvelope(header, []));
    expect(await outcomes.settled({ dataId: dataIdOf(report) })).toMatchObject([
      { received: 3, stored: 0, dropped: { metrics_empty: 3 } },
    ]);
  });
});

describe('the balance of an application', () => {
  it('has every span of a request that was answered 200: stored, rejected, dropped for its time', async () => {
    const { app_id: appId, token } = await stack.createApplication('balance-spans');
    const spans = [span(), span({ traceId: 'no' }), span({ startTimeUnixNano: 'N' }), span()];
    expect((await exportSpans(token, spans)).status).toBe(200);
    expect((await exportSpans(token, spans)).status).toBe(200);
    expect(await outcomes.settled({ appId })).toEqual([
      {
        pipeline: 'traces',
        dataId: 0,
        appId,
        received: 4,
        recorded: 4,
        stored: 2,
        dropped: { trace_id_invalid: 1, timestamp_not_numeric: 1 },
        deadLettered: 0,
      },
    ]);
  });

  it('has the spans of a request of which none was kept', async () => {
    const { app_id: appId, token } = await stack.createApplication('all-rejected');
    const rejected = await exportSpans(token, [span({ traceId: 'no' }), span({ spanId: 'no' })]);
    expect([rejected.status, await rejected.text()]).toEqual([
      200,
      expect.stringContaining('"rejectedSpans":"2"'),
    ]);
    expect((await exportSpans(token, [span({ startTimeUnixNano: '0' })])).status).toBe(200);
    expect(await outcomes.settled({ appId })).toMatchObject([
      {
        received: 3,
        stored: 0,
        dropped: { trace_id_invalid: 1, span_id_invalid: 1, timestamp_zero_or_missing: 1 },
      },
    ]);
    expect(await stack.spansQuery(`SELECT 1 FROM otel.otel_traces WHERE AppId = ${appId}`)).toEqual([]);
  });

  it('has the spans of a block that cannot be read as dead-lettered', async () => {
    const { app_id: appId } = await stack.createApplication('refused-block');
    await publish('traces.0', spansMessage(appId, Buffer.from('no block of spans'), 3));
    expect(await outcomes.settled({ appId })).toMatchObject([{ received: 3, stored: 0, deadLettered: 3 }]);
    const letters = (await deadLetterHeaders()).filter((header) => header['appId'] === appId);
    expect(letters).toMatchObject([{ reason: 'block_refused', items: 3, outcome: { first: 0 } }]);
  });
});

describe('docs/outcomes.md', () => {
  it('has queries that work, and no record that does not add up', async () => {
    const text = readFileSync(new URL('../../../docs/outcomes.md', import.meta.url), 'utf8');
    const [block] = /```sql\n([\s\S]*?)```/.exec(text)?.slice(1) ?? [];
    const queries = (block ?? '').split(';').filter((query) => query.trim() !== '');
    const answers = [];
    for (const query of queries) answers.push(await stack.spansQuery(query));
    expect(answers).toEqual([expect.arrayContaining([]), expect.arrayContaining([]), []]);
    expect(answers[0]?.length).toBeGreaterThan(0);
  });
});
