import type { EncodedTraces } from '../../wire/otlp/types.ts';
import { shownKey } from './hints.ts';

/** What a byte-identical request is told: it is stored already. */
export const repeatMessage =
  'this request was received before: it was counted as duplicate_request and not stored again (an application that sends the same bytes on purpose can be set to deduplicate: false)';

const shownExamples = 5;

const listed = (counts: ReadonlyMap<string, number>): string =>
  [...counts].map(([reason, count]) => `${reason} ${count}`).join(', ');

const total = (counts: ReadonlyMap<string, number>): number => {
  let sum = 0;
  for (const count of counts.values()) sum += count;
  return sum;
};

const examplesOf = (encoded: EncodedTraces): string =>
  encoded.examples
    .slice(0, shownExamples)
    .map(
      ({ index, reason, field, detail }) =>
        `span ${index}: ${reason}${field === '' ? '' : ` in ${field}`}${detail === '' ? '' : ` (${detail})`}`,
    )
    .join('; ');

const shownKeys = (keys: readonly string[]): string => keys.slice(0, shownExamples).map(shownKey).join(', ');

/** Why a body that holds something holds no span: a sender of another form would take a plain success for stored spans. */
const nothingFound = ({ unknownTopLevelKeys, misplacedKeys }: EncodedTraces): string[] => {
  const found: string[] = [];
  if (unknownTopLevelKeys.length > 0)
    found.push(`unknown at the top level: ${shownKeys(unknownTopLevelKeys)} (expected resourceSpans)`);
  if (misplacedKeys.length > 0) found.push(`unknown above the spans: ${shownKeys(misplacedKeys)}`);
  return found.length === 0 ? [] : ['no span was found', ...found];
};

/**
 * `partial_success` of a request (OTLP/HTTP, "Partial Success"): rejected spans and why; a warning with 0 rejected for spans that
 * were accepted but will be dropped for their time, for values that were cut, and for a body in which nothing was found. An
 * empty message means plain success.
 */
export const outcomeMessage = (encoded: EncodedTraces): { rejected: number; message: string } => {
  const rejected = total(encoded.rejected);
  const deferred = total(encoded.deferred);
  const sentences: string[] = [];
  if (rejected > 0)
    sentences.push(`${rejected} of ${encoded.spans} spans rejected (${listed(encoded.rejected)})`);
  if (deferred > 0) {
    sentences.push(
      `${deferred} of ${encoded.spans} spans were accepted and will be dropped for their time (${listed(encoded.deferred)})`,
    );
  }
  if (encoded.eventsDropped > 0) sentences.push(`${encoded.eventsDropped} events left out for their time`);
  if (encoded.linksDropped > 0) sentences.push(`${encoded.linksDropped} links left out for their ids`);
  if (encoded.cutValues > 0) sentences.push(`${encoded.cutValues} values cut at the limit`);
  if (encoded.spans === 0) sentences.push(...nothingFound(encoded));
  if (sentences.length > 0 && encoded.examples.length > 0) sentences.push(examplesOf(encoded));
  return { rejected, message: sentences.join('; ') };
};
