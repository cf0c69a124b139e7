import { z } from 'zod';
import { counted } from '../model/counted.ts';
import { timeText } from './output.ts';

/** A difference in an account, as the admin API answers it. */
export const differenceSchema = z.object({
  kind: z.string(),
  items: z.number(),
  messages: z.number(),
  stream: z.string(),
  owners: z.array(z.number()),
  from: z.number(),
  until: z.number(),
  is_open: z.boolean(),
  reason: z.string(),
});

export type Difference = z.output<typeof differenceSchema>;

const textOfKind: Readonly<Record<string, string>> = {
  lost_in_the_stream: 'lost in the stream',
  lost_by_the_engine: 'lost by the engine',
  not_counted: 'not counted by its receiver',
  stuck: 'stuck in the stream',
  orphan: 'orphaned dead letter',
  missing_in_the_store: 'missing in the store',
  unrecorded: 'stored without a record',
  unmerged: 'not merged yet',
  not_known: 'not known: the books cannot be compared',
};

/** A difference in one line: what, how much, where, when, and why it was closed. */
export const differenceText = (difference: Difference): string => {
  const { kind, items, messages, stream, from, until, is_open: isOpen, reason } = difference;
  const name = textOfKind[kind] ?? kind;
  if (kind === 'not_known') return `${name} since ${timeText(from)}`;
  const closed = isOpen ? '' : ` (closed: ${reason})`;
  const period = `${timeText(from)} to ${timeText(until)}${closed}`;
  if (kind === 'not_counted' && items === 0 && messages === 0)
    return `a receiver ended without its last line: nothing of ${stream} was found that it had not counted, ${period}`;
  const figures = [counted(items, 'item'), ...(messages === 0 ? [] : [counted(messages, 'message')])];
  return `${name}: ${figures.join(' in ')} of ${stream}, ${period}`;
};
