import { totalmem } from 'node:os';

/** In the environment of each of several processes of one ingress: how many they are. No setting. */
export const memorySharersName = 'INGRESS_MEMORY_SHARERS';

/** What a process finds, bytes; a container without a limit has 0, or more than the machine. */
type Found = { readonly machine: number; readonly container: number; readonly env: NodeJS.ProcessEnv };

/** What this process finds; `sharers` in place of the number in its environment. */
export const foundHere = (sharers?: number): Found => ({
  machine: totalmem(),
  container: process.constrainedMemory(),
  env: sharers === undefined ? process.env : { [memorySharersName]: String(sharers) },
});

/**
 * Bytes of memory that this process may use: the limit of its container, where there is none the machine's memory. Of several processes
 * of one ingress each has its share: the container is killed for all of them together.
 */
export const memoryLimitBytes = ({ machine, container, env } = foundHere()): number => {
  const limit = container > 0 && container < machine ? container : machine;
  return Math.floor(limit / Math.max(1, Number(env[memorySharersName] ?? 1)));
};
