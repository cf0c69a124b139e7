import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { type Child, spawnChild } from '../../src/embedded/child.ts';
import { waitFor } from '../../test/support/wait.ts';

/** A peer as one process on loopback. Its folder survives a kill; `stop` deletes it. */
export type PeerProcess = {
  readonly pid: number;
  start(): Promise<void>;
  kill(): Promise<void>;
  stop(): Promise<void>;
};

export type PeerCommand = {
  readonly name: string;
  readonly program: string;
  readonly args: (configPath: string) => readonly string[];
  /** The text of its configuration, for files of its own below `folder`. */
  readonly config: (folder: string) => string;
  readonly folder: string;
  readonly port: number;
};

const startMsMax = 30_000;
const stopGraceMs = 10_000;

const isListening = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });

/** Starts it and waits until it listens. Rejects with its last output when it exits instead. */
export const startPeer = async (command: PeerCommand): Promise<PeerProcess> => {
  const { name, program, folder, port } = command;
  mkdirSync(folder, { recursive: true });
  const configPath = join(folder, 'config');
  writeFileSync(configPath, command.config(folder));
  let child: Child;
  const start = async (): Promise<void> => {
    child = spawnChild(name, { command: program, args: command.args(configPath) }, () => {});
    await waitFor(`${name} listens`, startMsMax, async () => !child.running || (await isListening(port)));
    if (!child.running) throw new Error(`${name} ended: ${child.lastLines().slice(-5).join('\n')}`);
  };
  await start();
  return {
    get pid() {
      return child.pid ?? -1;
    },
    start,
    kill: async () => {
      child.signal('SIGKILL');
      await child.ended;
    },
    stop: async () => {
      await child.stop(stopGraceMs);
      rmSync(folder, { recursive: true, force: true });
    },
  };
};
