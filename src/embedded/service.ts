import type { NamedPort } from '../config/port-settings.ts';
import { type Child, type Command, describeExit, type Exit, type LogLine, spawnChild } from './child.ts';
import { requireFreePorts } from './ports.ts';

/** Receives how a service ended that was not stopped, and its last lines. */
export type ExitListener = (
  code: number | null,
  signal: NodeJS.Signals | null,
  lastLogLines: readonly string[],
) => void;

/** A program run as a child process on fixed ports: an engine or a role. */
export type Service<Name extends string = string> = {
  readonly name: Name;
  /** Where it is reached; valid before it is started. */
  readonly url: string;
  readonly running: boolean;
  readonly pid: number | undefined;
  /** The file with all its lines, where `log` does not show them. */
  readonly logFile?: string | undefined;
  /**
   * Resolves when the child of this process is alive and answers. Throws PortInUseError before anything is started,
   * ServiceStartError, and the errors of its preparation (for engines MissingToolError and InstallError).
   */
  start(): Promise<void>;
  /** SIGTERM, SIGKILL after its grace time. Ends a start under way, which then throws. */
  stop(): Promise<void>;
  /** SIGKILL; resolves once the process has ended. */
  kill(): Promise<void>;
  /** Stops it if it runs, and starts it on the same folder and ports. */
  restart(): Promise<void>;
  /** SIGSTOP: the process keeps its connections and answers nothing. */
  pause(): void;
  /** SIGCONT. */
  resume(): void;
  onExit(listener: ExitListener): void;
  /**
   * False when it runs and does not answer well, for a service that only a restart repairs; always true for others, and
   * for one that does not run or is being started or stopped.
   */
  isWell(): Promise<boolean>;
};

/** The differences between the services. */
export type ServiceDefinition<Name extends string = string> = {
  name: Name;
  url: string;
  host: string;
  ports: readonly NamedPort[];
  log: LogLine;
  logFile?: string | undefined;
  /** Open files that the child holds too, for as long as it lives. */
  inherited?: readonly number[];
  /** Installs missing programs, writes the configuration and returns the command to run. */
  prepare(): Promise<Command>;
  /** A line our own child writes once it listens; another server on its port writes nothing into our pipe. */
  listening?: RegExp;
  /** Whether it answers like the expected service before `signal` is aborted; a rejection means not yet. */
  answers(signal: AbortSignal): Promise<boolean>;
  /** Only a restart repairs a service that answers badly. */
  needsRestartWhenUnwell?: boolean;
  startTimeoutMs: number;
  stopGraceMs: number;
};

/** A service ended before it was ready, or was not ready in time. The message ends with its last lines. */
export class ServiceStartError extends Error {
  override readonly name = 'ServiceStartError';
  /** How it ended; undefined when it was not ready in time. */
  readonly exit: Exit | undefined;
  readonly lastLines: readonly string[];

  constructor(what: string, lastLines: readonly string[], exit?: Exit, logFile?: string) {
    const told = lastLines.filter((line) => !javaFrame.test(line));
    const shown = told.slice(-shownLines).map((line) => `  ${line}`);
    const log = logFile === undefined ? 'its log' : `its log ${logFile}`;
    super([shown.length === 0 ? what : `${what}; last lines of ${log}:`, ...shown].join('\n'));
    this.exit = exit;
    this.lastLines = lastLines;
  }
}

const pollMs = 25;
const answerTimeoutMs = 5000;
const shownLines = 15;
/** Those that follow the reason are more than `shownLines`. */
const javaFrame = /^\s+at \S+\(.*\)$/;

const waitUntilReady = async (
  { name, answers, startTimeoutMs, logFile }: ServiceDefinition,
  child: Child,
  isListening: () => boolean,
): Promise<void> => {
  const isAnswering = (): Promise<boolean> =>
    answers(AbortSignal.timeout(answerTimeoutMs)).catch(() => false);
  const deadline = performance.now() + startTimeoutMs;
  while (performance.now() < deadline) {
    if (!child.running) {
      const exit = await child.ended;
      const what = `${name} ${describeExit(exit)} while starting`;
      throw new ServiceStartError(what, child.lastLines(), exit, logFile);
    }
    if (isListening() && (await isAnswering()) && child.running) return;
    await Promise.race([child.ended, new Promise((resolve) => setTimeout(resolve, pollMs))]);
  }
  await child.stop(0);
  const what = `${name} was not ready after ${startTimeoutMs / 1000} s`;
  throw new ServiceStartError(what, child.lastLines(), undefined, logFile);
};

/** Builds a service from its differences to other services. */
export const createService = <Name extends string>(definition: ServiceDefinition<Name>): Service<Name> => {
  const { name, url, host, ports, log, listening, stopGraceMs } = definition;
  const listeners: ExitListener[] = [];
  let child: Child | undefined;
  let ending = false;
  let starting: Promise<void> | undefined;

  const launch = async (): Promise<void> => {
    ending = false;
    const command = await definition.prepare();
    await requireFreePorts([{ host, ports }]);
    if (ending) throw new ServiceStartError(`${name} was stopped while starting`, []);
    let isListening = listening === undefined;
    const { inherited = [] } = definition;
    const started = spawnChild(name, { ...command, inherited }, (source, line) => {
      if (listening?.test(line)) isListening = true;
      log(source, line);
    });
    child = started;
    await waitUntilReady(definition, started, () => isListening);
    void started.ended.then(({ code, signal }) => {
      if (ending) return;
      for (const listener of listeners) listener(code, signal, started.lastLines());
    });
  };

  const start = (): Promise<void> => {
    if (child?.running === true && starting === undefined) return Promise.resolve();
    starting ??= launch().finally(() => {
      starting = undefined;
    });
    return starting;
  };

  const end = async (graceMs: number): Promise<void> => {
    ending = true;
    if (graceMs === 0) child?.signal('SIGKILL');
    await child?.stop(graceMs);
    await starting?.catch(() => {});
  };

  return {
    name,
    url,
    logFile: definition.logFile,
    get running() {
      return child?.running ?? false;
    },
    get pid() {
      return child?.pid;
    },
    start,
    stop: () => end(stopGraceMs),
    kill: () => end(0),
    restart: async () => {
      await end(stopGraceMs);
      await start();
    },
    pause: () => child?.signal('SIGSTOP'),
    resume: () => child?.signal('SIGCONT'),
    onExit: (listener) => {
      listeners.push(listener);
    },
    isWell: async () => {
      const asked = child;
      if (definition.needsRestartWhenUnwell !== true || asked?.running !== true || starting !== undefined)
        return true;
      const isAnswering = await definition.answers(AbortSignal.timeout(answerTimeoutMs)).catch(() => false);
      return isAnswering || ending || child !== asked;
    },
  };
};
