/** The first byte of every TLS handshake (RFC 8446 section 5.1); no method of HTTP begins with it. */
const handshakeRecord = 0x16;

/** Whether the first bytes of a connection to a port of plain HTTP begin a TLS handshake. */
export const isTlsRecord = (first: Buffer | undefined): boolean => first?.[0] === handshakeRecord;
