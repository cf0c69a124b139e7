import type { ComponentType } from 'preact';
import type { PageProps } from './page-props.ts';

export type PageEntry = {
  /** Under /console. */
  readonly path: string;
  readonly title: string;
  /** `g` and this letter go there. */
  readonly letter: string;
  readonly load: () => Promise<{ readonly default: ComponentType<PageProps> }>;
};

/**
 * The pages, in the order of the navigation. A page is a folder whose `page.tsx` exports its component as default: it begins
 * with an `<h1>`, gets its data by `useLoad` and `useLive`, keeps its state in the address by `useQueryState`, and is loaded
 * when it is first shown. To add one: make the folder, and add a row here; the browser tests visit every row.
 */
export const pages: readonly PageEntry[] = [
  { path: '/', title: 'Line', letter: 'l', load: () => import('./line/page.tsx') },
  { path: '/outcomes', title: 'Outcomes', letter: 'o', load: () => import('./outcomes/page.tsx') },
  { path: '/drops', title: 'Drops', letter: 'd', load: () => import('./drops/page.tsx') },
  { path: '/sources', title: 'Sources', letter: 's', load: () => import('./sources/page.tsx') },
  {
    path: '/applications',
    title: 'Applications',
    letter: 'a',
    load: () => import('./applications/page.tsx'),
  },
  {
    path: '/dead-letters',
    title: 'Dead letters',
    letter: 'e',
    load: () => import('./dead-letters/page.tsx'),
  },
  { path: '/points', title: 'Explore points', letter: 'p', load: () => import('./points/page.tsx') },
  { path: '/traces', title: 'Explore traces', letter: 't', load: () => import('./traces/page.tsx') },
  { path: '/system', title: 'System', letter: 'y', load: () => import('./system/page.tsx') },
];

/** The page of a path under /console, and what follows its own path. */
export const pageOf = (path: string): { entry: PageEntry; rest: string[] } | undefined => {
  const entry = pages.find(
    (each) => path === each.path || (each.path !== '/' && path.startsWith(`${each.path}/`)),
  );
  if (entry === undefined) return undefined;
  const rest = path
    .slice(entry.path.length)
    .split('/')
    .filter((part) => part !== '');
  try {
    return { entry, rest: rest.map(decodeURIComponent) };
  } catch {
    return undefined;
  }
};
