import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

/** Receives every line a child writes, with the child's name. */
export type LogLine = (source: string, line: string) => void;

/**
 * The program to run. `env` replaces the environment; without it the child inherits that of this process. Its stdin
 * begins with `input` and stays open. It inherits the open files in `inherited`, from descriptor 3 on.
 */
export type Command = {
  command: string;
  args: readonly string[];
  env?: NodeJS.ProcessEnv;
  input?: string;
  inherited?: readonly number[];
};

/** How a child ended: exactly one of code and signal is set, or neither when it could not be run at all. */
export type Exit = { code: number | null; signal: NodeJS.Signals | null };

/** A running child process. `ended` never rejects. */
export type Child = {
  readonly pid: number | undefined;
  readonly running: boolean;
  readonly ended: Promise<Exit>;
  /** The last lines it wrote to stdout and stderr, oldest first. */
  lastLines(): readonly string[];
  signal(signal: NodeJS.Signals): void;
  /** SIGTERM, then SIGKILL when it has not ended after `graceMs`. Resolves once it has ended. */
  stop(graceMs: number): Promise<Exit>;
};

const lastLinesMax = 60;

let deathSignal: readonly string[] | undefined;

/**
 * The prefix of a command. Linux only: with setpriv the kernel kills the child when this process dies for any reason.
 */
export const deathSignalPrefix = (): readonly string[] => {
  if (deathSignal === undefined) {
    const prefix = ['setpriv', '--pdeathsig', 'KILL'];
    const [command = '', ...args] = [...prefix, 'true'];
    deathSignal = spawnSync(command, args, { stdio: 'ignore' }).status === 0 ? prefix : [];
  }
  return deathSignal;
};

const run = ({ command, args, env, inherited = [] }: Command): ChildProcess => {
  const [first = command, ...rest] = [...deathSignalPrefix(), command, ...args];
  return spawn(first, rest, {
    // In its own process group: Ctrl-C in a terminal reaches only the parent, which stops its children in order.
    detached: true,
    // The end of its stdin shows a child that its parent has died.
    stdio: ['pipe', 'pipe', 'pipe', ...inherited],
    ...(env === undefined ? {} : { env }),
  });
};

/** `exited with code 1`, `was ended by SIGKILL`. */
export const describeExit = ({ code, signal }: Exit): string => {
  if (signal !== null) return `was killed by ${signal}`;
  return code === null ? 'could not be run' : `exited with code ${code}`;
};

/** Starts a process that does not outlive this one, and passes its output on line by line. */
export const spawnChild = (name: string, command: Command, log: LogLine): Child => {
  const lines: string[] = [];
  const keep = (line: string): void => {
    lines.push(line);
    if (lines.length > lastLinesMax) lines.shift();
    log(name, line);
  };
  const child = run(command);
  const follow = (stream: Readable | null): void => {
    if (stream !== null)
      createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY }).on('line', keep);
  };
  follow(child.stdout);
  follow(child.stderr);
  child.stdin?.on('error', () => {});
  if (command.input !== undefined) child.stdin?.write(command.input);
  let running = true;
  const ended = new Promise<Exit>((resolve) => {
    const settle = (exit: Exit): void => {
      running = false;
      resolve(exit);
    };
    child.once('error', (error) => {
      keep(error.message);
      if (child.pid === undefined) settle({ code: null, signal: null });
    });
    child.once('close', (code, signal) => settle({ code, signal }));
  });
  const signal = (name: NodeJS.Signals): void => {
    if (running) child.kill(name);
  };
  return {
    get pid() {
      return running ? child.pid : undefined;
    },
    get running() {
      return running;
    },
    ended,
    lastLines: () => [...lines],
    signal,
    stop: async (graceMs) => {
      signal('SIGTERM');
      // A child paused by SIGSTOP handles SIGTERM only once it runs again.
      signal('SIGCONT');
      const timer = setTimeout(() => signal('SIGKILL'), graceMs);
      try {
        return await ended;
      } finally {
        clearTimeout(timer);
      }
    },
  };
};
