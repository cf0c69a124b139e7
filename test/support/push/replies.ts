import { deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { expect } from 'vitest';
import type { PushAnswer } from './client.ts';

/** The bytes of the answer for: every point was kept with all its values. */
export const plainSuccess = '{"code":"200","result":"true","message":""}';

/** Fails unless the answer is this JSON under the headers that every answer has. */
export const expectEnvelope = (answer: PushAnswer, expected: Record<string, unknown>): void => {
  expect(answer.json).toEqual(expected);
  expect(answer.headers['content-type']).toBe('application/json');
  expect(answer.headers['content-length']).toBe(String(Buffer.byteLength(answer.text)));
};

/** What a sender compresses with, by Content-Encoding. */
export const compressors = { gzip: gzipSync, deflate: deflateSync, zstd: zstdCompressSync } as const;
export const encodings = ['gzip', 'deflate', 'zstd'] as const;

/** The answer to a push with a key that was stored before. */
export const repeatReply = {
  code: '200',
  result: 'true',
  message:
    'received before: the request was stored and its points validated then; it is counted as duplicate_request and not stored again',
};
