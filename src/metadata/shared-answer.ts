const pieceBytes = 16_384;

/** Piece by piece, as its reader takes them. */
const inPieces = (bytes: Buffer<ArrayBuffer>): ReadableStream<Uint8Array<ArrayBuffer>> => {
  let sent = 0;
  return new ReadableStream(
    {
      pull: (controller) => {
        controller.enqueue(bytes.subarray(sent, sent + pieceBytes));
        sent += pieceBytes;
        if (sent >= bytes.length) controller.close();
      },
    },
    { highWaterMark: 0 },
  );
};

/**
 * An answer whose bytes many share. TLS copies what it is given and holds it until it is read, so it gets a piece at a time: anybody may ask for these
 * answers on many connections and read none.
 */
export const answerShared = (
  bytes: Buffer<ArrayBuffer>,
  status: number,
  headers: Readonly<Record<string, string>>,
): Response =>
  new Response(bytes.length > pieceBytes ? inPieces(bytes) : bytes, {
    status,
    headers: { ...headers, 'Content-Length': String(bytes.length) },
  });
