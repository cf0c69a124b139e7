import { expect, it } from 'vitest';
import { recordKeys } from '../../../src/directory/keys.ts';
import { startPurges } from '../../../src/directory/purges.ts';
import { createRecordWriter } from '../../support/metadata/directory-records.ts';
import { createMemoryBucket } from '../../support/stack/memory-bucket.ts';

// Before they are read, no point may count as one of a data id that is not purged.
it('purges are ready with the first whole reading and follow the records', async () => {
  const records = createMemoryBucket();
  const write = createRecordWriter(records);
  await write.source(1, 'token');
  await write.purge(1, 'table');
  const purges = startPurges(records);
  let ready = false;
  const turned = purges.whenReady.then(() => {
    ready = true;
  });
  await Promise.resolve();
  expect([purges.isReady, ready]).toEqual([false, false]);
  records.snapshot();
  await turned;
  expect([purges.isReady, purges.has(1), purges.has(2)]).toEqual([true, true, false]);
  await write.purge(2, 'table');
  // With any content that a newer program writes: the existence of the record counts.
  await records.put(recordKeys.purge(3), null);
  await records.put(recordKeys.dataSource(4), {});
  records.tell();
  expect([1, 2, 3, 4].map((id) => purges.has(id))).toEqual([true, true, true, false]);
  await records.delete(recordKeys.purge(1));
  await records.delete(recordKeys.purge(2));
  records.tell(1);
  expect([purges.has(1), purges.has(2)]).toEqual([false, true]);
  records.snapshot();
  expect([purges.has(2), purges.has(3)]).toEqual([false, true]);
});
