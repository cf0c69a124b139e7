import { expect, it } from 'vitest';
import { requireRead } from '../../../src/dead-letters/admin.ts';

// It would wait there, out of sight of who redrove it.
it('a dead letter is not redriven to the stream of an instance that no setting names', () => {
  const isRead = (stream: string): boolean => stream === 'METRICS';
  expect(() => requireRead({ sequence: 7, header: { stream: 'METRICS' } }, { isRead })).not.toThrow();
  expect(() => requireRead({ sequence: 8, header: { stream: 'METRICS-b' } }, { isRead })).toThrow(
    /dead letter 8 goes to stream METRICS-b.*TIDEMARK_QUESTDB_URLS/,
  );
});
