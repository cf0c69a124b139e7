import { readdirSync, readFileSync } from 'node:fs';
import { waitFor } from '../wait.ts';

/** The state of a thread, as the third field of its `stat`: behind the name, which may hold anything. */
const stateOf = (pid: number, thread: string): string => {
  const text = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8');
  return text.slice(text.lastIndexOf(')') + 2, text.lastIndexOf(')') + 3);
};

/** Resolves once every thread of a process that got SIGSTOP has stopped: until then it may still answer. */
export const untilPaused = (pid: number): Promise<unknown> =>
  waitFor('every thread to stop', 10_000, async () =>
    readdirSync(`/proc/${pid}/task`).every((thread) => stateOf(pid, thread) === 'T'),
  );
