import { describe, expect, it } from 'vitest';
import { freeOwnBytes, ownBytes } from '../../../src/bus/owned-bytes.ts';

describe('bytes of one message', () => {
  it('of a large one are copied out of the read that brought them, once, and end when they are freed', () => {
    const read = new Uint8Array(64 * 1024).fill(7);
    const own = ownBytes(read.subarray(100, 20_100));
    expect(own).toEqual(new Uint8Array(20_000).fill(7));
    expect(own.buffer).not.toBe(read.buffer);
    expect(ownBytes(own.subarray(10))).toEqual(own.subarray(10));
    expect(ownBytes(own.subarray(10)).buffer).toBe(own.buffer);
    freeOwnBytes(own);
    expect(own).toHaveLength(0);
    expect(read).toHaveLength(64 * 1024);
  });

  it('of a small one stay where they are, and nothing frees what they share', () => {
    const read = new Uint8Array(64 * 1024);
    const shared = ownBytes(read.subarray(100, 200));
    expect(shared.buffer).toBe(read.buffer);
    freeOwnBytes(shared);
    expect(shared).toHaveLength(100);
  });
});
