import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { ApiError } from '../api/client.ts';
import { useAct } from '../api/use.ts';
import { Failed } from './states.tsx';

type DialogProps = { title: string; onClose: () => void; children: ComponentChildren };

/** A modal dialog; the browser keeps the focus in it, closes it by Escape, and gives the focus back. */
export const Dialog = ({ title, onClose, children }: DialogProps) => {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog ref={element} aria-labelledby={id} onClose={onClose}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
};

type ActDialogProps = {
  readonly title: string;
  /** The word of its button. */
  readonly verb: string;
  readonly act: () => Promise<void>;
  readonly onClose: () => void;
  readonly isDanger?: boolean;
  /** The act has to wait for what the reader fills in. */
  readonly isBlocked?: boolean;
  /** What stands above the buttons, given why the last attempt failed. */
  readonly children: (error: ApiError | undefined) => ComponentChildren;
};

/** A dialog whose button acts; it closes when the act is done. */
export const ActDialog = ({
  title,
  verb,
  act,
  onClose,
  isDanger = false,
  isBlocked = false,
  children,
}: ActDialogProps) => {
  const { run, isRunning, error } = useAct(async () => {
    await act();
    onClose();
  });
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void run();
        }}
      >
        {children(error)}
        <p class="row">
          <button type="submit" class={isDanger ? 'danger' : undefined} disabled={isRunning || isBlocked}>
            {isRunning ? `${verb} …` : verb}
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
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

/** Asks before an act; it shows why it failed. */
export const Confirm = ({ children, typed, ...dialog }: ConfirmProps) => {
  const [name, setName] = useState('');
  return (
    <ActDialog {...dialog} isDanger isBlocked={typed !== undefined && name !== typed}>
      {(error) => (
        <>
          {children}
          {typed !== undefined && (
            <label>
              Type <code>{typed}</code> to confirm
              <input
                value={name}
                autocomplete="off"
                onInput={(event) => setName(event.currentTarget.value)}
              />
            </label>
          )}
          {error !== undefined && <Failed error={error} />}
        </>
      )}
    </ActDialog>
  );
};
