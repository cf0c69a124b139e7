import { createServer } from 'node:http';
import { request } from 'undici';

/** A way to QuestDB on which rows that are written can be changed. */
export type QuestdbProxy = {
  /** The address with the account of the engine's own. */
  readonly url: string;
  /** From now on lines of each write pass through this; each ends without its line end. */
  change(edit: (lines: readonly string[]) => readonly string[]): void;
  close(): Promise<void>;
};

/** Opens a way to the QuestDB at this address. */
export const openQuestdbProxy = async (engineUrl: string): Promise<QuestdbProxy> => {
  let edit = (lines: readonly string[]): readonly string[] => lines;
  const engine = new URL(engineUrl);
  const server = createServer((incoming, answer) => {
    const pass = async (): Promise<void> => {
      const chunks: Buffer[] = [];
      for await (const chunk of incoming) chunks.push(chunk);
      let body = Buffer.concat(chunks);
      if (incoming.url?.startsWith('/write') === true) {
        const lines = body.toString('latin1').split('\n');
        const last = lines.pop() ?? '';
        body = Buffer.from([...edit(lines), last].join('\n'), 'latin1');
      }
      const { authorization } = incoming.headers;
      const { statusCode, body: answered } = await request(new URL(incoming.url ?? '/', engine.origin), {
        method: incoming.method === 'POST' ? 'POST' : 'GET',
        headers: authorization === undefined ? {} : { authorization },
        ...(incoming.method === 'POST' ? { body } : {}),
      });
      answer.writeHead(statusCode);
      answer.end(Buffer.from(await answered.arrayBuffer()));
    };
    pass().catch(() => answer.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const url = new URL(engineUrl);
  url.port = String(typeof address === 'object' ? address?.port : 0);
  return {
    url: url.href,
    change: (next) => {
      edit = next;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};
