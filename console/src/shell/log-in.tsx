import { useEffect, useState } from 'preact/hooks';
import { hooks } from '../api/client.ts';
import { useAct } from '../api/use.ts';
import { Dialog } from '../parts/dialog.tsx';
import { Failed } from '../parts/states.tsx';
import { currentPath, href, navigate } from './router.ts';
import { logIn, stepUp } from './session.ts';

const TokenField = ({ value, onValue }: { value: string; onValue: (value: string) => void }) => (
  <label>
    Admin token
    <input
      type="password"
      autocomplete="off"
      spellcheck={false}
      required
      value={value}
      onInput={({ currentTarget }) => onValue(currentTarget.value)}
    />
  </label>
);

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
    if (currentPath() === '/login') navigate(href('/'), { replace: true });
  });
  useEffect(() => {
    document.title = 'Log in – Tidemark';
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

export const StepUp = () => {
  const [answer, setAnswer] = useState<(given: boolean) => void>();
  const [token, setToken] = useState('');
  const close = (given: boolean): void => {
    answer?.(given);
    setToken('');
    setAnswer(undefined);
  };
  const { run, isRunning, error } = useAct(async () => {
    await stepUp(token.trim());
    close(true);
  });
  useEffect(() => {
    hooks.stepUp = () => new Promise((resolve) => setAnswer(() => resolve));
  }, []);
  if (answer === undefined) return null;
  return (
    <Dialog title="The token again" onClose={() => close(false)}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void run();
        }}
      >
        <p>This act needs the admin token again. It counts for five minutes.</p>
        <TokenField value={token} onValue={setToken} />
        {error !== undefined && <Failed error={error} />}
        <p class="row">
          <button type="submit" disabled={isRunning}>
            Continue
          </button>
          <button type="button" onClick={() => close(false)}>
            Cancel
          </button>
        </p>
      </form>
    </Dialog>
  );
};
