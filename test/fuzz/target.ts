import type { Random } from '../support/otlp/plain/mutations.ts';

/** A decoder under attack. */
export type Target = {
  /** Begins the names of its files in regressions/. */
  readonly name: string;
  /** Valid inputs, always the same for a seed. */
  readonly corpus: (seed: number) => readonly Buffer[];
  /** An input that no sender should send; `valid` is one of the corpus, `other` another. */
  readonly mutate: (random: Random, valid: Buffer, other: Buffer) => Buffer;
  /**
   * Decodes, and throws for a wrong result: an error that is not the decoder's own, or a result that a second opinion does
   * not share. Returns the kind of the result, for the statistics.
   */
  readonly check: (bytes: Buffer) => string | Promise<string>;
  /** Throws when a truncated input passes as complete; absent where a truncated input may be complete. */
  readonly checkCut?: (cut: Buffer, whole: Buffer) => void | Promise<void>;
};

/** An input for which a decoder did what it must not. */
export type Finding = { readonly target: string; readonly bytes: Buffer; readonly why: string };

export const whyOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  const [first = '', ...rest] = error.message.split('\n');
  return `${error.name}: ${[first, ...rest.filter((line) => line.trim() !== '').slice(0, 12)].join('\n  ')}`;
};

/** What findings of one defect have in common: the first line, numbers and quoted texts aside. */
export const kindOf = (why: string): string =>
  (why.split('\n')[0] ?? '').replace(/"(?:[^"\\]|\\.)*"|'[^']*'|\d+/g, '#').slice(0, 120);
