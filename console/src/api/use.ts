import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type Answer, ApiError, type Input, type PathOf, read } from './client.ts';

/** What is loaded, being loaded or failed. While it is loaded again, the former data stays. */
export type Resource<T> = {
  readonly data: T | undefined;
  readonly error: ApiError | undefined;
  readonly isLoading: boolean;
  readonly reload: () => void;
};

const errorOf = (error: unknown): ApiError =>
  error instanceof ApiError ? error : new ApiError(0, { code: 'defect', detail: String(error) });

/** What a page does not read again by itself, it does read again when metadata did not answer. */
const unreachableEveryMs = 5_000;

/**
 * Loads by `load` when `key` changes, and again every `everyMs` while the tab is visible. A load that is no longer wanted is
 * aborted. `useGet` does it for one path of the API. After data that `isLast` knows, it loads again only for another key or a `reload`.
 */
export const useLoad = <T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
  everyMs?: number,
  isLast: (data: T) => boolean = () => false,
): Resource<T> => {
  const [state, setState] = useState<{ key: string; data?: T; error?: ApiError }>({ key });
  const [turn, setTurn] = useState(0);
  const [isLoading, setIsLoading] = useState(true);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    const aborting = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const again = (ms: number | undefined): void => {
      if (ms === undefined || aborting.signal.aborted) return;
      timer = setTimeout(() => (document.hidden ? again(ms) : setTurn((count) => count + 1)), ms);
    };
    let afterMs = everyMs;
    setIsLoading(true);
    latest
      .current(aborting.signal)
      .then(
        (data) => {
          setState({ key, data });
          if (isLast(data)) afterMs = undefined;
        },
        (error) => {
          if (aborting.signal.aborted) return;
          const failure = errorOf(error);
          if (failure.status === 0 && failure.code === 'unreachable') afterMs ??= unreachableEveryMs;
          setState((former) => ({ ...(former.key === key ? former : { key }), error: failure }));
        },
      )
      .finally(() => {
        if (aborting.signal.aborted) return;
        setIsLoading(false);
        again(afterMs);
      });
    return () => {
      clearTimeout(timer);
      aborting.abort();
    };
  }, [key, turn, everyMs]);
  const reload = useCallback(() => setTurn((count) => count + 1), []);
  const isCurrent = state.key === key;
  return {
    data: isCurrent ? state.data : undefined,
    error: isCurrent ? state.error : undefined,
    isLoading,
    reload,
  };
};

/** Loads the JSON of a path, again when its input changes. For instance `useGet('/api/v1/stores', {}, 30_000)`. */
export const useGet = <P extends PathOf<'get'>>(
  path: P,
  input: Input<P, 'get'>,
  everyMs?: number,
  isLast?: (data: Answer<P>) => boolean,
): Resource<Answer<P>> =>
  useLoad(`${path} ${JSON.stringify(input)}`, (signal) => read(path, input, signal), everyMs, isLast);

/** Runs an act of the user once at a time: its state, and how to begin it. */
export const useAct = <A extends unknown[]>(
  act: (...args: A) => Promise<unknown>,
): {
  readonly run: (...args: A) => Promise<void>;
  readonly isRunning: boolean;
  readonly error: ApiError | undefined;
} => {
  const [isRunning, setIsRunning] = useState(false);
  const [error, setError] = useState<ApiError>();
  const run = async (...args: A): Promise<void> => {
    if (isRunning) return;
    setIsRunning(true);
    setError(undefined);
    await act(...args)
      .catch((failure: unknown) => setError(errorOf(failure)))
      .finally(() => setIsRunning(false));
  };
  return { run, isRunning, error };
};
