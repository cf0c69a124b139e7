import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readToldLosses, readToldStreams } from '../../src/account/told-doubtful.ts';
import { type Clickhouse, createClickhouse } from '../../src/stores/clickhouse/client.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { insertRows } from '../support/stack/insert-rows.ts';

let engines: TestEngines;
let clickhouse: Clickhouse;

beforeAll(async () => {
  engines = await startEngines({ clickhouse: true }, { hasTables: true });
  clickhouse = createClickhouse({ url: engines.clickhouse.url });
});
afterAll(async () => {
  await clickhouse?.close();
  await engines?.stop();
});

const insert = (table: string, rows: readonly object[]) => insertRows(clickhouse, table, rows);

const now = Math.floor(Date.now() / 1000);
const minute = Math.floor(now / 60) * 60 - 300;

/** A message whose sender was answered 2xx although the publish itself had no answer. */
const toldLine = (stream: string, serial: number, change: object = {}): object => ({
  ...{ stream, life: 9, serial, minute, data_id: 1_500_001, app_id: 0, items: 10 + serial },
  // Beyond what a number of JavaScript holds.
  ...{ base: String(2n ** 63n + BigInt(serial)), first: serial, told: 1, at: now - 300 },
  ...change,
});

const loss = { kind: 'lost_by_the_engine', pipeline: 'metrics', dataId: 1_500_001, appId: 0, minute };

// The books are compared while such lines are there: to fail would make the account of all owners not known.
describe('a message without an answer whose sender was answered 2xx', () => {
  it('is lost where neither its serial nor its key was settled, once its minute is over', async () => {
    const stream = 'METRICS';
    await insert('ingest_doubtful', [
      ...[1, 2, 3, 4].map((serial) => toldLine(stream, serial)),
      toldLine(stream, 5, { at: now }),
    ]);
    await insert('ingest_settled', [{ stream, life: 9, minute, serial: 1, sequence: 1, data_id: 1_500_001 }]);
    const record = { pipeline: 'metrics', data_id: 1_500_001, minute, at: now - 200, received: 1 };
    await insert('ingest_outcomes', [
      { ...record, base: String(2n ** 63n + 2n), first: 2 },
      // The key of another message.
      { ...record, base: String(2n ** 63n + 3n), first: 4 },
    ]);
    expect(await readToldStreams(clickhouse)).toEqual(new Set([stream]));
    expect(await readToldLosses(clickhouse, stream)).toEqual([
      { loss: { ...loss, stream, items: 27, messages: 2 }, isRecent: true },
    ]);
  });

  it('is lost also where its line was written before the clock of ClickHouse was set back', async () => {
    const stream = 'METRICS-back';
    await insert('ingest_doubtful', [toldLine(stream, 1, { at: now + 3_600 })]);
    expect(await readToldStreams(clickhouse)).toContain(stream);
    expect(await readToldLosses(clickhouse, stream)).toEqual([
      { loss: { ...loss, stream, items: 11, messages: 1 }, isRecent: true },
    ]);
  });

  it('is found among thousands', async () => {
    const stream = 'METRICS-many';
    const serials = Array.from({ length: 20_000 }, (_, index) => index + 11);
    await insert(
      'ingest_doubtful',
      serials.map((serial) => toldLine(stream, serial, { items: 1 })),
    );
    expect(await readToldLosses(clickhouse, stream)).toEqual([
      { loss: { ...loss, stream, items: serials.length, messages: serials.length }, isRecent: true },
    ]);
  });
});
