import { useEffect, useRef, useState } from 'preact/hooks';
import { announce } from '../shell/announce.tsx';
import { Button } from './button.tsx';
import { MarkedCode } from './hostile.tsx';

/** Copies a text. Without a clipboard (plain HTTP elsewhere than on this machine) it says so. */
export const Copy = ({ text, what }: { text: string; what: string }) => {
  const [done, setDone] = useState<string>();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = async (): Promise<void> => {
    const said = await Promise.resolve(navigator.clipboard?.writeText(text) ?? Promise.reject())
      .then(() => 'Copied')
      .catch(() => 'Not copied: select the text');
    setDone(said);
    announce(said);
    timer.current = setTimeout(() => setDone(undefined), 2000);
  };
  return (
    <Button class="copy" aria-label={`Copy ${what}`} onClick={copy}>
      {done ?? 'Copy'}
    </Button>
  );
};

/** A text to be pasted, with its button, which copies it as it is; on the page its invisible characters are marks. */
export const Code = ({ text, what }: { text: string; what: string }) => (
  <div class="code">
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a frame that scrolls has to be reached by keys. */}
    <section class="frame" tabIndex={0} aria-label={what}>
      <pre>
        <MarkedCode text={text} />
      </pre>
    </section>
    <Copy text={text} what={what} />
  </div>
);
