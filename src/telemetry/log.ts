import { isatty } from 'node:tty';
import { pino } from 'pino';

/** Structured log: one JSON object a line on stderr. Fields first, then the sentence. Never pass a token or a body. */
export type Log = {
  debug(fields: Record<string, unknown>, message: string): void;
  info(fields: Record<string, unknown>, message: string): void;
  warn(fields: Record<string, unknown>, message: string): void;
  error(fields: Record<string, unknown>, message: string): void;
};

/** A log whose level can be changed while it is used. */
export type LevelledLog = Log & { level: string };

/** The same line, with the same fields, is written once in this time. */
const everyMsDefault = 10_000;
/** Lines of one message with different fields in the same time. */
const variantsMax = 20;
/** Messages that are remembered; more of them at once are not limited. */
const messagesMax = 1_000;

type Level = 'info' | 'warn' | 'error';

/** What was written of a message since it began. */
type Window = {
  readonly lines: Set<string>;
  suppressed: number;
  last: Record<string, unknown>;
  lastAt: number;
};

/**
 * A log in which no message repeats itself: within ten seconds each line is written once, and a message with changing fields twenty
 * times. What was left out is counted: at the end of that time one more line follows, with the last fields, `suppressed`, the
 * number of lines, and the times of the first line and of the last one that was left out, which may be over by then. Debug lines are for finding a fault, and not limited.
 */
export const limitRepeats = (log: LevelledLog, everyMs = everyMsDefault): LevelledLog => {
  const windows = new Map<string, Window>();

  const open = (level: Level, message: string, key: string): Window => {
    const firstAt = new Date().toISOString();
    const window: Window = { lines: new Set(), suppressed: 0, last: {}, lastAt: 0 };
    windows.set(key, window);
    setTimeout(() => {
      windows.delete(key);
      const { suppressed, last, lastAt } = window;
      if (suppressed === 0) return;
      const times = { first_at: firstAt, last_at: new Date(lastAt).toISOString() };
      log[level]({ ...last, suppressed, ...times }, message);
    }, everyMs).unref();
    return window;
  };

  const write =
    (level: Level) =>
    (fields: Record<string, unknown>, message: string): void => {
      const key = `${level} ${message}`;
      const known = windows.get(key);
      if (known === undefined && windows.size >= messagesMax) return log[level](fields, message);
      const window = known ?? open(level, message, key);
      const line = JSON.stringify(fields);
      if (window.lines.has(line) || window.lines.size >= variantsMax) {
        window.suppressed++;
        window.last = fields;
        window.lastAt = Date.now();
        return;
      }
      window.lines.add(line);
      log[level](fields, message);
    };

  return {
    get level() {
      return log.level;
    },
    set level(level) {
      log.level = level;
    },
    debug: (fields, message) => log.debug(fields, message),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
  };
};

/** The level at which SIGUSR2 sets the log of a running role. */
const closerLevel = 'debug';

/**
 * The log of a role that runs: SIGUSR2 sets its level to debug, and the next one to what it was, so that an operator sees more of a
 * trouble without a restart that would end it.
 */
export const createRoleLog = (role: string, level: string): Log => {
  const log = createLog(role, level);
  process.on('SIGUSR2', () => {
    log.level = log.level === level ? closerLevel : level;
    log.info({ log_level: log.level }, 'the log level has changed');
  });
  return log;
};

type Destination = ReturnType<typeof pino.destination>;

/**
 * Where lines are written. pino goes on without them where the reader of a pipe has gone; so do they here where the terminal
 * has closed, or the stop of a role would end at its first line.
 */
const destinationOf = (fd: number): Destination => {
  const destination = pino.destination({ dest: fd, sync: true });
  // Not of a file, whose EIO is a disk that fails.
  if (!isatty(fd)) return destination;
  return destination.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EIO' && error.code !== 'EPIPE') throw error;
    destination.write = () => true;
  });
};

/**
 * A log for one role. `level` is a pino level or `silent`. Lines are written at once, so that a kill loses none; repeats within ten
 * seconds are counted instead.
 */
export const createLog = (role: string, level: string): LevelledLog =>
  limitRepeats(pino({ level, base: { role }, timestamp: pino.stdTimeFunctions.isoTime }, destinationOf(2)));
