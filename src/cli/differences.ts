import { z } from 'zod';
import * as contract from '../metadata/answers/account.ts';
import type { Terms } from '../metadata/answers/line.ts';
import { counted } from '../model/counted.ts';
import { pipelineOfStream } from '../model/signals.ts';
import { daySeconds } from '../model/time.ts';
import { timeText } from './output.ts';

/** A difference in an account. A newer metadata may have further kinds. */
export const differenceSchema = contract.differenceSchema.extend({ kind: z.string() });

export type Difference = z.output<typeof differenceSchema>;

/** Terms of an account that are rarely anything else than 0: shown where they are. */
export const furtherTerms = ['repeated', 'lost', 'stuck', 'unrecorded'] as const;

/** `10 = 9 stored + 1 dropped + 0 dead-lettered`: the terms that are not 0, after those that always stand. */
export const equationText = (terms: Terms): string => {
  const always = [
    [terms.stored, 'stored'],
    [terms.dropped, 'dropped'],
    [terms.dead_lettered, 'dead-lettered'],
  ] as const;
  const others = [
    ...furtherTerms.map((term) => [terms[term], term] as const),
    [terms.in_flight, 'in flight'],
  ] as const;
  const shown = [...always, ...others.filter(([items]) => items !== 0)];
  return `${terms.received} = ${shown.map(([items, name]) => `${items} ${name}`).join(' + ')}`;
};

/** Whether an account adds up; null: it is not known. */
export const verdictText = (addsUp: boolean | null): string => {
  if (addsUp === null) return 'not known';
  return addsUp ? 'yes' : 'NO';
};

const textOfKind: Readonly<Record<string, string>> = {
  lost_in_the_stream: 'lost in the stream',
  lost_by_the_engine: 'lost by the engine',
  not_counted: 'not counted by its receiver',
  stuck: 'stuck in the stream',
  orphan: 'orphaned dead letter',
  missing_in_the_store: 'missing in the store',
  unrecorded: 'without a line or record',
  unmerged: 'not merged yet',
  not_known: 'not known',
};

/** Of the whole account, and of no items: it ends by itself, and nobody can close it. */
export const isOfAccount = ({ kind, items, stream }: Difference): boolean =>
  kind === 'not_known' && items === 0 && (stream === '' || stream === 'LEDGER');

/** Of a stream that metadata does not read: it ends by itself as well. A reason of another one that is open is that of an earlier closing. */
export const isOfUnreadStream = ({ kind, items, is_open: isOpen, reason }: Difference): boolean =>
  kind === 'not_known' && items === 0 && isOpen && reason === contract.streamNotRead;

/** A difference in one line: what, how much, where, when, and why it was closed. */
export const differenceText = (difference: Difference): string => {
  const { kind, items, messages, stream, from, until, is_open: isOpen, reason } = difference;
  const name = textOfKind[kind] ?? kind;
  if (isOfAccount(difference))
    return stream === ''
      ? `${name}: the books cannot be compared since ${timeText(from)}`
      : `${name}: LEDGER ${reason || 'is behind'} since ${timeText(from)}, newer items are not counted yet`;
  const closed = isOpen ? '' : ` (closed: ${reason})`;
  const period = `${timeText(from)} to ${timeText(until)}${closed}`;
  if (isOfUnreadStream(difference)) return `${name}: the stream ${stream} ${reason} since ${timeText(from)}`;
  if (kind === 'not_known' && items === 0)
    return `${name}: rows of ${stream} in the store cannot be read, ${period}`;
  if (kind === 'not_known')
    return `${name} whether it is recorded: ${counted(items, 'item')} of ${stream}, ${period}`;
  if (kind === 'not_counted' && items === 0 && messages === 0)
    return `a receiver ended without its last line; no uncounted message of ${stream} was found, ${period}`;
  const figures = [counted(items, 'item'), ...(messages === 0 ? [] : [counted(messages, 'message')])];
  return `${name}: ${figures.join(' in ')} of ${stream}, ${period}`;
};

/**
 * Of messages without a line and an owner: that they may be stored, where rows of their signal and of event days near their arrival have no
 * record. A LEDGER that lost the lines of both books leaves both, and no row says of which message it is. Else empty.
 */
export const storedText = (
  { kind, items, owners, stream, from, until }: Difference,
  all: readonly Difference[],
): string => {
  if (kind !== 'lost_in_the_stream' || items > 0 || owners.length > 0) return '';
  const rows = all.find(
    (each) =>
      each.kind === 'unrecorded' &&
      each.is_open &&
      each.messages === 0 &&
      each.from < until + daySeconds &&
      each.until > from - daySeconds &&
      pipelineOfStream(each.stream) === pipelineOfStream(stream),
  );
  return rows === undefined ? '' : ` (or stored, as rows of ${rows.stream} have no record)`;
};

/** Differences of one owner in the order of their days; those that differ in nothing but neighbouring days are one, with all items. */
export const joinedDays = (all: readonly Difference[]): Difference[] => {
  const joined: Difference[] = [];
  const places = new Map<string, number>();
  for (const each of all) {
    const key = JSON.stringify([each.kind, each.stream, each.owners, each.is_open, each.reason]);
    const place = places.get(key) ?? -1;
    const before = joined[place];
    if (before !== undefined && before.until === each.from && before.items > 0 && each.items > 0) {
      const [items, messages] = [before.items + each.items, before.messages + each.messages];
      joined[place] = { ...before, items, messages, until: each.until };
    } else places.set(key, joined.push(each) - 1);
  }
  return joined;
};
