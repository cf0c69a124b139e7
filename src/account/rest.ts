/** How long to rest after this work, ms, so that it takes no more than this share of the time. */
export const restAfter = (workMs: number, share: number): number => workMs * (1 / share - 1);

/** The share of the searches beside the looks at the books: at the stores, and for dead letters. */
export const searchShare = 1 / 40;

/** While there is something to find: so that a loss shows within two minutes. */
export const urgentShare = 1 / 10;

/** For a day that changed and was not compared since: a loss with equal numbers shows in no other way. */
export const changedShare = 1 / 20;

/** For the applications that rest on a day that others are written to: all rows of the day are read for them. */
export const besideShare = 1 / 100;
