/**
 * The memory that a body costs a receiver in all, as a multiple of its bytes: rows or blocks about as long, and the messages that carry
 * them.
 */
export const madeOfBody = 3;
