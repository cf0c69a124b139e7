import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { type Answer, ApiError, ask, type BodyOf, type PathOf } from '../api/client.ts';
import { type Resource, useLoad } from '../api/use.ts';
import { useQueryState } from '../shell/router.ts';
import { useSession } from '../shell/session.ts';
import { Button } from './button.tsx';
import { Code } from './copy.tsx';
import { numberText } from './format.tsx';
import { Failed } from './states.tsx';

// Queries of stored data: they take time, can be cancelled, and show the SQL that ran.

export type Query<T> = Resource<T> & { readonly cancel: () => void };

const againMs = 700;

export const useQuery = <T,>(key: string, load: (signal: AbortSignal) => Promise<T>): Query<T> => {
  const cancelling = useRef<AbortController>(undefined);
  const loaded = useLoad(key, async (signal) => {
    const own = new AbortController();
    cancelling.current = own;
    const either = AbortSignal.any([signal, own.signal]);
    try {
      return await load(either).catch(async (error: unknown) => {
        // The query that this one replaces may still be ending.
        if (!(error instanceof ApiError) || error.code !== 'too_many_queries') throw error;
        await new Promise((resolve) => setTimeout(resolve, againMs));
        either.throwIfAborted();
        return load(either);
      });
    } catch (error) {
      if (!own.signal.aborted || signal.aborted) throw error;
      throw new ApiError(0, { code: 'cancelled', detail: 'The query was cancelled.' });
    }
  });
  return { ...loaded, cancel: () => cancelling.current?.abort() };
};

/** The query of a body, a new one when the body or the range is another; undefined asks nothing. */
export const useAsked = <P extends PathOf<'post'>>(
  path: P,
  body: BodyOf<P> | undefined,
  range: string,
): Query<Answer<P, 'post'> | undefined> => {
  // A range that ends now moves with each drawing of the page.
  const fixed = JSON.stringify(body, (name, value) => (name === 'since' || name === 'until' ? 0 : value));
  return useQuery(`${fixed} ${range}`, async (signal) =>
    body === undefined ? undefined : ask(path, body, signal),
  );
};

type QueriedProps<T> = { of: Query<T | undefined>; children: (data: T) => ComponentChildren };

export const Queried = <T,>({ of, children }: QueriedProps<T>) => {
  if (of.isLoading)
    return (
      <p class="state row" role="status">
        The query runs …<Button onClick={of.cancel}>Cancel</Button>
      </p>
    );
  if (of.error !== undefined) return <Failed error={of.error} onRetry={of.reload} />;
  return of.data === undefined ? null : children(of.data);
};

type RanProps = {
  readonly of: {
    readonly sql: readonly string[];
    readonly elapsed_ms: number;
    readonly rows_read: number | null;
  };
  readonly onAgain: () => void;
  readonly store: 'questdb' | 'clickhouse';
  /** Tells apart the queries of a page. */
  readonly label?: string;
};

const links = [
  ['grafana', 'Grafana'],
  ['questdb', 'QuestDB'],
  ['clickhouse', 'ClickHouse'],
] as const;

export const Ran = ({ of, onAgain, store, label = 'Query' }: RanProps) => {
  const [open, setOpen] = useQueryState('sql');
  const session = useSession();
  return (
    <section class="ran" aria-label={label}>
      <p class="row quiet">
        {numberText(of.elapsed_ms)} ms{of.rows_read !== null && `, ${numberText(of.rows_read)} rows read`}
        <Button onClick={onAgain}>Run again</Button>
        <Button aria-expanded={open === '1'} onClick={() => setOpen(open === '1' ? '' : '1')}>
          SQL
        </Button>
        {links.map(([name, title]) => {
          const url = session?.links[name];
          return url == null || (name !== 'grafana' && name !== store) ? null : (
            <a key={name} href={url} target="_blank" rel="noopener noreferrer">
              {title}
            </a>
          );
        })}
      </p>
      {open === '1' && <Code text={of.sql.map((each) => `${each};`).join('\n\n')} what="SQL that ran" />}
    </section>
  );
};
