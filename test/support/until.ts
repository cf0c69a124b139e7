const stepMs = 25;

/**
 * Waits until `condition` answers something else than undefined or false, and answers that. Throws after `timeoutMs` with
 * what was waited for and the last error.
 */
export const until = async <T>(
  what: string,
  condition: () => Promise<T | undefined | false> | T | undefined | false,
  timeoutMs = 90_000,
): Promise<T> => {
  const deadline = performance.now() + timeoutMs;
  let lastError: unknown;
  while (performance.now() < deadline) {
    try {
      const result = await condition();
      if (result !== undefined && result !== false) return result;
    } catch (error) {
      lastError = error;
    }
    await new Promise((resolve) => setTimeout(resolve, stepMs));
  }
  const told = lastError instanceof Error ? ` (last: ${lastError.message})` : '';
  throw new Error(`not within ${timeoutMs} ms: ${what}${told}`, { cause: lastError });
};
