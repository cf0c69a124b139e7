import { errorText } from '../../model/fault.ts';
import type { FailureScope } from '../../stores/questdb/table-states.ts';
import { isUnclassifiedAnswer, scopeOfAnswer } from '../../stores/questdb/writer.ts';
import type { BatchResult, RefusedRow } from './write-batch.ts';

/** An answer to the rows of one table alone that concerns none of them. */
export type UnknownAnswer = { readonly why: string; readonly scope: FailureScope };

/** The results for the tables of a batch. */
export type TriedTables = BatchResult & { readonly failing: ReadonlyMap<string, UnknownAnswer> };

/**
 * Writes some tables together, then others each by itself: those that failed before, or all, to find the ones that the store
 * refuses for a reason that names no row.
 */
export const writeTables = async (
  write: (isWanted: (table: string) => boolean) => Promise<BatchResult>,
  together: ReadonlySet<string>,
  apart: readonly string[],
): Promise<TriedTables> => {
  const first = together.size === 0 ? undefined : await write((table) => together.has(table));
  const refused: RefusedRow[] = [...(first?.refused ?? [])];
  const storedTables = new Set<string>(first?.storedTables);
  const missingTables = new Set<string>(first?.missingTables);
  const brokenTables = new Map<string, string>(first?.brokenTables);
  const failing = new Map<string, UnknownAnswer>();
  for (const each of apart) {
    try {
      const result = await write((table) => table === each);
      refused.push(...result.refused);
      for (const stored of result.storedTables) storedTables.add(stored);
      for (const missing of result.missingTables) missingTables.add(missing);
      for (const [broken, why] of result.brokenTables) brokenTables.set(broken, why);
    } catch (error) {
      if (!isUnclassifiedAnswer(error)) throw error;
      failing.set(each, { scope: scopeOfAnswer(error, each), why: errorText(error) });
    }
  }
  return { refused, storedTables, missingTables, brokenTables, failing };
};
