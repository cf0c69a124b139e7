import { useListener } from './listener.ts';

// Every state of a page is in the address: a path under /console and a query.

const base = '/console';
const listeners = new Set<() => void>();
const tell = (): void => {
  for (const listener of listeners) listener();
};

/** The path under /console: `/` for the first page. */
export const currentPath = (): string => location.pathname.slice(base.length).replace(/\/$/, '') || '/';

/** The address of a page of the console, for an ordinary link. */
export const href = (path: string, query: Readonly<Record<string, string | undefined>> = {}): string => {
  const set = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  return `${base}${path}${set.length === 0 ? '' : `?${new URLSearchParams(set)}`}`;
};

export const navigate = (to: string, { replace = false } = {}): void => {
  if (to === location.pathname + location.search) return;
  history[replace ? 'replaceState' : 'pushState'](null, '', to);
  tell();
};

type Changes = Readonly<Record<string, string | readonly string[] | undefined>>;

const changed = (changes: Changes): string => {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    query.delete(name);
    for (const each of [value ?? []].flat()) query.append(name, each);
  }
  return location.pathname + (query.size === 0 ? '' : `?${query}`);
};

/** Sets parameters of the address; undefined takes one away, a list gives it several times. */
export const setQuery = (changes: Changes, { replace = true } = {}): void =>
  navigate(changed(changes), { replace });

/** Whether the address would be one that a proxy or metadata refuses: most take lines of 8 KiB. */
export const isTooLong = (changes: Changes): boolean => changed(changes).length > 8000;

/** Renders the component again at each change of the address. */
export const useAddress = (): { path: string; query: URLSearchParams } => {
  useListener(listeners);
  return { path: currentPath(), query: new URLSearchParams(location.search) };
};

/** One parameter of the address, and its setter; the fallback is not written there. */
export const useQueryState = (
  name: string,
  fallback = '',
): [value: string, set: (value: string, options?: { replace?: boolean }) => void] => {
  const { query } = useAddress();
  return [
    query.get(name) ?? fallback,
    (value, options) => setQuery({ [name]: value === fallback ? undefined : value }, options),
  ];
};

/** Ordinary links to the console's pages change the page without loading it again. */
export const startRouter = (): void => {
  addEventListener('popstate', tell);
  document.addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    const isPlain =
      event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
    if (link === null || !isPlain || link.target !== '') return;
    if (link.origin !== location.origin || !link.pathname.startsWith(`${base}/`) || link.hash !== '') return;
    event.preventDefault();
    navigate(link.pathname + link.search);
  });
};
