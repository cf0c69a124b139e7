import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { noteBackedUp, readBackupTimes } from '../../../src/directory/backup-record.ts';
import { systemKeys } from '../../../src/directory/keys.ts';
import { lookAtBackup } from '../../../src/metadata/upkeep.ts';
import { createUpkeepMetrics } from '../../../src/telemetry/upkeep-metrics.ts';
import { createMemoryKv } from '../../support/metadata/refresh-memory-kv.ts';

/** The gauge by part, as metadata with these QuestDB instances shows it. */
const shownOf = async (
  system: ReturnType<typeof createMemoryKv>,
  ...names: string[]
): Promise<Record<string, number>> => {
  const metrics = createUpkeepMetrics(new Registry());
  await lookAtBackup({ system, metrics, instances: names.map((name) => ({ name })) });
  const { values } = await metrics.backupLast.get();
  return Object.fromEntries(values.map(({ labels, value }) => [String(labels.part), value]));
};

// The alarm of a part must not end because another part was copied.
it('a backup counts for the parts that it copied, and leaves the times of the others', async () => {
  const system = createMemoryKv();
  expect(await shownOf(system, 'default')).toEqual({ nats: 0 });
  await noteBackedUp(system, ['nats', 'questdb', 'clickhouse'], 100);
  await noteBackedUp(system, ['nats', 'questdb-b'], 200);
  await noteBackedUp(system, ['nats'], 300);
  expect(await shownOf(system, 'default', 'b')).toEqual({
    ...{ nats: 300, questdb: 100, 'questdb-b': 200, clickhouse: 100 },
  });
  // Of an instance that is no more, nothing can be backed up.
  expect(await shownOf(system, 'default')).toEqual({ nats: 300, questdb: 100, clickhouse: 100 });
});

it('the note of an earlier version counts for the streams', async () => {
  const system = createMemoryKv();
  await system.put(systemKeys.backup, { finished_at: 50 });
  expect(await shownOf(system, 'default')).toEqual({ nats: 50 });
  await noteBackedUp(system, ['nats', 'questdb'], 100);
  expect(await shownOf(system, 'default')).toEqual({ nats: 100, questdb: 100 });
});

it('two backups that end at once lose no part of each other', async () => {
  const system = createMemoryKv();
  await Promise.all([
    noteBackedUp(system, ['nats', 'questdb'], 100),
    noteBackedUp(system, ['questdb-b'], 101),
  ]);
  expect(await readBackupTimes(system)).toEqual({ nats: 100, questdb: 100, 'questdb-b': 101 });
});
