/** Fewer pieces may be of any length: a body may be short, and its last piece too. */
const piecesFree = 4_096;
const bytesMin = 64;

/**
 * Counts the pieces in which a body arrives: true from the piece on with which they are many and short on the average. A piece costs
 * microseconds however short it is, and each chunk of a body is one, so that such a body costs hundreds of times as much as another of its size.
 */
export const createPieceCheck = (): ((length: number) => boolean) => {
  let pieces = 0;
  let bytes = 0;
  return (length) => {
    pieces++;
    bytes += length;
    return pieces > piecesFree && bytes < pieces * bytesMin;
  };
};

/** The detail of its refusal. */
export const tooManyPieces = `the body comes in more than ${piecesFree} pieces of less than ${bytesMin} bytes on the average: send larger chunks`;
