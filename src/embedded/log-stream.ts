import { z } from 'zod';
import { parseJson } from '../model/json.ts';
import { visible } from '../model/visible-text.ts';
import type { LogLine } from './child.ts';

const entrySchema = z.looseObject({ level: z.number(), time: z.string(), msg: z.string() });

const levelNames: Readonly<Record<number, string>> = { 20: 'debug', 30: 'info', 40: 'warn', 50: 'error' };
const nameWidth = 'clickhouse'.length;

const asEntry = (line: string): z.infer<typeof entrySchema> | undefined =>
  line.startsWith('{') ? entrySchema.safeParse(parseJson(line)).data : undefined;

/** A role's JSON line as one for people: time, level, message, then the fields. Any other line as it is. */
export const readableLine = (line: string): string => {
  const entry = asEntry(line);
  if (entry === undefined) return line;
  const { level, time, msg, role: _role, pid: _pid, hostname: _hostname, ...fields } = entry;
  const shown = Object.entries(fields).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
  return [time, (levelNames[level] ?? String(level)).padEnd(5), msg, ...shown].join(' ');
};

/**
 * One stream out of all of them: every line begins with the name of who wrote it, and a terminal obeys nothing in it. Children write single
 * lines; those of `tidemark up` itself may be several, with the last ones of an engine.
 */
export const createLogStream =
  (write: (text: string) => void): LogLine =>
  (source, text) => {
    for (const line of text.split('\n'))
      write(`${source.padEnd(nameWidth)} | ${visible(readableLine(line).replaceAll('\t', '    '))}\n`);
  };
