import { isCount, isObject } from './frame.ts';

/**
 * Identifies a message across redeliveries: uid base (decimal) and first ordinal of its run; of a shared message those
 * of its first request.
 */
export type MessageKey = { readonly base: string; readonly first: number };

export const isDecimal = (value: unknown): value is string =>
  typeof value === 'string' && /^\d{1,20}$/.test(value);

export const isMessageKey = (value: unknown): value is MessageKey =>
  isObject(value) && isDecimal(value['base']) && isCount(value['first']);
