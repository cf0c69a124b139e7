import { bytesText, durationText, numberText, percentText } from '../../parts/figures.ts';
import { furtherTerms } from '../../parts/signals.ts';
import type { Line, Stream } from './layout.ts';

/** `1,234/s`; nobody counts what is null. */
export const rateText = (rate: number | null): string => (rate === null ? '' : `${numberText(rate)}/s`);
export const byteRateText = (rate: number | null): string => (rate === null ? '' : `${bytesText(rate)}/s`);

/** `full in 2 h 5 min`; empty where the stream does not grow. */
export const fullText = ({ seconds_to_full: seconds }: Pick<Stream, 'seconds_to_full'>): string =>
  seconds === null ? '' : `full in ${durationText(seconds * 1000)}`;

/** What a stream holds, in two short lines. */
export const streamLines = (stream: Stream): readonly [string, string] => {
  if (stream.state === 'missing') return ['missing', 'restart metadata'];
  if (stream.state === 'unread') return ['not read yet', ''];
  const age = stream.messages === 0 ? 'empty' : `oldest ${durationText(stream.oldest_age_seconds * 1000)}`;
  return [
    `${percentText(stream.fill)} · ${age}`,
    stream.consumer === null
      ? `${numberText(stream.messages)} kept`
      : `${numberText(stream.pending)} pending · ${numberText(stream.ack_pending)} under way`,
  ];
};

/** The line in a sentence, as the text of its drawing. */
export const lineSentence = ({ totals, streams, processes }: Line): string => {
  const there = processes.filter(({ state }) => state !== 'gone');
  const oldest = Math.max(
    0,
    ...streams
      .filter(({ consumer }) => consumer !== null)
      .map(({ messages, oldest_age_seconds: age }) => (messages > 0 ? age : 0)),
  );
  return `${numberText(totals.accepted_items_per_second)} items/s accepted, ${numberText(totals.stored_items_per_second)} stored, ${numberText(totals.dropped_items_per_second)} dropped, ${numberText(totals.dead_lettered_items_per_second)} dead-lettered; the oldest waiting message is ${durationText(oldest * 1000)} old; ${there.length} processes.`;
};

const termNames = ['stored', 'dropped', 'dead_lettered', ...furtherTerms, 'in_flight'] as const;
type Terms = NonNullable<Line['account']>['metrics'];

/** The right side of `received = …`, with the words of the account; further terms where they are not 0. */
export const termsOf = (
  terms: Terms,
): { readonly key: (typeof termNames)[number]; readonly label: string; readonly items: number }[] =>
  termNames
    .filter((key) => terms[key] !== 0 || furtherTerms.every((term) => term !== key))
    .map((key) => ({ key, label: key.replace('_', key === 'in_flight' ? ' ' : '-'), items: terms[key] }));

type Kind = NonNullable<Line['account']>['differences'][number]['kind'];

/** What a kind of difference means, and what to do: how the row of each in docs/outcomes.md begins. */
export const differenceWords: Readonly<Record<Kind, readonly [meaning: string, remedy: string]>> = {
  lost_in_the_stream: [
    'messages were confirmed and are gone from the stream, unsettled',
    'find out who changed the stream; ask the senders for these minutes again',
  ],
  lost_by_the_engine: [
    'NATS has forgotten messages that it had confirmed',
    'repair the disk or the backup of NATS; ask the senders again',
  ],
  stuck: [
    'messages are in the stream, and the consumer has passed them',
    'move the consumer back (docs/stores-in-trouble.md)',
  ],
  missing_in_the_store: ['recorded rows are not in the store', 'restore the rows, or ask the senders again'],
  unrecorded: [
    'items were settled, or rows are there, whose line or record is gone',
    'nothing to send again, unless another program writes rows of this owner; redrive the dead letters of a table that was resumed, else find out who changed LEDGER or the tables',
  ],
  not_counted: ['a receiver ended without its last line, as by a kill', 'nothing to do'],
  orphan: ['dead letters that no record counts', 'tidemark dlq purge'],
  unmerged: [
    'copies of rows in ClickHouse with the same sorting key, which the next merge removes',
    'nothing to do',
  ],
  not_known: [
    'the books, or the rows of a store and their records, cannot be compared',
    'follow TidemarkAccountNotKnown (docs/runbook.md)',
  ],
};
