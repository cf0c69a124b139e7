import type { TimePolicy } from '../../src/model/time.ts';

/** One hour ahead, any age (architecture 6.2). */
export const defaultTimePolicy: TimePolicy = { aheadMsMax: 3_600_000, ageMsMax: undefined };
