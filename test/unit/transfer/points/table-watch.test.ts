import { expect, it, onTestFinished } from 'vitest';
import { createTransferMetrics } from '../../../../src/telemetry/transfer-metrics.ts';
import { startTableWatch, type TableWatch } from '../../../../src/transfer/points/table-watch.ts';
import { until } from '../../../support/until.ts';

const table = '2_mon_time_series_1500001.__default__';

type State = { id: number; suspended: boolean; message: string };

type Watched = {
  watch: TableWatch;
  state: { now: State | undefined };
  keys: { now: string[] };
  /** How often the watch has reported that a table is gone. */
  gone: () => number;
  looks: () => Promise<void>;
};

/** A watch over one table; what QuestDB says of it can be changed. */
const watchOf = (): Watched => {
  const state: { now: State | undefined } = { now: { id: 4, suspended: false, message: '' } };
  const keys = { now: ['timestamp', 'uid'] };
  let count = 0;
  let gone = 0;
  const watch = startTableWatch({
    instance: 'default',
    sql: {
      exec: async (text) => {
        if (text.includes('table_columns'))
          return { columns: [], dataset: keys.now.map((column) => [table, column]) };
        count++;
        const { now } = state;
        const rows = now === undefined ? [] : [[table, now.id, now.suspended, true, '', now.message, 0]];
        return { columns: [], dataset: rows };
      },
      close: async () => {},
    },
    durability: 'process',
    metrics: createTransferMetrics(),
    onGone: () => {
      gone++;
    },
    everyMs: 1,
  });
  onTestFinished(() => watch.stop());
  const looks = async (): Promise<void> => {
    const seen = count;
    await until('two more looks', () => count > seen + 2);
  };
  return { watch, state, keys, gone: () => gone, looks };
};

// QuestDB goes on confirming rows for such a table, and nobody will ever see them.
it('a table that QuestDB cannot change is broken until there is another one of its name', async () => {
  const { watch, state, looks } = watchOf();
  await looks();
  watch.noteBroken(table, 'possible corruption');
  await looks();
  expect(watch.observed(table)?.why).toBe('possible corruption');
  expect(watch.problem).toContain(`cannot be changed any more`);
  expect(watch.problem).toContain(table);
  // A broken table is not listed for a while after QuestDB has started.
  state.now = undefined;
  await looks();
  state.now = { id: 4, suspended: false, message: '' };
  await looks();
  expect(watch.observed(table)?.why).toBe('possible corruption');
  state.now = { id: 5, suspended: false, message: '' };
  await until('it is taken for a new one', () => watch.observed(table)?.why === undefined);
  expect(watch.problem).toBeUndefined();
});

it('a broken table that is dropped for good is forgotten', async () => {
  const { watch, state, looks } = watchOf();
  await looks();
  watch.noteBroken(table, 'possible corruption');
  state.now = undefined;
  await until(
    'it is forgotten',
    () => watch.problem === undefined && watch.observed(table)?.why === undefined,
  );
});

it.each([
  'unexpected new WAL structure version [walStructure=14, tableStructureVersion=12]',
  'Cannot invoke "io.questdb.cairo.TableColumnMetadata.getColumnType()" because the return value of "io.questdb.cairo.AbstractRecordMetadata.getColumnMetadata(int)" is null',
])('a table that was suspended for a damaged log is broken: %s', async (message) => {
  const { watch, state } = watchOf();
  state.now = { id: 4, suspended: true, message };
  await until('it is broken', () => watch.observed(table)?.why !== undefined);
  expect(watch.problem).not.toContain('suspended, rows are kept');
});

it('a table that was suspended for anything else is not: it is resumed, and its rows are kept', async () => {
  const { watch, state, looks } = watchOf();
  state.now = { id: 4, suspended: true, message: 'could not open, no space left' };
  await looks();
  expect(watch.observed(table)?.why).toBeUndefined();
  expect(watch.problem).toContain('suspended, rows are kept and not visible yet');
});

// QuestDB confirms rows that a connection with an earlier write sends to a dropped table, and they go with it.
// The next table of its name may have been written to and replaced between two looks, too.
it('a table that is dropped is reported once, and each time another one has its name', async () => {
  const { state, gone, looks } = watchOf();
  await looks();
  expect(gone()).toBe(0);
  state.now = undefined;
  await looks();
  expect(gone()).toBe(1);
  state.now = { id: 6, suspended: false, message: '' };
  await looks();
  expect(gone()).toBe(2);
  state.now = { id: 7, suspended: false, message: '' };
  await looks();
  expect(gone()).toBe(3);
});

// QuestDB leaves a table out of the list for a while after a start.
it('a table that is listed again with the number it had is not another one', async () => {
  const { state, gone, looks } = watchOf();
  await looks();
  state.now = undefined;
  await looks();
  state.now = { id: 4, suspended: false, message: '' };
  await looks();
  expect(gone()).toBe(1);
});

it('a table with other upsert keys is unsafe until it has the right ones', async () => {
  const { watch, keys, looks } = watchOf();
  await looks();
  expect(watch.observed(table)).toBeUndefined();
  keys.now = ['timestamp'];
  await looks();
  expect(watch.observed(table)).toMatchObject({
    state: 'unsafe',
    why: 'its upsert keys are not (timestamp, uid): rows overwrite each other',
  });
  expect(watch.problem).toBe(`upsert keys are not (timestamp, uid), nothing is written to: ${table}`);
  keys.now = ['timestamp', 'uid'];
  await looks();
  expect([watch.observed(table), watch.problem]).toEqual([undefined, undefined]);
});

it('a table with other upsert keys stays unsafe while it is suspended', async () => {
  const { watch, state, keys, looks } = watchOf();
  keys.now = ['timestamp'];
  await looks();
  state.now = { id: 4, suspended: true, message: 'no space left' };
  await looks();
  expect(watch.observed(table)?.state).toBe('unsafe');
  expect(watch.problem).toContain('suspended, rows are kept');
  expect(watch.problem).toContain('upsert keys are not (timestamp, uid)');
});
