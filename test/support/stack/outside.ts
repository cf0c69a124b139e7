import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The contents of every file and answer outside: a program that shows them has been there. */
export const canary = 'CANARY42';

/** Files and a server that no engine should reach, and the proof that one did. */
export type Outside = {
  readonly folder: string;
  /** Files of the kinds that engines read, each with the canary in it. */
  readonly files: Readonly<Record<'text' | 'csv' | 'yaml' | 'format' | 'proto', string>>;
  /** host:port of a server that answers every connection with the canary. */
  readonly server: string;
  readonly connections: number;
  /** Names and sizes of all files, as they are now. */
  listing(): string;
  close(): void;
};

export const openOutside = async (): Promise<Outside> => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-outside-'));
  const write = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const files = {
    text: write('secret.txt', `${canary}\n`),
    csv: write('secret.csv', `1,${canary}\n`),
    yaml: write('secret.yaml', `${canary}\n`),
    format: write('secret.format', `${canary} \${c:CSV}\n`),
    proto: write('secret.proto', `syntax = "proto3"; message ${canary} { uint32 c = 1; };\n`),
  };
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    socket.on('error', () => {});
    socket.end(`HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\n${canary}\n`);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    folder,
    files,
    server: `127.0.0.1:${port}`,
    get connections() {
      return connections;
    },
    listing: () =>
      readdirSync(folder, { recursive: true })
        .map(String)
        .toSorted()
        .map((name) => {
          const path = join(folder, name);
          return statSync(path).isFile() ? `${name}: ${readFileSync(path, 'utf8')}` : `${name}/`;
        })
        .join('\n'),
    close: () => {
      server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
};
