import { createServer } from 'node:net';

const host = '127.0.0.1';

/** Below what `freePorts` of the program and Linux itself hand out, above the ports that the program's settings name. */
const range = { first: 11_000, end: 15_000 } as const;
const blockSize = 100;

/** Listens on a port for as long as this process lives; false when another process does. */
const hold = (port: number): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(false);
      else reject(error);
    });
    server.listen({ host, port, exclusive: true }, () => {
      server.unref();
      resolve(true);
    });
  });

/** Whether a port is free: the processes of a killed test may still listen. */
const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(true)));
  });

/** The ports of a block behind its first, which is held: so no two processes hand out the same. */
async function* portsOfBlocks(): AsyncGenerator<number, never> {
  const blocks = (range.end - range.first) / blockSize;
  for (let index = 0; index < blocks; index++) {
    // Processes that start together look for their blocks at different places.
    const block = range.first + ((process.pid + index) % blocks) * blockSize;
    if (!(await hold(block))) continue;
    for (let port = block + 1; port < block + blockSize; port++) if (await isFree(port)) yield port;
  }
  throw new Error(`no block of ports is left between ${range.first} and ${range.end}`);
}

const ports = portsOfBlocks();

/**
 * This many free ports, ascending, that no other test process takes while this one lives, also while their servers are
 * killed and started again.
 */
export const takePorts = async (count: number): Promise<number[]> => {
  const taken: number[] = [];
  while (taken.length < count) taken.push((await ports.next()).value);
  return taken;
};
