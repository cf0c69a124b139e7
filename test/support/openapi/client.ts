import { Agent, request as httpRequest } from 'node:http';

/** A request as it goes out, byte by byte; nothing is normalised. */
export type RawRequest = {
  readonly method: string;
  /** With its query, percent-encoded as it is to be sent. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | undefined;
};

/** An answer before anything has read it. */
export type RawAnswer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
};

/** A client that keeps its connection and sends anything that HTTP can carry. */
export const createRawClient = (url: string) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const { hostname, port } = new URL(url);
  return {
    send: ({ method, target, headers, body }: RawRequest): Promise<RawAnswer> =>
      new Promise((resolve, reject) => {
        const length = body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) };
        const outgoing = httpRequest(
          { agent, hostname, port, method, path: target, headers: { ...headers, ...length } },
          (incoming) => {
            const chunks: Buffer[] = [];
            incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
            incoming.once('error', reject);
            incoming.once('end', () => {
              const text = Buffer.concat(chunks).toString('utf8');
              resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text });
            });
          },
        );
        outgoing.once('error', reject);
        outgoing.end(body);
      }),
    close: (): void => agent.destroy(),
  };
};

export type RawClient = ReturnType<typeof createRawClient>;
