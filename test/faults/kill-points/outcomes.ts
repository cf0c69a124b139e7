import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bus, connectBus } from '../../../src/bus/connection.ts';
import { readBalances } from '../../../src/outcomes/balance.ts';
import { ledgerSubjects } from '../../../src/outcomes/rows.ts';
import { createOutcomeReader, type OutcomeReader } from '../../support/outcomes/outcomes.ts';
import type { GatedStack } from '../../support/stack/gated-stack.ts';
import { ackOf, ackOfOutcomes, pubAckOf, publishTo, type StepMatch } from '../../support/steps.ts';
import { sharedStack } from './stack.ts';

let stack: GatedStack;
let bus: Bus;
let outcomes: OutcomeReader;
let next = 1;

beforeAll(async () => {
  stack = await sharedStack();
  bus = await connectBus(stack.engines.nats.url, 'test');
  outcomes = createOutcomeReader(stack);
});
afterAll(async () => {
  await outcomes?.close();
  await bus?.close();
});

type Sent = {
  readonly filter: { dataId: number } | { appId: number };
  readonly stored: () => Promise<number>;
};

const post = async (port: string, path: string, headers: Record<string, string>, body: unknown) => {
  const answer = await fetch(`http://127.0.0.1:${stack.ingress[0]?.ports[port]}${path}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  expect(answer.status).toBe(200);
};

/** Two good items, one that the receiver drops and one whose time fails. */
const sendPoints = async (): Promise<Sent> => {
  const report = await stack.createReport(`killed-${next++}`);
  const { mon_data_id: dataId, token } = report.data_source;
  const good = { metrics: { up: 1 } };
  const data = [good, { metrics: {} }, good, { ...good, timestamp: 'N' }];
  await post('push', '/v2/push/', {}, { data_id: dataId, access_token: token, data });
  const count = async () => {
    const { dataset } = await stack.query(`SELECT count() FROM "${report.result_table.table_id}"`);
    return Number(dataset[0]?.[0]);
  };
  return { filter: { dataId }, stored: count };
};

const sendSpans = async (): Promise<Sent> => {
  const { app_id: appId, token } = await stack.createApplication(`killed-${next++}`);
  const now = `${Date.now()}000000`;
  const span = (change: object = {}) => ({
    traceId: 'a'.repeat(32),
    spanId: `${next++}`.padStart(16, '1'),
    name: 'work',
    startTimeUnixNano: now,
    endTimeUnixNano: now,
    ...change,
  });
  const spans = [span(), span({ traceId: 'no' }), span(), span({ startTimeUnixNano: 'N' })];
  const body = { resourceSpans: [{ scopeSpans: [{ spans }] }] };
  await post('otlp', '/v1/traces', { 'X-MON-TOKEN': token }, body);
  const count = async () => {
    const [row] = await stack.spansQuery(`SELECT count() AS c FROM otel.otel_traces WHERE AppId = ${appId}`);
    return Number(row?.['c']);
  };
  return { filter: { appId }, stored: count };
};

/** Whether the outcomes are recorded: in LEDGER or in ClickHouse already. Receivers bring other records to LEDGER. */
const isRecorded = async ({ filter }: Sent): Promise<boolean> => {
  const manager = await bus.manager();
  const { state } = await manager.streams.info('LEDGER', { subjects_filter: ledgerSubjects.settled });
  const waiting = state.subjects?.[ledgerSubjects.settled] ?? 0;
  return waiting > 0 || (await readBalances(outcomes.clickhouse, filter)).length > 0;
};

/** The places of its message in the settlers' book; one that was written again is the same. */
const placesOf = ({ filter }: Sent) => {
  const owner = 'dataId' in filter ? `data_id = ${filter.dataId}` : `app_id = ${filter.appId}`;
  return stack.spansQuery(`SELECT DISTINCT * EXCEPT at FROM otel.ingest_settled WHERE ${owner}`);
};

const signals = [
  ['points', 'METRICS', sendPoints],
  ['spans', 'TRACES', sendSpans],
] as const;

// The order store, outcome, ack is what makes every item of an acknowledged message accounted for.
describe.each(signals)('transfer killed with %s', (_, stream, send) => {
  const instants: [string, StepMatch, boolean][] = [
    ['before the outcomes are sent', publishTo('LEDGER'), false],
    ['after they are recorded, before the PubAck arrives', pubAckOf('LEDGER'), true],
    ['after the PubAck, before the ack', ackOf(stream), true],
    ['after they are in ClickHouse, before the ack of their message', ackOfOutcomes(), true],
  ];
  it.each(instants)('%s: the balance is exact and nothing is stored twice', async (what, step, recorded) => {
    await outcomes.settled();
    const hold = stack.gate('transfer-0', 'nats').hold(what, step);
    const sent = await send();
    await hold.arrived();
    expect(await isRecorded(sent)).toBe(recorded);
    await stack.transfer[0]?.kill();
    hold.lose();
    stack.transfer[0]?.start();
    await stack.transfer[0]?.ready();
    const [balance] = await outcomes.settled(sent.filter);
    expect([balance?.received, balance?.stored, balance?.deadLettered]).toEqual([4, 2, 0]);
    expect(Object.values(balance?.dropped ?? {})).toEqual([1, 1]);
    expect(await sent.stored()).toBe(2);
    expect(await placesOf(sent)).toMatchObject([{ stream, owners: 1, items: 4, redrive: 0 }]);
  });
});
