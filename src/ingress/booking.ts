import type { Published } from '../bus/publisher.ts';
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

/** Books the failure of a publish. */
export const bookFailed = (posting: Posting | undefined, error: unknown): void => {
  if (error instanceof Fault && error.code === 'not_stored') posting?.notStored();
  else posting?.doubtful(false);
};
