import { idIs } from './any-value.ts';
import type { ReadState } from './read-state.ts';

/** Whether an exemplar has this id, by the result of reading it. One with a wrong id belongs to no trace; it is counted. */
export const hasExemplarId = (state: ReadState, problem: string): boolean => {
  if (problem !== idIs.valid && problem !== idIs.absent && problem !== idIs.zero)
    state.forgive('exemplar_id_invalid');
  return problem === idIs.valid;
};
