import { beforeAll, describe, expect, it } from 'vitest';
import { spanSelect } from '../../support/otlp/span-rows.ts';
import { pointsBatch, settledOnce, spansBatch, storedOnce } from '../../support/push/batches.ts';
import { fetchEngine } from '../../support/stack/fetch-engine.ts';
import type { GatedStack } from '../../support/stack/gated-stack.ts';
import {
  insertOfSpans,
  pointsStored,
  type StepMatch,
  spansStored,
  writeOfPoints,
} from '../../support/steps.ts';
import { until } from '../../support/until.ts';
import { sharedStack } from './stack.ts';

// The databases, killed at each instant of a write. An insert cut at any byte, and what still runs of a killed worker, is in
// test/engines/clickhouse-kills.test.ts.

let stack: GatedStack;
beforeAll(async () => {
  stack = await sharedStack();
});

let batches = 0;
const nextName = (): string => `stores ${++batches}`;

/** More than one piece on the wire, so that a write can be cut in its middle. */
const large = { items: 2_000, length: 400 };

const command = async (statement: string): Promise<void> => {
  const answer = await fetchEngine(stack.engines.clickhouse.url, { method: 'POST', body: statement });
  if (!answer.ok) throw new Error(await answer.text());
};

/** Kills the store when this step is on its way from or to transfer, and starts it again; `meanwhile` while the step is held. */
const killStoreAt = async (
  name: 'questdb' | 'clickhouse',
  step: StepMatch,
  send: () => Promise<unknown>,
  meanwhile?: () => Promise<void>,
): Promise<void> => {
  const hold = stack.gate('transfer-0', name).hold('the step of the write', step);
  await send();
  await hold.arrived();
  await meanwhile?.();
  await stack.engines[name].kill();
  hold.lose();
  await stack.engines[name].start();
};

describe('QuestDB killed', () => {
  it.each([
    ['before its sequencer commits: nothing of the write is there, and it is sent again', writeOfPoints(1)],
    ['after its commit, before the 204: the write is sent again and changes nothing', pointsStored],
  ])('%s', async (_, step) => {
    const batch = await pointsBatch(stack, nextName(), { items: large.items, targetLength: large.length });
    // QuestDB 9.3.4 that is killed while it creates the first columns of a table may refuse that table from then on:
    // docs/exactly-once.md.
    expect((await batch.push([{ metrics: { value: 0 }, target: 'first' }])).status).toBe(200);
    expect(await batch.settled()).toEqual(settledOnce(1));
    await killStoreAt('questdb', step, batch.sendUntilTaken);
    expect(await batch.settled()).toEqual(settledOnce(batch.items + 1));
  });

  it('during column creation: the column is made once, with every row', async () => {
    const batch = await pointsBatch(stack, nextName());
    await batch.sendUntilTaken();
    await batch.settled();
    await killStoreAt('questdb', pointsStored, async () => {
      expect((await batch.push([{ metrics: { another: 1 }, target: 'a' }])).status).toBe(200);
    });
    expect(await batch.settled()).toEqual(settledOnce(batch.items + 1));
    const { dataset } = await stack.query(
      `SELECT count() FROM table_columns('${batch.table}') WHERE lower("column") LIKE 'another%'`,
    );
    expect(dataset).toEqual([[1]]);
    const { dataset: found } = await stack.query(`SELECT count(another) FROM "${batch.table}"`);
    expect(found).toEqual([[1]]);
  });
});

describe('ClickHouse killed', () => {
  it.each([
    ['before it has the insert: the guard inserts all of it', insertOfSpans],
    ['after its last part, before the 200: the guard inserts nothing', spansStored],
  ])('%s', async (_, step) => {
    const batch = await spansBatch(stack, nextName(), { items: large.items, attributeLength: large.length });
    await killStoreAt('clickhouse', step, batch.sendUntilTaken);
    expect(await batch.settled()).toEqual(settledOnce(batch.items));
  });

  it('between source part and view part: the trace is found by its id after the next try', async () => {
    const batch = await spansBatch(stack, nextName());
    await killStoreAt('clickhouse', spansStored, batch.sendUntilTaken, async () => {
      // The state after a kill between the two: the view's part is missing. Its 200 is held, so both existed before.
      expect(await batch.stored()).toEqual(storedOnce(batch.items));
      await command('TRUNCATE TABLE otel.otel_traces_trace_id_ts');
      expect((await batch.stored()).lostTraces).toBe(2);
    });
    expect(await batch.settled()).toEqual(settledOnce(batch.items));
  });

  it('during merge: the parts of the merge exist again, and merge to the same rows', async () => {
    const count = 40_000;
    const rows = { first: 1n << 40n, count, startNs: 1_700_000_000_000_000_000n, stepNs: 1_000n };
    const columns = 'SELECT * FROM';
    const ours = 'FROM otel.otel_traces';
    const where = `WHERE uid BETWEEN ${rows.first} AND ${rows.first + BigInt(count - 1)}`;
    /** False where the merge was over before the kill: it takes a moment only. */
    const killInMerge = async (): Promise<boolean> => {
      await command('SYSTEM STOP MERGES otel.otel_traces');
      for (let copy = 0; copy < 3; copy++) {
        await command(`INSERT INTO otel.otel_traces ${columns} (${spanSelect(rows)})`);
      }
      await command('SYSTEM START MERGES otel.otel_traces');
      let isOver = false;
      const merging = command('OPTIMIZE TABLE otel.otel_traces FINAL')
        .then(
          () => 'merged',
          () => 'killed',
        )
        .finally(() => {
          isOver = true;
        });
      await until('a merge of them runs', async () => {
        const running = await stack.spansQuery(
          "SELECT 1 FROM system.merges WHERE table = 'otel_traces' AND rows_read > 1000",
        );
        return running.length > 0 || isOver;
      });
      await stack.engines.clickhouse.kill();
      await stack.engines.clickhouse.start();
      return (await merging) === 'killed';
    };
    await until('a kill comes while they are merged', killInMerge, 120_000);
    const final = { rows: String(count), uids: String(count) };
    const counts = 'SELECT count() AS rows, uniqExact(uid) AS uids';
    expect(await stack.spansQuery(`${counts} ${ours} FINAL ${where}`)).toEqual([final]);
    await command('OPTIMIZE TABLE otel.otel_traces FINAL');
    expect(await stack.spansQuery(`${counts} ${ours} ${where}`)).toEqual([final]);
  });
});
