import type { Writable } from 'node:stream';

/** More bytes than this go out before the turn ends. */
const gatheredBytesMax = 256 * 1024;

/** What can hold back its writes. */
type Holding = Pick<Writable, 'cork' | 'uncork'>;

/**
 * Holds back the writes of a stream until the present turn of the event loop ends, so that the messages of one turn go out in one
 * system call, and their receiver handles them together. Call it before each write with its number of bytes. `streamOf` gives the
 * present stream, or undefined where none can hold back.
 */
export const createTurnGathering = (streamOf: () => Holding | undefined): ((bytes: number) => void) => {
  let held: Holding | undefined;
  let gathered = 0;
  const end = (): void => {
    held?.uncork();
    held = undefined;
  };
  return (bytes) => {
    if (held !== undefined && gathered > gatheredBytesMax) end();
    if (held === undefined) {
      held = streamOf();
      gathered = 0;
      held?.cork();
      // A turn that went out before its end has one of these too many; it ends the next gathering a little early.
      if (held !== undefined) setImmediate(end);
    }
    gathered += bytes;
  };
};
