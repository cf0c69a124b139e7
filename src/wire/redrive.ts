import { isCount, isObject } from './frame.ts';

/**
 * The origin of a message from the dead letters: the outcome record that has its items, so that a second record (with
 * `number`) can remove them there and add their new outcome.
 */
export type Redrive = {
  /** The number of its redrives, from 1. */
  readonly number: number;
  /** Items that the record counts as dead-lettered for it. */
  readonly items: number;
  /** Key of that record; undefined for a dead letter without one. */
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
