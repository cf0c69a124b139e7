import { useEffect, useState } from 'preact/hooks';

/** Renders the component again each time these listeners are called. */
export const useListener = (listeners: Set<() => void>): void => {
  const [, render] = useState(0);
  useEffect(() => {
    const listener = (): void => render((count) => count + 1);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
};
