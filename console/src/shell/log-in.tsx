import { useEffect, useRef, useState } from 'preact/hooks';
import { hooks } from '../api/client.ts';
import { useAct } from '../api/use.ts';
import { ActDialog } from '../parts/dialog.tsx';
import { Input } from '../parts/filters.tsx';
import { Failed } from '../parts/states.tsx';
import { currentPath, href, navigate } from './router.ts';
import { logIn, stepUp, whyEnded } from './session.ts';

const TokenField = (props: { value: string; onValue: (value: string) => void }) => (
  <Input label="Admin token" type="password" autocomplete="off" spellcheck={false} required {...props} />
);

/** The page that was there, or asked for, without a session, in this tab. */
const backKey = 'tidemark.back';

/** The code of a link stays out of the address and of the history as soon as it is read. */
const takeCode = (): string => {
  const code = currentPath() === '/login' ? location.hash.slice(1) : '';
  if (code !== '') history.replaceState(null, '', location.pathname + location.search);
  return code;
};

/** Asks for an admin token, and logs in by the code of a link. Afterwards the page of the address is shown. */
export const LogIn = () => {
  const [token, setToken] = useState('');
  const { run, isRunning, error } = useAct(async (proof: { token: string } | { code: string }) => {
    await logIn(proof);
    setToken('');
    if (currentPath() === '/login') navigate(sessionStorage.getItem(backKey) ?? href('/'), { replace: true });
    sessionStorage.removeItem(backKey);
  });
  const why = whyEnded();
  useEffect(() => {
    document.title = 'Log in – Tidemark';
    // A link that is opened in this tab has another address.
    if (currentPath() !== '/login') sessionStorage.setItem(backKey, location.pathname + location.search);
    const tryLink = (): void => {
      const code = takeCode();
      if (code !== '') void run({ code });
    };
    tryLink();
    addEventListener('hashchange', tryLink);
    return () => removeEventListener('hashchange', tryLink);
  }, []);
  return (
    <main class="log-in" id="main">
      <h1>Log in to Tidemark</h1>
      {why !== '' && (
        <p class="state failed" role="status">
          {why} After the log-in you are on the same page again.
        </p>
      )}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void run({ token: token.trim() });
        }}
      >
        <TokenField value={token} onValue={setToken} />
        <button type="submit" disabled={isRunning}>
          {isRunning ? 'Logging in …' : 'Log in'}
        </button>
      </form>
      {error !== undefined && <Failed error={error} />}
      <p>
        On the machine that runs Tidemark, <code>tidemark console</code> prints a link that logs in without a
        token. It works once, within a minute.
      </p>
    </main>
  );
};

/** Asks for the token again, once for all acts that wait for it. */
export const StepUp = () => {
  const [isAsked, setIsAsked] = useState(false);
  const [token, setToken] = useState('');
  const waiting = useRef<PromiseWithResolvers<boolean>>(undefined);
  const close = (given: boolean): void => {
    waiting.current?.resolve(given);
    waiting.current = undefined;
    setToken('');
    setIsAsked(false);
  };
  const act = async (): Promise<void> => {
    await stepUp(token.trim());
    close(true);
  };
  useEffect(() => {
    hooks.stepUp = () => {
      waiting.current ??= Promise.withResolvers();
      setIsAsked(true);
      return waiting.current.promise;
    };
    // No dialog gives an answer any more, as when the session has ended.
    return () => {
      hooks.stepUp = async () => false;
      waiting.current?.resolve(false);
    };
  }, []);
  if (!isAsked) return null;
  return (
    <ActDialog title="The token again" verb="Continue" act={act} onClose={() => close(false)}>
      {(error) => (
        <>
          <p>This act needs the admin token again. It counts for five minutes.</p>
          <TokenField value={token} onValue={setToken} />
          {error !== undefined && <Failed error={error} />}
        </>
      )}
    </ActDialog>
  );
};
