/** An answer without an end: none of it to a HEAD, whose caller would neither read the stream nor end it. */
export const endlessAnswer = async (
  type: 'text/event-stream' | 'application/x-ndjson',
  isHead: boolean,
  open: () => Promise<ReadableStream<Uint8Array>>,
): Promise<Response> =>
  new Response(isHead ? null : await open(), {
    headers: { 'Content-Type': type, 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' },
  });
