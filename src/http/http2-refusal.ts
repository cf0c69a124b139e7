import type { Duplex } from 'node:stream';

/** The code of Node's parser for the preface of HTTP/2 (RFC 9113 section 3.4), the first bytes of every gRPC client. */
export const http2PrefaceCode = 'HPE_PAUSED_H2_UPGRADE';

const settingsFrame = 4;
const goawayFrame = 7;
const http11Required = 0xd;

const frame = (type: number, payload: Buffer): Buffer => {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  return Buffer.concat([head, payload]);
};

/**
 * Ends a connection of HTTP/2 in its own language: a GOAWAY with HTTP_1_1_REQUIRED, whose debug data is `text`. Clients show
 * it to their user; an answer of HTTP/1.1 would be an unreadable frame to them.
 */
export const refuseHttp2 = (socket: Duplex, text: string): void => {
  const goaway = Buffer.alloc(8);
  goaway.writeUInt32BE(http11Required, 4);
  socket.end(
    Buffer.concat([
      frame(settingsFrame, Buffer.alloc(0)),
      frame(goawayFrame, Buffer.concat([goaway, Buffer.from(text)])),
    ]),
  );
};
