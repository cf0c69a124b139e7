import { useAct } from '../api/use.ts';
import { Failed } from '../parts/states.tsx';
import { logOut } from './session.ts';

/** Ends this session, or all sessions of its token; says where that fails. */
export const LogOut = () => {
  const { run, isRunning, error } = useAct(logOut);
  return (
    <>
      {error !== undefined && <Failed error={error} />}
      <p class="row">
        <button type="button" disabled={isRunning} onClick={() => void run(false)}>
          Log out
        </button>
        <button type="button" class="danger" disabled={isRunning} onClick={() => void run(true)}>
          End all my sessions
        </button>
      </p>
    </>
  );
};
