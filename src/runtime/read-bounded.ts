/** The text of a body; throws `tooLarge()` once it has more than this many bytes. */
export const readBounded = async (
  body: AsyncIterable<Uint8Array>,
  bytesMax: number,
  tooLarge: () => Error,
): Promise<string> => {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.byteLength;
    if (bytes > bytesMax) throw tooLarge();
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
};
