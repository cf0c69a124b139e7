const quote = 0x22;
const backslash = 0x5c;

/** 1 for bytes that begin or separate parts of a JSON text, 2 for quotes. */
const kinds = new Uint8Array(256);
for (const mark of '{[,') kinds[mark.charCodeAt(0)] = 1;
kinds[quote] = 2;

/**
 * Whether a JSON text holds more objects, arrays, members and elements than this. Only strings, brackets and commas are read: for invalid JSON
 * the result is arbitrary, in the same time.
 */
export const hasMoreElements = (bytes: Uint8Array, elementsMax: number): boolean => {
  const end = bytes.length;
  let elements = 0;
  let at = 0;
  while (at < end) {
    const kind = kinds[bytes[at++] ?? 0];
    if (kind === 0) continue;
    if (kind === 1) {
      if (++elements > elementsMax) return true;
      continue;
    }
    while (at < end) {
      const byte = bytes[at++] ?? 0;
      if (byte === quote) break;
      if (byte === backslash) at++;
    }
  }
  return false;
};
