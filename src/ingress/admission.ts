/** Request bytes that one process holds at once; above the limit receivers answer 503 before they read. */
export type BytesInFlight = {
  /** Takes room for so many bytes; false when there is none. */
  tryTake(bytes: number): boolean;
  give(bytes: number): void;
  readonly held: number;
};

export const createBytesInFlight = (bytesMax: number, onChange: (held: number) => void): BytesInFlight => {
  let held = 0;
  return {
    tryTake: (bytes) => {
      // One request alone may always enter, or a limit below the largest body would refuse it for ever.
      if (held > 0 && held + bytes > bytesMax) return false;
      held += bytes;
      onChange(held);
      return true;
    },
    give: (bytes) => {
      held -= bytes;
      onChange(held);
    },
    get held() {
      return held;
    },
  };
};
