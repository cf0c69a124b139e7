import { createConnection } from 'node:net';

/** What a query answered over the Postgres wire, as text. */
export type WireAnswer = { readonly columns: readonly string[]; readonly rows: readonly (string | null)[][] };

const protocolVersion = 196_608;

const message = (kind: string, body: Buffer): Buffer => {
  const head = Buffer.alloc(kind.length + 4);
  head.write(kind);
  head.writeUInt32BE(body.length + 4, kind.length);
  return Buffer.concat([head, body]);
};

const startup = (user: string, database: string): Buffer => {
  const version = Buffer.alloc(4);
  version.writeUInt32BE(protocolVersion);
  return message('', Buffer.concat([version, Buffer.from(`user\0${user}\0database\0${database}\0\0`)]));
};

const cString = (bytes: Buffer, from: number): { text: string; next: number } => {
  const end = bytes.indexOf(0, from);
  return { text: bytes.toString('utf8', from, end), next: end + 1 };
};

const columnsOf = (body: Buffer): string[] => {
  const columns: string[] = [];
  for (let at = 2, left = body.readUInt16BE(0); left > 0; left--) {
    const { text, next } = cString(body, at);
    columns.push(text);
    at = next + 18;
  }
  return columns;
};

const rowOf = (body: Buffer): (string | null)[] => {
  const row: (string | null)[] = [];
  for (let at = 2, left = body.readUInt16BE(0); left > 0; left--) {
    const length = body.readInt32BE(at);
    at += 4;
    row.push(length < 0 ? null : body.toString('utf8', at, at + length));
    at += Math.max(0, length);
  }
  return row;
};

const errorOf = (body: Buffer): string =>
  body
    .toString('utf8')
    .split('\0')
    .filter((part) => part.startsWith('M'))
    .map((part) => part.slice(1))
    .join('; ');

export type WireAddress = {
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
};

/**
 * One query over a connection of its own, in the simple protocol: the one Grafana's Postgres source uses for a query without
 * parameters. Rejects with the server's words.
 */
export const wireQuery = (
  { port, user, password, database }: WireAddress,
  sql: string,
): Promise<WireAnswer> =>
  new Promise((resolve, reject) => {
    const socket = createConnection(port, '127.0.0.1');
    let pending = Buffer.alloc(0);
    let columns: string[] = [];
    let failure: string | undefined;
    let isAsked = false;
    const rows: (string | null)[][] = [];
    const finish = (): void => {
      socket.end(message('X', Buffer.alloc(0)));
      if (failure === undefined) resolve({ columns, rows });
      else reject(new Error(failure));
    };
    const take = (kind: string, body: Buffer): void => {
      if (kind === 'R' && body.readUInt32BE(0) === 3)
        socket.write(message('p', Buffer.from(`${password}\0`)));
      if (kind === 'T') columns = columnsOf(body);
      if (kind === 'D') rows.push(rowOf(body));
      if (kind === 'E') failure = errorOf(body);
      if (kind !== 'Z') return;
      if (isAsked || failure !== undefined) return finish();
      isAsked = true;
      socket.write(message('Q', Buffer.from(`${sql}\0`)));
    };
    socket.on('connect', () => socket.write(startup(user, database)));
    socket.on('error', reject);
    socket.on('close', () => reject(new Error(failure ?? 'the connection was closed')));
    socket.on('data', (bytes: Buffer) => {
      pending = Buffer.concat([pending, bytes]);
      while (pending.length >= 5) {
        const length = pending.readUInt32BE(1);
        if (pending.length < length + 1) return;
        take(pending.toString('latin1', 0, 1), pending.subarray(5, length + 1));
        pending = pending.subarray(length + 1);
      }
    });
  });
