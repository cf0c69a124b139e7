import type { KvBucket } from '../bus/kv.ts';
import { recordKeys } from '../directory/keys.ts';
import { applicationPolicySchema, sourcePolicySchema } from '../directory/policies.ts';
import { Fault } from '../model/fault.ts';
import { type ApplicationPipeline, isOfApplications, pipelineOfStream } from '../model/signals.ts';
import { dayMs } from '../model/time.ts';
import { isBlockPart } from '../wire/blocks-envelope.ts';
import type { Letter } from './dead-letter.ts';
import type { DeadLetterPart } from './dead-letters.ts';

/** The days that the owner of a letter keeps its items by a retention that was set; undefined: no such retention. */
export type ReadKeptDays = (letter: Letter) => Promise<number | undefined>;

type Dependencies = {
  /** Bucket of the policies. */
  readonly records: Pick<KvBucket, 'get'>;
  /** The retention of a signal's tables. */
  readonly retentionDays: { readonly [pipeline in ApplicationPipeline]?: number | undefined };
};

/** Reads the policy of the owner. The default of a deployment is no retention that was set, as for a receiver. */
export const createKeptDays =
  ({ records, retentionDays }: Dependencies): ReadKeptDays =>
  async ({ header: { stream, dataId = 0, appId = 0 } }) => {
    const pipeline = pipelineOfStream(stream);
    if (pipeline === undefined) return undefined;
    const isOfApplication = isOfApplications(pipeline);
    const key = isOfApplication ? recordKeys.applicationPolicy(appId) : recordKeys.sourcePolicy(dataId);
    const schema = isOfApplication ? applicationPolicySchema : sourcePolicySchema;
    const own = schema.safeParse((await records.get(key))?.value).data?.retention_days ?? undefined;
    const ofTables = isOfApplication ? retentionDays[pipeline] : undefined;
    const days = Math.min(own ?? Number.POSITIVE_INFINITY, ofTables ?? Number.POSITIVE_INFINITY);
    return Number.isFinite(days) ? days : undefined;
  };

/** The event day of the newest row. */
const lastDay = (part: DeadLetterPart): number =>
  isBlockPart(part) ? part.day : Math.floor(part.timeMax / dayMs);

/**
 * Throws the permanent Fault `not_redrivable` where the retention has left the days of all of these rows: they would be removed as soon as
 * they are stored, and count as stored.
 */
export const refuseOutlived = (
  { sequence }: Letter,
  part: DeadLetterPart,
  keptDays: number | undefined,
  nowMs: number,
): void => {
  // A day leaves once all of it is longer ago.
  if (keptDays === undefined || lastDay(part) >= Math.floor(nowMs / dayMs) - keptDays) return;
  throw new Fault(
    'permanent',
    'not_redrivable',
    `dead letter ${sequence} is older than the retention of ${keptDays} days, which would remove it at once: purge it, or lengthen the retention (tidemark retention set) and redrive it again`,
  );
};
