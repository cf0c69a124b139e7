import { createServer, type Socket } from 'node:net';

/** What a client published: the header fields' bytes and the payload. */
export type HeldMessage = { reply: string; line: string; fields: string; payload: Buffer };

/** A pull of a consumer, and the subscription that waits for its messages. */
export type HeldPull = { readonly inbox: string; readonly sid: string };

/** A NATS server of a few lines that stores nothing: it reads on request, and sends the given answers. */
export type HeldNats = {
  readonly url: string;
  readonly messages: readonly HeldMessage[];
  readonly pulls: readonly HeldPull[];
  /** From now on what comes stays in the client and in the system's buffers. */
  hold(): void;
  release(): void;
  /** The next connection is held as soon as it opens. */
  holdNext(): void;
  readonly isHeld: boolean;
  /** Answers as JetStream does for a message that was stored, now or before. */
  confirm(message: HeldMessage, answer?: { readonly seq: number; readonly duplicate?: boolean }): void;
  /** Answers as a server does for a subject without a subscriber. */
  denyResponders(message: HeldMessage): void;
  /** Sends an empty message to a pull, with its sequence in the stream and the number of its deliveries so far. */
  deliver(pull: HeldPull, sequence: number, deliveries: number): void;
  /** Ends every connection; clients come back. */
  disconnect(): void;
  stop(): Promise<void>;
};

const info = `INFO ${JSON.stringify({ server_id: 'held', version: '2.12.0', headers: true, max_payload: 8 * 2 ** 20, proto: 1 })}\r\n`;

export const startHeldNats = async (): Promise<HeldNats> => {
  const messages: HeldMessage[] = [];
  const pulls: HeldPull[] = [];
  const sockets = new Set<Socket>();
  let socketInUse: Socket | undefined;
  let inboxSid = '';
  let holdsNext = false;

  /** Takes the first command off `bytes`; undefined while it is not whole. */
  const takeCommand = (bytes: Buffer, socket: Socket): Buffer | undefined => {
    const lineEnd = bytes.indexOf('\r\n');
    if (lineEnd === -1) return undefined;
    const line = bytes.toString('latin1', 0, lineEnd);
    const [verb, , second = '', fieldsBytes = '0', size = '0'] = line.split(' ');
    const start = lineEnd + 2;
    if (verb === 'PING') {
      socket.write('PONG\r\n');
      if (holdsNext) socket.pause();
      holdsNext = false;
    }
    if (verb === 'SUB') inboxSid = second;
    if (verb === 'PUB' && line.includes('.MSG.NEXT.')) pulls.push({ inbox: second, sid: inboxSid });
    if (verb !== 'HPUB') return bytes.subarray(start);
    const end = start + Number(size);
    if (bytes.length < end + 2) return undefined;
    const fields = bytes.toString('latin1', start, start + Number(fieldsBytes));
    const payload = Buffer.from(bytes.subarray(start + Number(fieldsBytes), end));
    messages.push({ reply: second, line, fields, payload });
    return bytes.subarray(end + 2);
  };

  const server = createServer((socket) => {
    sockets.add(socket);
    socketInUse = socket;
    let rest: Buffer = Buffer.alloc(0);
    socket.write(info);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (chunk: Buffer) => {
      rest = Buffer.concat([rest, chunk]);
      for (let next = takeCommand(rest, socket); next !== undefined; next = takeCommand(rest, socket))
        rest = Buffer.from(next);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `nats://127.0.0.1:${port}`,
    messages,
    pulls,
    hold: () => socketInUse?.pause(),
    release: () => socketInUse?.resume(),
    holdNext: () => {
      holdsNext = true;
    },
    get isHeld() {
      return socketInUse?.isPaused() === true;
    },
    confirm: ({ reply }, answer = { seq: 1 }) => {
      const ack = JSON.stringify({ stream: 'S', ...answer });
      socketInUse?.write(`MSG ${reply} ${inboxSid} ${ack.length}\r\n${ack}\r\n`);
    },
    denyResponders: ({ reply }) => {
      const head = 'NATS/1.0 503\r\n\r\n';
      socketInUse?.write(`HMSG ${reply} ${inboxSid} ${head.length} ${head.length}\r\n${head}\r\n`);
    },
    deliver: ({ sid }, sequence, deliveries) => {
      const reply = `$JS.ACK.S.c.${deliveries}.${sequence}.${sequence}.0.0`;
      socketInUse?.write(`MSG s ${sid} ${reply} 0\r\n\r\n`);
    },
    disconnect: () => {
      for (const socket of sockets) socket.destroy();
    },
    stop: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
};
