/**
 * The cutting rule (architecture 5.3): the runs depend only on the request, so that a retry is divided alike even if settings
 * changed in between. Named in message ids: a change of this rule changes them.
 */
export const itemCuttingRuleVersion = 1;

/** The largest cost of the items of one run together: 256 + 2 × (size of the item + size of its resource and scope) each. */
export const itemRunBudget = 2 * 2 ** 20;
export const itemOverhead = 256;

/** Different combinations of token, day and table that one run may hold: each is a block, whose column names take space, too. */
export const runPartsMax = 256;

/**
 * Runs that one request may be cut into. A run repeats its resource, so that a small body with a large resource would otherwise
 * become gigabytes; 50,000 items under a resource of 4 KB, or on as many days, are fewer.
 */
export const runsMax = 256;

/**
 * Blocks that one request may make: one per run, application, day and table. ClickHouse writes each as a part, which costs as much as
 * hundreds of rows; a year of items, or the applications of a gateway, are far fewer.
 */
export const blocksMax = 2048;

/** Bytes of all blocks of one request, each with a copy of its resource. */
export const blockBytesMax = 128 * 2 ** 20;

/**
 * Bytes of the deferred items of one request, each with its resource as text: a small body with a large resource and wrong times
 * would otherwise become gigabytes. Transfer will drop them, so that no item is lost that would be kept.
 */
export const deferredBytesMax = 32 * 2 ** 20;
