import { describe, expect, it } from 'vitest';
import { type Letter, type LetterFilter, matches } from '../../../src/dead-letters/dead-letter.ts';

const letterOf = (stream: string, at = 1_000): Letter => ({
  sequence: 1,
  at,
  keptAt: at,
  identity: 'a',
  header: {
    version: 1,
    reason: 'row_refused',
    error: 'refused',
    stream,
    streamSequence: 1,
    subject: 'any',
    redrive: 0,
    at,
  },
  bytes: Buffer.alloc(0),
});

const streamsOf = (pipeline: LetterFilter['pipeline']): string[] =>
  ['METRICS', 'METRICS-b', 'TRACES', 'LEDGER'].filter((stream) => matches(letterOf(stream), { pipeline }));

describe('a filter of dead letters', () => {
  it('by pipeline matches those of its streams alone, of every QuestDB instance', () => {
    expect(streamsOf('metrics')).toEqual(['METRICS', 'METRICS-b']);
    expect(streamsOf('traces')).toEqual(['TRACES']);
    expect(streamsOf('ledger')).toEqual(['LEDGER']);
    expect(streamsOf(undefined)).toHaveLength(4);
  });

  it('by time matches from its beginning on and before its end', () => {
    const found = [999, 1_000, 1_999, 2_000].filter((at) =>
      matches(letterOf('TRACES', at), { since: 1_000, until: 2_000 }),
    );
    expect(found).toEqual([1_000, 1_999]);
  });
});
