/** The options of a run of the faults. */
export type FaultsOptions = { readonly seed: number; readonly kills: number; readonly minutes: number };

/** An invalid option; nothing was started. */
export class FaultsUsageError extends Error {
  override readonly name = 'FaultsUsageError';
}

const usage = 'make faults SEED=1 KILLS=200 MINUTES=40';

const names = ['SEED', 'KILLS', 'MINUTES'];

/**
 * Reads `SEED`, `KILLS` and `MINUTES`, whole numbers from 1 up; one that is absent or empty is its default, the seed `freshSeed`.
 * Throws a FaultsUsageError for anything else, and for arguments: a long run with other faults than were meant would prove nothing.
 */
export const readFaultsOptions = (
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  freshSeed: number,
): FaultsOptions => {
  const [first] = args;
  if (first !== undefined)
    throw new FaultsUsageError(`${JSON.stringify(first)} is unknown; it takes ${names.join(', ')}: ${usage}`);
  const numberOf = (name: string, fallback: number): number => {
    const text = env[name] ?? '';
    if (text === '') return fallback;
    const value = Number(text);
    if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= 1) return value;
    throw new FaultsUsageError(
      `${name} has to be a whole number from 1, not ${JSON.stringify(text)}: ${usage}`,
    );
  };
  return {
    seed: numberOf('SEED', freshSeed),
    kills: numberOf('KILLS', 200),
    minutes: numberOf('MINUTES', 40),
  };
};
