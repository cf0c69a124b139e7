import type { Published } from '../bus/publisher.ts';
import { isTooLarge } from '../bus/too-large.ts';
import { Fault } from '../model/fault.ts';
import type { Posting } from '../outcomes/publishers-book.ts';

/**
 * Books the answer to a publish. Only a request with a name can have been stored before; of a message with an id of this process a
 * duplicate after another try is that try. Of a named message it may be that or a message from before: the settlers' book knows.
 */
export const bookPublished = (
  posting: Posting | undefined,
  { duplicate, wasKnown, sequence }: Published,
  isNamed: boolean,
): void => {
  if (duplicate) posting?.repeated();
  else if (wasKnown && isNamed) posting?.doubtful(true);
  else posting?.stored(sequence);
};

/** Whether nothing of a message or a request is stored, after this error of its publish. */
export const storesNothing = (error: unknown): boolean =>
  isTooLarge(error) || (error instanceof Fault && error.code === 'not_stored');

/** Books the failure of a publish. */
export const bookFailed = (posting: Posting | undefined, error: unknown): void => {
  if (storesNothing(error)) posting?.notStored();
  else posting?.doubtful(false);
};
