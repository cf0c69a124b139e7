import { createServer } from 'node:http';
import { onTestFinished } from 'vitest';

/** Another server on a port we are about to use: it answers 200 to everything. Returns when it listens. */
export const startImpostor = async (port: number): Promise<void> => {
  const server = createServer((_request, response) => response.end('1'));
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  );
};
