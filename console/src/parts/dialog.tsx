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

type ConfirmProps = {
  readonly title: string;
  /** What the act does, and what it cannot undo. */
  readonly children: ComponentChildren;
  readonly verb: string;
  /** The name that has to be typed first. */
  readonly typed?: string | undefined;
  readonly act: () => Promise<void>;
  readonly onClose: () => void;
};

/** Asks before an act; it closes when the act is done, and shows why it failed. */
export const Confirm = ({ title, children, verb, typed, act, onClose }: ConfirmProps) => {
  const [name, setName] = useState('');
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
        {children}
        {typed !== undefined && (
          <label>
            Type <code>{typed}</code> to confirm
            <input value={name} autocomplete="off" onInput={(event) => setName(event.currentTarget.value)} />
          </label>
        )}
        <Refusal error={error} />
        <p class="row">
          <button
            type="submit"
            class="danger"
            disabled={isRunning || (typed !== undefined && name !== typed)}
          >
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

const Refusal = ({ error }: { error: ApiError | undefined }) =>
  error === undefined ? null : <Failed error={error} />;
