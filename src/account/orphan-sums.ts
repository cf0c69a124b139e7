import type { Orphan } from '../dead-letters/orphans.ts';
import { type Difference, pipelineOf, streamOfStore } from './difference.ts';

/**
 * Orphaned dead letters by owner. A letter that no record counts belongs to no minute of the books: they stand in that of the oldest one,
 * so that what an operator closes stays closed.
 */
export const sumOrphans = (orphans: readonly Orphan[]): Difference[] => {
  const owners = Map.groupBy(
    orphans,
    ({ stream, dataId, appId }) => `${pipelineOf(stream)} ${dataId} ${appId}`,
  );
  return [...owners.values()].flatMap((letters): Difference[] => {
    const [first] = letters;
    if (first === undefined) return [];
    const pipeline = pipelineOf(first.stream);
    const items = letters.reduce((sum, letter) => sum + letter.items, 0);
    const { dataId = 0, appId = 0 } = first;
    const oldestMs = Math.min(...letters.map(({ at }) => at));
    const minute = Math.floor(oldestMs / 60_000) * 60;
    const stream = streamOfStore(pipeline);
    return [{ kind: 'orphan', pipeline, dataId, appId, stream, minute, items, messages: letters.length }];
  });
};
