/** Before each message: a byte of flags and four of length. */
export const prefixBytes = 5;

/** What the bytes before a message say of it. `flags`: 0 = as it is, 1 = compressed. */
export type Prefix = { readonly flags: number; readonly length: number };

export const prefixOf = (bytes: Buffer): Prefix => ({
  flags: bytes.readUInt8(0),
  length: bytes.readUInt32BE(1),
});

/** An uncompressed message with its prefix. */
export const frameOf = (message: Uint8Array): Buffer => {
  const frame = Buffer.alloc(prefixBytes + message.length);
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, prefixBytes);
  return frame;
};
