import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { ApiError } from '../api/client.ts';
import { useAct } from '../api/use.ts';
import { Button } from './button.tsx';
import { Input } from './filters.tsx';
import { Failed } from './states.tsx';

type DialogProps = { title: string; onClose: () => void; isHeld?: boolean; children: ComponentChildren };

/** A modal dialog; the browser keeps the focus in it, closes it by Escape unless it is held, and gives the focus back. */
export const Dialog = ({ title, onClose, isHeld = false, children }: DialogProps) => {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={element}
      aria-labelledby={id}
      closedby={isHeld ? 'none' : 'closerequest'}
      // Where a browser does not know `closedby`, Escape has closed it all the same. One that the page has removed tells it later.
      onClose={() => element.current !== null && (isHeld ? element.current.showModal() : onClose())}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
};

type ActDialogProps = {
  readonly title: string;
  readonly verb: string;
  readonly act: () => Promise<unknown>;
  readonly onClose: () => void;
  readonly isDanger?: boolean;
  /** The act has to wait for what the reader fills in. */
  readonly isBlocked?: boolean;
  /** What stands above the buttons, given why the last attempt failed. */
  readonly children: (error: ApiError | undefined) => ComponentChildren;
};

/** A dialog whose button acts; it closes when the act is done, and not before: an act under way cannot be taken back. */
export const ActDialog = ({ title, verb, act, onClose, isDanger, isBlocked, children }: ActDialogProps) => {
  const form = useRef<HTMLFormElement>(null);
  const { run, isRunning, error } = useAct(async () => {
    await act();
    // The page may have gone meanwhile.
    if (form.current === null) return;
    onClose();
    // What was removed takes its button along, so the focus cannot go back there.
    if (isDanger) setTimeout(() => document.getElementById('main')?.focus());
  });
  // What another call has changed is looked at first.
  const isStale = error?.status === 412;
  return (
    <Dialog title={title} onClose={onClose} isHeld={isRunning}>
      <form
        ref={form}
        onSubmit={(event) => {
          event.preventDefault();
          void run();
        }}
      >
        {children(error)}
        <p class="row">
          <button
            type="submit"
            class={isDanger ? 'danger' : undefined}
            disabled={isRunning || isBlocked || isStale}
          >
            {isRunning ? `${verb} …` : verb}
          </button>
          <Button disabled={isRunning} onClick={onClose}>
            Cancel
          </Button>
        </p>
      </form>
    </Dialog>
  );
};

type ConfirmProps = Pick<ActDialogProps, 'title' | 'verb' | 'act' | 'onClose'> & {
  /** What the act does, and what it cannot undo. */
  readonly children: ComponentChildren;
  /** The name that has to be typed first. */
  readonly typed?: string | undefined;
};

export const Confirm = ({ children, typed, ...dialog }: ConfirmProps) => {
  const [name, setName] = useState('');
  const asked = (
    <>
      Type <code class="hostile">{typed}</code> to confirm
    </>
  );
  return (
    <ActDialog {...dialog} isDanger isBlocked={typed !== undefined && name !== typed}>
      {(error) => (
        <>
          {children}
          {typed !== undefined && <Input label={asked} value={name} autocomplete="off" onValue={setName} />}
          {error !== undefined && <Failed error={error} />}
        </>
      )}
    </ActDialog>
  );
};
