import type { ComponentChildren } from 'preact';
import type { ApiError } from '../api/client.ts';
import type { Resource } from '../api/use.ts';
import { href } from '../shell/router.ts';
import { Button } from './button.tsx';
import { wholeText } from './figures.ts';
import { Time } from './format.tsx';
import { Hostile } from './hostile.tsx';

/** Words for a list without items: what would be here, and how it gets there. */
export const Empty = ({ children }: { children: ComponentChildren }) => <p class="state">{children}</p>;

export const Loading = ({ what = 'Loading' }: { what?: string }) => (
  <p class="state" role="status">
    {what} …
  </p>
);

export const Failed = ({ error, onRetry }: { error: ApiError; onRetry?: (() => void) | undefined }) => (
  <div class="state failed" role="alert">
    <p>
      <strong>
        <Hostile text={error.message} max={600} />
      </strong>{' '}
      <code>{error.code}</code>
    </p>
    {error.remedy !== undefined && <p>{error.remedy}</p>}
    {onRetry !== undefined && <Button onClick={onRetry}>Try again</Button>}
  </div>
);

/** Since when accounts are not known (Unix seconds); nothing where they are. */
export const NotKnown = ({ since }: { since: number | null | undefined }) =>
  typeof since === 'number' && (
    <p class="state failed">
      Not known since <Time at={since} seconds />: the books cannot be compared, or LEDGER is behind or cannot
      be read. Newer items are not counted yet; <a href={href('/')}>Line</a> names the trouble.
    </p>
  );

/** Why nothing is asked: a filter that cannot be read is not taken for none. */
export const Unreadable = ({ children }: { children: ComponentChildren }) => (
  <div class="state failed" role="alert">
    <p>{children}</p>
  </div>
);

export const unreadableOwner =
  'The filter cannot be read: an owner is a data id such as 1500001, or app: and an application, such as app:7.';

export const TooLarge = ({ shown, total, how }: { shown: number; total?: number; how: string }) => (
  <p class="state">
    The first {wholeText(shown)}
    {total === undefined ? '' : ` of ${wholeText(total)}`} are shown. {how}
  </p>
);

type AwaitProps<T> = {
  readonly of: Resource<T>;
  /** What is done while it loads, for instance `Counting distinct values`. */
  readonly what?: string;
  readonly children: (data: T) => ComponentChildren;
};

/** A loaded resource, or the words for its state; data that a reload failed to renew stays, with the failure above it. */
export const Await = <T,>({ of, what, children }: AwaitProps<T>) => (
  <>
    {of.error !== undefined && <Failed error={of.error} onRetry={of.reload} />}
    {of.data === undefined
      ? of.error === undefined && <Loading {...(what && { what })} />
      : children(of.data)}
  </>
);

export type Tone = 'good' | 'warn' | 'bad' | 'info' | 'neutral';

/** A state in a word. The tone is also a sign, so that colour alone never says it. */
export const Badge = ({ tone = 'neutral', children }: { tone?: Tone; children: ComponentChildren }) => (
  <span class={`badge ${tone}`}>{children}</span>
);
