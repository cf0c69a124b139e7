import { useEffect, useRef, useState } from 'preact/hooks';
import { pages } from '../pages/pages.ts';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Check } from '../parts/filters.tsx';
import { href, navigate } from './router.ts';

const key = 'tidemark.shortcuts';
const secondKeyMs = 5_000;

const isTyping = ({ target }: KeyboardEvent): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || target.matches('textarea, select, input:not([type=checkbox])'));

/** `g` and the letter of a page go there, `/` goes to the page's search field, `?` lists them. They can be switched off. */
export const Shortcuts = () => {
  const [isShown, setIsShown] = useState(false);
  const [isOn, setIsOn] = useState(localStorage.getItem(key) !== 'off');
  const goAt = useRef(0);
  useEffect(() => {
    const listener = (event: KeyboardEvent): void => {
      if (!isOn || isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) return;
      if (document.querySelector('dialog[open]') !== null) return;
      const isSecond = Date.now() - goAt.current < secondKeyMs;
      goAt.current = event.key === 'g' ? Date.now() : 0;
      const page = isSecond ? pages.find(({ letter }) => letter === event.key) : undefined;
      const search = document.querySelector<HTMLElement>('[data-search]');
      if (page !== undefined) navigate(href(page.path));
      else if (event.key === '?') setIsShown(true);
      else if (event.key === '/' && search !== null) search.focus();
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', listener);
    return () => removeEventListener('keydown', listener);
  }, [isOn]);
  const turn = (on: boolean): void => {
    localStorage.setItem(key, on ? 'on' : 'off');
    setIsOn(on);
  };
  return (
    <>
      <Button aria-keyshortcuts="?" onClick={() => setIsShown(true)}>
        Keys
      </Button>
      {isShown && (
        <Dialog title="Keys" onClose={() => setIsShown(false)}>
          <dl class="keys">
            <dt>?</dt>
            <dd>this list</dd>
            <dt>/</dt>
            <dd>search of the page</dd>
            {pages.map(({ letter, title }) => (
              <>
                <dt>g {letter}</dt>
                <dd>{title}</dd>
              </>
            ))}
          </dl>
          <Check label="Keys are on" isOn={isOn} onTurn={turn} />
          <Button onClick={() => setIsShown(false)}>Close</Button>
        </Dialog>
      )}
    </>
  );
};
