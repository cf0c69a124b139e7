import type { ItemsRun } from '../../wire/otlp/types.ts';

/** Items of each application that go on to transfer: encoded ones, and those whose time transfer judges. */
export const keptByApplication = (
  runs: readonly Pick<ItemsRun, 'parts' | 'deferred'>[],
): ReadonlyMap<number, number> => {
  const kept = new Map<number, number>();
  for (const { parts, deferred } of runs) {
    for (const { appId, rows } of parts) kept.set(appId, (kept.get(appId) ?? 0) + rows);
    for (const { appId, ordinals } of deferred) kept.set(appId, (kept.get(appId) ?? 0) + ordinals.length);
  }
  return kept;
};
