/** Knows when a search for lost dead letters can find nothing: those that it found were all there, and DEADLETTER is as it was. */
export type UnchangedLetters = {
  /** Whether that is so while DEADLETTER is in this state. */
  isSo(state: string): boolean;
  /** A search that began in this state has ended. `isWhole`: every letter of the records was there. */
  searched(state: string, isWhole: boolean): void;
  /** Lines of the books were changed or removed: the next search is to be done. */
  touch(): void;
};

/** While DEADLETTER stays as it is, in case records are gone of which ClickHouse says nothing. */
const searchEveryMs = 240_000;

/** `elapsed`: ms of a clock that is never set. */
export const createUnchangedLetters = (elapsed: () => number): UnchangedLetters => {
  let states: { readonly before: string | undefined; readonly last: string } | undefined;
  let searchedAt = 0;
  return {
    // In the state of one search alone: a letter that came and went just before it may have got its record after it.
    isSo: (state) =>
      states?.last === state && states.before === state && elapsed() - searchedAt < searchEveryMs,
    searched: (state, isWhole) => {
      states = isWhole ? { before: states?.last, last: state } : undefined;
      searchedAt = elapsed();
    },
    touch: () => {
      states = undefined;
    },
  };
};
