import type { ComponentType } from 'preact';
import DeadLetters from './dead-letters/page.tsx';
import Drops from './drops/page.tsx';
import Line from './line/page.tsx';
import Outcomes from './outcomes/page.tsx';
import { Applications, Sources } from './owners/pages.tsx';
import type { PageProps } from './page-props.ts';
import Points from './points/page.tsx';
import Services from './services/page.tsx';
import System from './system/page.tsx';
import Traces from './traces/page.tsx';

export type PageEntry = {
  readonly path: string;
  readonly title: string;
  /** `g` and this letter go there. */
  readonly letter: string;
  readonly component: ComponentType<PageProps>;
};

/**
 * The pages, in the order of the navigation. A page is a folder whose `page.tsx` exports its component as default: it begins
 * with an `<h1>`, gets its data by `useLoad` and `useLive`, and keeps its state in the address by `useQueryState`. To add one: make the folder, and add a row here; the browser tests visit every row.
 */
export const pages: readonly PageEntry[] = [
  { path: '/', title: 'Line', letter: 'l', component: Line },
  { path: '/outcomes', title: 'Outcomes', letter: 'o', component: Outcomes },
  { path: '/drops', title: 'Drops', letter: 'd', component: Drops },
  { path: '/sources', title: 'Sources', letter: 's', component: Sources },
  { path: '/applications', title: 'Applications', letter: 'a', component: Applications },
  { path: '/dead-letters', title: 'Dead letters', letter: 'e', component: DeadLetters },
  { path: '/services', title: 'Services', letter: 'v', component: Services },
  { path: '/points', title: 'Explore points', letter: 'p', component: Points },
  { path: '/traces', title: 'Explore traces', letter: 't', component: Traces },
  { path: '/system', title: 'System', letter: 'y', component: System },
];

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
