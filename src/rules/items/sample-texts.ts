import { ellipsis } from '../../model/text-forms.ts';
import { cutEnd } from '../../wire/native/bytes.ts';
import type { ReadState } from '../../wire/otlp/read-state.ts';
import type { AttributeSlots } from '../../wire/otlp/slots.ts';

const attributesMax = 16;
const textBytesMax = 1024;

/** The text at a place, cut to what a sample shows. */
export const shortText = (state: ReadState, start: number, end: number): string => {
  if (Math.abs(end - start) <= textBytesMax) return state.textAt(start, end);
  // The text before the ellipsis may be the beginning of a secret.
  if (start >= 0) return state.textAt(start, cutEnd(state.body.bytes, start, textBytesMax)) + ellipsis;
  return state.textAt(start, ~cutEnd(state.scratch.source.bytes, ~start, textBytesMax)) + ellipsis;
};

/** The first attributes of a list; undefined when it is empty. */
export const shortAttributes = (
  state: ReadState,
  list: AttributeSlots,
): Record<string, string> | undefined => {
  if (list.count === 0) return undefined;
  const attributes: [string, string][] = [];
  for (let index = 0; index < Math.min(list.count, attributesMax); index++) {
    const key = shortText(state, list.keyStarts[index] ?? 0, list.keyEnds[index] ?? 0);
    attributes.push([key, shortText(state, list.valueStarts[index] ?? 0, list.valueEnds[index] ?? 0)]);
  }
  return Object.fromEntries(attributes);
};
