import { describe, expect, it } from 'vitest';
import { createUnreadable } from '../../../../src/directory/unreadable.ts';
import { whyLeftOut } from '../../../../src/metadata/account/left-out.ts';

const recordsWith = (...keys: readonly string[]) => {
  const unreadable = createUnreadable(() => {});
  for (const key of keys) unreadable.add(key, 'not JSON');
  return { purges: { known: () => undefined }, unreadable };
};

// Without its policy nobody knows which days its retention has removed: they would be missing in the store.
describe('an owner that is left out of the comparison with the stores', () => {
  it.each(['source_policy.7', 'purge.7', 'placement.7'])('is a data id whose %s cannot be read', (key) => {
    expect(whyLeftOut(recordsWith(key), 'metrics', 7)).toContain(`${key} cannot be read`);
    expect(whyLeftOut(recordsWith(key), 'metrics', 8)).toBeUndefined();
    expect(whyLeftOut(recordsWith(key), 'traces', 7)).toBeUndefined();
  });

  it('is an application whose policy cannot be read, with each of its signals', () => {
    const records = recordsWith('application_policy.7');
    for (const pipeline of ['traces', 'logs'] as const)
      expect(whyLeftOut(records, pipeline, 7)).toContain('application_policy.7 cannot be read');
    expect(whyLeftOut(records, 'metrics', 7)).toBeUndefined();
  });

  it('is a purged data id, and no other', () => {
    const value = {
      ...{ mon_data_id: 7, table_id: 't', requested_at: 1, requested_by: 'ann' },
      state: 'purging' as const,
    };
    const purge = { value, revision: 1 };
    const records = { ...recordsWith(), purges: { known: (id: number) => (id === 7 ? purge : undefined) } };
    expect(whyLeftOut(records, 'metrics', 7)).toBe('it was purged, and is not compared');
    expect(whyLeftOut(records, 'metrics', 8)).toBeUndefined();
    expect(whyLeftOut(records, 'traces', 7)).toBeUndefined();
  });
});
