/** Receives one line for each step. */
export type Say = (line: string) => void;

/** Prints each line with the seconds since this call. */
export const sayWithTime = (): Say => {
  const startedAt = performance.now();
  return (line) => {
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
    process.stdout.write(`[${seconds.padStart(4)} s] ${line}\n`);
  };
};
