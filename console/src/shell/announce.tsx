import { useEffect, useState } from 'preact/hooks';

let say: (text: string) => void = () => undefined;

/** Says a sentence in the live region of the page, for those who do not see it. */
export const announce = (text: string): void => say(text);

export const LiveRegion = () => {
  const [text, setText] = useState('');
  useEffect(() => {
    say = setText;
  }, []);
  return (
    <p class="unseen" role="status" aria-live="polite">
      {text}
    </p>
  );
};
