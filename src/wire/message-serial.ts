/**
 * The place of a message in the publishers' book (architecture 10.2): the publisher's life, the number of the message in this life and
 * stream, from 1, and the minute that the message counts under. Each message has its own; every try of a publish has the same. It is no
 * part of the identity of an item or of a message.
 */
export type MessageSerial = {
  /** The first epoch of the process. */
  readonly life: number;
  readonly serial: number;
  /** Arrival of its first request, minutes since 1970. */
  readonly minute: number;
};

export const serialText = ({ life, serial, minute }: MessageSerial): string => `${life}.${serial}.${minute}`;

/** Undefined for a message without a serial, and for a text that is none. */
export const readSerial = (text: string | undefined): MessageSerial | undefined => {
  const found = /^([1-9]\d{0,9})\.([1-9]\d{0,14})\.(\d{1,9})$/.exec(text ?? '');
  if (found === null) return undefined;
  return { life: Number(found[1]), serial: Number(found[2]), minute: Number(found[3]) };
};
