import type { Orphan } from '../dead-letters/orphans.ts';
import { type Difference, pipelineOf, streamOfStore } from './difference.ts';

const dayMs = 86_400_000;

/** Orphaned dead letters by owner: a difference of the present day, because a letter that nobody counts belongs to no minute. */
export const sumOrphans = (orphans: readonly Orphan[], nowMs: number): Difference[] => {
  const minute = (Math.floor(nowMs / dayMs) * dayMs) / 1000;
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
    const stream = streamOfStore(pipeline);
    return [{ kind: 'orphan', pipeline, dataId, appId, stream, minute, items, messages: letters.length }];
  });
};
