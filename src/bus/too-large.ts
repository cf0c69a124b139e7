import { Fault } from '../model/fault.ts';

/** Above the bytes of the header of any message. */
export const headerBytesMax = 1_024;

/** The fault of a message of this size, which the server never takes. */
export const tooLarge = (size: number, sizeMax: number): Fault =>
  new Fault(
    'permanent',
    'message_too_large',
    `the message has ${size} bytes, the limit of NATS is ${sizeMax}`,
  );

export const isTooLarge = (error: unknown): error is Fault & { readonly code: 'message_too_large' } =>
  error instanceof Fault && error.code === 'message_too_large';
