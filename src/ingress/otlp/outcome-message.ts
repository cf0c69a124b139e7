import { counted, listedCounts } from '../../model/counted.ts';
import { sumOf } from '../../model/sums.ts';
import { exampleText } from '../../model/text-forms.ts';
import type { EncodedItems } from '../../wire/otlp/types.ts';
import { noLinks, type ReasonLinks } from '../reason-links.ts';
import { shownKey } from './hints.ts';
import type { OtlpSignal } from './signals.ts';

/**
 * The warning for a byte-identical request, which is stored already. Its items were judged then: the limits and the series of an
 * application may decide otherwise now, and nothing remembers the first answer.
 */
export const repeatMessage =
  'this request was received before: it is counted as duplicate_request and not stored again (to store identical requests, set deduplicate: false for the application); items that were rejected then are not stored, and the numbers may differ from those of the first answer where limits or series have changed';

const shownExamples = 5;

/** Wrong ids that cost no item: it is stored, and belongs to no trace. */
const idKinds = ['record_id_invalid', 'exemplar_id_invalid'] as const;

const examplesOf = ({ item }: OtlpSignal, { examples }: EncodedItems): string =>
  examples
    .slice(0, shownExamples)
    .map(({ index, reason, field, ...example }) => {
      const text = exampleText(example);
      return `${item} ${index}: ${reason}${field === '' ? '' : ` in ${field}`}${text === '' ? '' : ` (${text})`}`;
    })
    .join('; ');

const shownKeys = (signal: OtlpSignal, keys: readonly string[]): string =>
  keys
    .slice(0, shownExamples)
    .map((key) => shownKey(signal, key))
    .join(', ');

/** Why a non-empty body has no item: a sender of another format would read a plain success as stored items. */
const nothingFound = (signal: OtlpSignal, { unknownTopLevelKeys, misplacedKeys }: EncodedItems): string[] => {
  const { item, listKey } = signal;
  const found: string[] = [];
  if (unknownTopLevelKeys.length > 0)
    found.push(`unknown at the top level: ${shownKeys(signal, unknownTopLevelKeys)} (expected ${listKey})`);
  if (misplacedKeys.length > 0) found.push(`unknown above the ${item}s: ${shownKeys(signal, misplacedKeys)}`);
  return found.length === 0 ? [] : [`the body has no ${item}`, ...found];
};

/**
 * `partial_success` of a request (OTLP/HTTP, "Partial Success"): rejected items with their reasons. With 0 rejected it is a
 * warning: about items that transfer will drop for their time, about truncated values, about wrong ids, about a body without items. An empty message
 * means plain success.
 */
export const outcomeMessage = (
  signal: OtlpSignal,
  encoded: EncodedItems,
  links: ReasonLinks = noLinks,
): { rejected: number; message: string } => {
  const rejected = sumOf(encoded.rejected.values());
  const deferred = sumOf(encoded.deferred.values());
  const all = counted(encoded.items, signal.item);
  const sentences: string[] = [];
  if (rejected > 0) sentences.push(`${rejected} of ${all} rejected (${listedCounts(encoded.rejected)})`);
  if (deferred > 0) {
    sentences.push(
      `${deferred} of ${all} accepted, but will be dropped for the time (${listedCounts(encoded.deferred)})`,
    );
  }
  if (encoded.eventsDropped > 0)
    sentences.push(`${counted(encoded.eventsDropped, 'event')} dropped for the time`);
  if (encoded.linksDropped > 0)
    sentences.push(`${counted(encoded.linksDropped, 'link')} dropped for the ids`);
  if (encoded.cutValues > 0) sentences.push(`${counted(encoded.cutValues, 'value')} truncated to the limit`);
  const unknown = encoded.leniencies.get('enum_unknown') ?? 0;
  if (unknown > 0) sentences.push(`${counted(unknown, ...signal.unknownEnum)} stored as unset`);
  const ids = idKinds.reduce((sum, kind) => sum + (encoded.leniencies.get(kind) ?? 0), 0);
  if (ids > 0) sentences.push(`${counted(ids, 'invalid trace or span id')} stored as empty`);
  if (encoded.items === 0) sentences.push(...nothingFound(signal, encoded));
  if (sentences.length > 0 && encoded.examples.length > 0) sentences.push(examplesOf(signal, encoded));
  const seen = links([...encoded.rejected.keys(), ...encoded.deferred.keys()]);
  return { rejected, message: sentences.join('; ') + seen };
};
