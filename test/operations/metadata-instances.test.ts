import { afterAll, beforeAll, expect, it } from 'vitest';
import type { CreationDeps } from '../../src/metadata/reports/creation.ts';
import { startKeeper } from '../../src/metadata/reports/keeper.ts';
import { createTableRepair } from '../../src/metadata/tables/repair.ts';
import type { QuestdbSql } from '../../src/stores/questdb/sql.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { metadataCalls } from '../support/metadata/calls.ts';
import { type OpenMetadata, startOpenMetadata } from '../support/metadata/open-metadata.ts';
import { until } from '../support/until.ts';

const boundMs = 30_000;
const log = createLog('test', 'silent');

let metadata: OpenMetadata;
let sql: QuestdbSql;
let deps: CreationDeps;

beforeAll(async () => {
  metadata = await startOpenMetadata();
  ({ sql, deps } = metadata);
});
afterAll(() => metadata?.stop());

/** A report on the instance `b`, then one on the first: what is done in their order comes to `b` first. */
const reportOnEach = async (name: string) => {
  const make = async (which: string) =>
    (await metadataCalls.createReport(deps, { mon_biz_id: 2, name: `${name} ${which}` })).custom_report;
  const there = await make('there');
  const here = await make('here');
  await deps.records.placements.change(there.mon_data_id, (placement) => ({ ...placement, questdb: 'b' }));
  return { there, here };
};

it('an instance that hangs delays no purge of another, and one that is down is not tried', async () => {
  const { there, here } = await reportOnEach('purged');
  const tried: string[] = [];
  const hanging = Promise.withResolvers<void>();
  const away = new Set(['b']);
  for (const { custom_report_id: id, table_id } of [there, here])
    await metadataCalls.purgeReport(deps, { id, table_id });
  const keeper = startKeeper({
    ...deps,
    tables: {
      ...deps.tables,
      drop: (table) => {
        tried.push(table);
        return table === there.table_id ? hanging.promise : deps.tables.drop(table);
      },
    },
    repair: { round: async () => {} },
    isAway: (instance) => away.has(instance),
    purgeWaitMs: 0,
    now: Date.now,
    log,
  });
  try {
    const stateOf = async (id: number) => (await deps.records.purges.get(id))?.value.state;
    await until('the first is purged', async () => (await stateOf(here.mon_data_id)) === 'purged', boundMs);
    expect(tried).not.toContain(there.table_id);
    away.clear();
    await until('the other is tried', () => tried.includes(there.table_id), boundMs);
    const later = (await metadataCalls.createReport(deps, { mon_biz_id: 2, name: 'later' })).custom_report;
    await metadataCalls.purgeReport(deps, { id: later.custom_report_id, table_id: later.table_id });
    const round = keeper.round();
    await until(
      'one is purged meanwhile',
      async () => (await stateOf(later.mon_data_id)) === 'purged',
      boundMs,
    );
    expect(await stateOf(there.mon_data_id)).toBe('purging');
    hanging.resolve();
    await round;
    expect(await stateOf(there.mon_data_id)).toBe('purged');
  } finally {
    hanging.resolve();
    await keeper.stop();
  }
});

it('an instance that hangs delays no missing table of another, and one that is down is not queried', async () => {
  const { here } = await reportOnEach('mended');
  const hanging = Promise.withResolvers<never>();
  let asked = 0;
  const away = new Set(['b']);
  const hung: QuestdbSql = {
    exec: () => {
      asked++;
      return hanging.promise;
    },
    close: async () => {},
  };
  const repair = createTableRepair({
    ...deps,
    sqls: new Map([
      ['default', sql],
      ['b', hung],
    ]),
    isAway: (instance) => away.has(instance),
    remakeViews: () => {},
    log,
  });
  await deps.tables.drop(here.table_id);
  await repair.round();
  expect(asked).toBe(0);
  away.clear();
  const round = repair.round();
  await until(
    'the table is created again',
    async () => (await deps.tables.names()).includes(here.table_id),
    boundMs,
  );
  expect(asked).toBe(1);
  hanging.reject(new Error('b is late'));
  await expect(round).rejects.toThrow('b is late');
});
