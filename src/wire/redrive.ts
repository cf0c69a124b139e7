import { isCount, isObject } from './frame.ts';

/**
 * What a message from the dead letters says of itself: which record of outcomes its items are in, so that a record of its own
 * (with `number`) can take them out of there and say what became of them.
 */
export type Redrive = {
  /** How often it was sent back, from 1. */
  readonly number: number;
  /** Items that the record counts as dead-lettered for it. */
  readonly items: number;
  /** Key of that record; undefined for a dead letter of which none was written. */
  readonly outcome?: {
    readonly base: string;
    readonly first: number;
    readonly ordinal: number;
    readonly minute: string;
  };
};

const isOutcome = (value: unknown): boolean =>
  isObject(value) &&
  typeof value['base'] === 'string' &&
  isCount(value['first']) &&
  Number.isSafeInteger(value['ordinal']) &&
  typeof value['minute'] === 'string';

export const isRedrive = (value: unknown): value is Redrive =>
  isObject(value) &&
  isCount(value['number']) &&
  isCount(value['items']) &&
  (value['outcome'] === undefined || isOutcome(value['outcome']));
