import { spanTimeLengthMax } from '../../model/span-time.ts';
import { cutEnd } from '../../wire/native/bytes.ts';
import { timeText } from '../../wire/otlp/numbers.ts';
import type { ReadState } from '../../wire/otlp/read-state.ts';
import type { AttributeSlots, TimeSlot } from '../../wire/otlp/slots.ts';

type Attribute = { key: string; value: { stringValue: string } };

/** A text again within the limit: bytes that are not UTF-8 became U+FFFD, which has three. */
const againLimited = (text: string, bytesMax: number): string => {
  if (3 * text.length <= bytesMax) return text;
  const bytes = Buffer.from(text);
  return bytes.length <= bytesMax ? text : bytes.toString('utf8', 0, cutEnd(bytes, 0, bytesMax));
};

/** The text at a place, cut to the limit of a value. */
export const limitedText = (state: ReadState, start: number, end: number): string => {
  const { valueBytesMax } = state.limits;
  let last = end;
  if (Math.abs(end - start) > valueBytesMax)
    last =
      start < 0
        ? ~cutEnd(state.scratch.source.bytes, ~start, valueBytesMax)
        : cutEnd(state.body.bytes, start, valueBytesMax);
  return againLimited(state.textAt(start, last), valueBytesMax);
};

/** The attributes [from, to) of a list in OTLP's form, values as rows have them. */
export const limitedAttributes = (
  state: ReadState,
  list: AttributeSlots,
  from: number,
  to: number,
): Attribute[] => {
  const attributes: Attribute[] = [];
  for (let index = from; index < to; index++) {
    const key = limitedText(state, list.keyStarts[index] ?? 0, list.keyEnds[index] ?? 0);
    const value = limitedText(state, list.valueStarts[index] ?? 0, list.valueEnds[index] ?? 0);
    attributes.push({ key, value: { stringValue: value } });
  }
  return attributes;
};

/** The characters of a text with a sign of its end, where each takes two in JSON, as quotes do; and the quotes around it. */
const jsonLengthMax = 2 * (spanTimeLengthMax + 1) + 2;
const escapedKept = 6;

/** What is no time, short in JSON, too, which writes a control character in six: the rule that cuts a request counts no times. */
const wrongTime = (text: string): string =>
  JSON.stringify(text).length > jsonLengthMax ? `${text.slice(0, escapedKept).toWellFormed()}…` : text;

/**
 * A time as sent; undefined for none or zero, which protobuf does not distinguish. A text that is longer than any time, or would be
 * in JSON, is truncated, and remains invalid.
 */
export const sentTime = (state: ReadState, time: TimeSlot): string | undefined => {
  const { textStart, textEnd } = time;
  if (time.millis === 0 && time.rest === 0) return undefined;
  const length = Math.abs(textEnd - textStart);
  if (length > spanTimeLengthMax) {
    const cut = textStart < 0 ? textStart - spanTimeLengthMax : textStart + spanTimeLengthMax;
    return wrongTime(`${state.textAt(textStart, cut)}…`);
  }
  if (length > 0) {
    const text = state.textAt(textStart, textEnd);
    return Number.isNaN(time.millis) ? wrongTime(text) : text;
  }
  return Number.isNaN(time.millis) ? '' : timeText(time.millis, time.rest);
};
