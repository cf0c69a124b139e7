import { href } from '../shell/router.ts';

type TabsProps = {
  readonly label: string;
  /** The path of the page; that of a tab follows it. */
  readonly base: string;
  readonly tabs: readonly { readonly path: string; readonly title: string }[];
  readonly current: string | undefined;
};

/** The parts of a page, each at an address of its own. */
export const Tabs = ({ label, base, tabs, current }: TabsProps) => (
  <nav class="tabs" aria-label={label}>
    {tabs.map(({ path, title }) => (
      <a
        key={path}
        href={href(path === '' ? base : `${base}/${path}`)}
        aria-current={path === current ? 'page' : undefined}
      >
        {title}
      </a>
    ))}
  </nav>
);
