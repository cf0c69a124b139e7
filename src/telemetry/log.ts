import { pino } from 'pino';
import { type LevelledLog, limitRepeats } from './log-limit.ts';

/** Structured log: one JSON object a line on stderr. Fields first, then the sentence. Never pass a token or a body. */
export type Log = {
  debug(fields: Record<string, unknown>, message: string): void;
  info(fields: Record<string, unknown>, message: string): void;
  warn(fields: Record<string, unknown>, message: string): void;
  error(fields: Record<string, unknown>, message: string): void;
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

/**
 * A log for one role. `level` is a pino level or `silent`. Lines are written at once, so that a kill loses none; repeats within ten
 * seconds are counted instead.
 */
export const createLog = (role: string, level: string): LevelledLog =>
  limitRepeats(
    pino(
      { level, base: { role }, timestamp: pino.stdTimeFunctions.isoTime },
      pino.destination({ dest: 2, sync: true }),
    ),
  );
