import { describe, expect, it } from 'vitest';
import { systemKeys } from '../../../src/directory/keys.ts';
import { readDefaultRetention } from '../../../src/metadata/retention/default-retention.ts';
import { createMemoryBucket } from '../../support/stack/memory-bucket.ts';

describe('the retention of what is created', () => {
  it('is 90 days in a new installation, also once it has records', async () => {
    const system = createMemoryBucket();
    expect(await readDefaultRetention(system, undefined)).toBe(90);
    await system.put(systemKeys.counter('data_id'), 1_500_001);
    expect(await readDefaultRetention(system, undefined)).toBe(90);
  });

  it.each(['data_id', 'app_id'] as const)(
    'is for ever where an earlier program has given out a %s, and stays so',
    async (name) => {
      const system = createMemoryBucket();
      await system.put(systemKeys.counter(name), 7);
      expect(await readDefaultRetention(system, undefined)).toBeUndefined();
      await system.delete(systemKeys.counter(name));
      expect(await readDefaultRetention(system, undefined)).toBeUndefined();
    },
  );

  it('is the setting where there is one', async () => {
    const system = createMemoryBucket();
    expect(await readDefaultRetention(system, 30)).toBe(30);
    expect(await readDefaultRetention(system, 'off')).toBeUndefined();
    expect(await readDefaultRetention(system, undefined)).toBe(90);
  });
});
