import { useAct } from '../api/use.ts';
import { Button } from '../parts/button.tsx';
import { Failed } from '../parts/states.tsx';
import { logOut } from './session.ts';

/** Ends this session, or all sessions of its token; says where that fails. */
export const LogOut = () => {
  const { run, isRunning, error } = useAct(logOut);
  return (
    <>
      {error !== undefined && <Failed error={error} />}
      <p class="row">
        <Button disabled={isRunning} onClick={() => void run(false)}>
          Log out
        </Button>
        <Button class="danger" disabled={isRunning} onClick={() => void run(true)}>
          End all my sessions
        </Button>
      </p>
    </>
  );
};
