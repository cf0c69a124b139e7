import { describe, expect, it } from 'vitest';
import { type Directory, startDirectory } from '../../../src/directory/directory.ts';
import { columnsKey } from '../../../src/directory/keys.ts';
import { lastSeenSeconds, writeLastSeen } from '../../../src/directory/last-seen.ts';
import { columnRegistrySchema } from '../../../src/directory/records.ts';
import { createRecordWriter, defaultRules } from '../../support/metadata/directory-records.ts';
import { createMemoryBucket, type MemoryBucket } from '../../support/stack/memory-bucket.ts';

const dataId = 1_500_001;
const token = '0123456789abcdef0123456789abcdef';
const first = 1_700_000_000;
const name = (text: string) => ({ name: text, column: text, first_seen: first, last_seen: first });

type Followed = { directory: Directory; records: MemoryBucket; columns: MemoryBucket };

const startWithNames = async (): Promise<Followed> => {
  const records = createMemoryBucket();
  const columns = createMemoryBucket();
  await createRecordWriter(records).source(dataId, token);
  await columns.put(columnsKey(dataId), {
    mon_data_id: dataId,
    metrics: [name('load'), name('idle')],
    dimensions: [name('module')],
  });
  const directory = startDirectory({
    records,
    columns,
    defaults: defaultRules,
    now: () => 0,
    onInvalid: (key) => {
      throw new Error(key);
    },
  });
  records.snapshot();
  columns.snapshot();
  return { directory, records, columns };
};

const lastSeen = async (columns: MemoryBucket): Promise<Record<string, number>> => {
  const { metrics, dimensions } = columnRegistrySchema.parse((await columns.get(columnsKey(dataId)))?.value);
  return Object.fromEntries([...metrics, ...dimensions].map((entry) => [entry.name, entry.last_seen]));
};

describe('last_seen of a column', () => {
  it('follows the names that requests use, and no others', async () => {
    const { directory, columns } = await startWithNames();
    const source = directory.source(dataId);
    expect([source?.metrics.get('load'), source?.dimensions.get('module')]).toEqual(['load', 'module']);
    const later = first + lastSeenSeconds + 1;
    await writeLastSeen(directory, columns, later * 1000);
    expect(await lastSeen(columns)).toEqual({ load: later, idle: first, module: later });
    columns.tell();
    expect(directory.source(dataId)?.metrics.get('idle')).toBe('idle');
  });

  it('is written at most once an hour for a name', async () => {
    const { directory, columns } = await startWithNames();
    directory.source(dataId)?.metrics.get('load');
    await writeLastSeen(directory, columns, (first + lastSeenSeconds) * 1000);
    expect(await lastSeen(columns)).toEqual({ load: first, idle: first, module: first });
  });

  it('never goes back, and a name registered meanwhile stays', async () => {
    const { directory, columns } = await startWithNames();
    directory.source(dataId)?.metrics.get('load');
    const later = first + 2 * lastSeenSeconds;
    const registry = {
      mon_data_id: dataId,
      metrics: [{ ...name('load'), last_seen: later + 9 }, name('idle'), name('fresh')],
      dimensions: [],
    };
    await columns.put(columnsKey(dataId), registry);
    await writeLastSeen(directory, columns, later * 1000);
    expect((await columns.get(columnsKey(dataId)))?.value).toEqual(registry);
  });

  it('of names that were seen before is not written twice', async () => {
    const { directory } = await startWithNames();
    directory.source(dataId)?.metrics.get('load');
    expect(directory.takeLastSeen(first + 1)).toEqual([{ dataId, metrics: ['load'], dimensions: [] }]);
    expect(directory.takeLastSeen(first + 1)).toEqual([]);
  });
});
