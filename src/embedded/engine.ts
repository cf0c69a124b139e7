import { type Child, type Command, describeExit, type LogLine, spawnChild } from './child.ts';
import { type NamedPort, requireFreePorts } from './ports.ts';

/** Receives how an engine ended that nobody had asked to end, and the last lines it wrote. */
export type ExitListener = (
  code: number | null,
  signal: NodeJS.Signals | null,
  lastLogLines: readonly string[],
) => void;

/** A real engine as a child process on one host, with one folder and fixed ports. */
export type Engine = {
  readonly name: 'nats' | 'questdb' | 'clickhouse';
  /** Where clients reach it; valid before it is started. */
  readonly url: string;
  readonly running: boolean;
  readonly pid: number | undefined;
  /**
   * Resolves when our own child is alive and answers. Throws PortInUseError before anything is started,
   * MissingToolError, InstallError, or EngineStartError.
   */
  start(): Promise<void>;
  /** SIGTERM, SIGKILL after 15 s. What was acknowledged is on disk. */
  stop(): Promise<void>;
  /** SIGKILL; resolves once the process is gone. */
  kill(): Promise<void>;
  /** Stops it if it runs, and starts it on the same folder and ports. */
  restart(): Promise<void>;
  /** SIGSTOP: the process keeps its connections and answers nothing. */
  pause(): void;
  /** SIGCONT. */
  resume(): void;
  onExit(listener: ExitListener): void;
};

/** What a factory is given. A `log` of one's own sees every line of the engine. */
export type EngineOptions<Ports> = { folder: string; host: string; ports: Ports; log: LogLine };

/** What differs between the engines. */
export type EngineDefinition = {
  name: Engine['name'];
  url: string;
  host: string;
  ports: readonly NamedPort[];
  log: LogLine;
  /** Installs what is missing, writes the configuration and says what to run. */
  prepare(): Promise<Command>;
  /** A line our own child writes once it listens; another server on its port writes nothing into our pipe. */
  listening?: RegExp;
  /** Whether it answers like an engine of ours; a rejection means not yet. */
  answers(): Promise<boolean>;
};

/** An engine ended before it was ready, or was not ready in time. The message ends with its last lines. */
export class EngineStartError extends Error {
  override readonly name = 'EngineStartError';
}

const startTimeoutMs = 120_000;
const stopGraceMs = 15_000;
const pollMs = 25;
const shownLines = 15;

const withLastLines = (message: string, child: Child): EngineStartError => {
  const lines = child.lastLines().slice(-shownLines);
  return new EngineStartError(
    [`${message}; its last lines:`, ...lines.map((line) => `  ${line}`)].join('\n'),
  );
};

const waitUntilReady = async (
  { name, answers }: EngineDefinition,
  child: Child,
  isListening: () => boolean,
): Promise<void> => {
  const deadline = performance.now() + startTimeoutMs;
  while (performance.now() < deadline) {
    if (!child.running)
      throw withLastLines(`${name} ${describeExit(await child.ended)} while starting`, child);
    if (isListening() && (await answers().catch(() => false)) && child.running) return;
    await Promise.race([child.ended, new Promise((resolve) => setTimeout(resolve, pollMs))]);
  }
  await child.stop(0);
  throw withLastLines(`${name} was not ready after ${startTimeoutMs / 1000} s`, child);
};

/** Builds an engine out of what differs between them. */
export const createEngine = (definition: EngineDefinition): Engine => {
  const { name, url, host, ports, log, listening } = definition;
  const listeners: ExitListener[] = [];
  let child: Child | undefined;
  let ending = false;
  let starting: Promise<void> | undefined;

  const launch = async (): Promise<void> => {
    const command = await definition.prepare();
    await requireFreePorts(host, ports);
    let isListening = listening === undefined;
    const started = spawnChild(name, command, (source, line) => {
      if (listening?.test(line)) isListening = true;
      log(source, line);
    });
    child = started;
    ending = false;
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
  };

  return {
    name,
    url,
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
  };
};
