import type { ComponentChildren } from 'preact';
import { useEffect, useErrorBoundary, useRef, useState } from 'preact/hooks';
import { ApiError } from '../api/client.ts';
import { type LiveState, useLiveState } from '../api/live.ts';
import { useLoad } from '../api/use.ts';
import { pageOf, pages } from '../pages/pages.ts';
import { Check, Select } from '../parts/filters.tsx';
import { useUtc } from '../parts/format.tsx';
import { Hostile } from '../parts/hostile.tsx';
import { plainText } from '../parts/plain-text.ts';
import { Badge, Failed, Loading, type Tone } from '../parts/states.tsx';
import { announce, LiveRegion } from './announce.tsx';
import { LogIn, StepUp } from './log-in.tsx';
import { LogOut } from './log-out.tsx';
import { href, useAddress } from './router.ts';
import { readSession, type Session, useSession } from './session.ts';
import { Shortcuts } from './shortcuts.tsx';
import { currentTheme, setTheme, type Theme } from './theme.ts';

const liveWords: Readonly<Record<LiveState, readonly [Tone, string]>> = {
  idle: ['neutral', 'Not live'],
  connecting: ['info', 'Connecting …'],
  live: ['good', 'Live'],
  polling: ['warn', 'Every 5 s: the live stream was refused'],
  lost: ['bad', 'No answer; reconnecting …'],
};

const Live = () => {
  const state = useLiveState();
  const [tone, words] = liveWords[state];
  const former = useRef(state);
  useEffect(() => {
    if (state === 'lost' || former.current === 'lost') announce(words);
    former.current = state;
  }, [state, words]);
  return <Badge tone={tone}>{words}</Badge>;
};

const themes = [['auto', 'Auto'] as const, ['light', 'Light'] as const, ['dark', 'Dark'] as const];

const Preferences = () => {
  const [theme, show] = useState(currentTheme());
  const [utc, setUtc] = useUtc();
  const choose = (next: Theme): void => {
    setTheme(next);
    show(next);
  };
  return (
    <>
      <Select label={<span class="unseen">Colours</span>} value={theme} options={themes} onValue={choose} />
      <Check label="UTC" isOn={utc} onTurn={setUtc} />
    </>
  );
};

const Header = ({ session }: { session: Session }) => (
  <header class="top">
    <a class="name" href={href('/')}>
      Tidemark
    </a>
    <Live />
    <div class="row tools">
      <Preferences />
      <Shortcuts />
      <details class="menu">
        <summary>
          <Hostile text={session.name} max={24} /> ({session.role})
        </summary>
        <LogOut />
      </details>
    </div>
  </header>
);

const Navigation = ({ path }: { path: string }) => (
  <nav aria-label="Pages">
    <ul>
      {pages.map((page) => (
        <li key={page.path}>
          <a href={href(page.path)} aria-current={pageOf(path)?.entry === page ? 'page' : undefined}>
            {page.title}
          </a>
        </li>
      ))}
    </ul>
  </nav>
);

const NotFound = () => (
  <>
    <h1>No such page</h1>
    <p>
      <a href={href('/')}>To the line</a>
    </p>
  </>
);

/** A defect of one page leaves the others: it is said in its place, and reported to the browser. */
const Guarded = ({ path, children }: { path: string; children: ComponentChildren }) => {
  const [error, again] = useErrorBoundary((failed) => reportError(failed));
  useEffect(again, [path]);
  if (error === undefined) return <>{children}</>;
  const failure = new ApiError(0, {
    code: 'defect',
    detail: `This page failed: ${error instanceof Error ? error.message : String(error)}`,
    remedy:
      'Load the console again: metadata may have another version now. Report it where that does not help.',
  });
  return (
    <>
      <h1>This page failed</h1>
      <Failed error={failure} onRetry={again} />
    </>
  );
};

const Current = ({ path }: { path: string }) => {
  const found = pageOf(path);
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  useEffect(() => {
    const title = found?.entry.title ?? 'No such page';
    document.title = `${[title, ...(found?.rest ?? []).map((part) => plainText(part))].join(' ')} – Tidemark`;
    if (!isFirst.current) {
      main.current?.focus();
      announce(title);
    }
    isFirst.current = false;
  }, [path]);
  return (
    <main id="main" ref={main} tabIndex={-1}>
      {found === undefined ? (
        <NotFound />
      ) : (
        <Guarded key={found.entry.path} path={path}>
          <found.entry.component rest={found.rest} />
        </Guarded>
      )}
    </main>
  );
};

/** The frame of every page: log-in, navigation, preferences, the live region. */
export const Shell = () => {
  const { path } = useAddress();
  const session = useSession();
  const asked = useLoad('session', readSession);
  if (session === undefined) {
    return (
      <main id="main">
        {asked.error === undefined ? <Loading /> : <Failed error={asked.error} onRetry={asked.reload} />}
      </main>
    );
  }
  if (session === null || path === '/login') return <LogIn />;
  return (
    <>
      <a class="skip" href="#main">
        To the content
      </a>
      <Header session={session} />
      <Navigation path={path} />
      <Current path={path} />
      <StepUp />
      <LiveRegion />
    </>
  );
};
