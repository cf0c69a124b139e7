import { describe, expect, it } from 'vitest';
import { runsMax } from '../../src/wire/otlp/trace-encoder.ts';
import { TooManySpans } from '../../src/wire/otlp/types.ts';
import { encodeJson, goodSpan } from '../support/trace-source.ts';

/** So many spans of one resource, two of which fill a message. */
const heavy = (spans: number) => ({
  resourceSpans: [
    {
      resource: {
        attributes: Array.from({ length: 8 }, (_, index) => ({
          key: `k${index}`,
          value: { stringValue: 'x'.repeat(60_000) },
        })),
      },
      scopeSpans: [{ spans: Array.from({ length: spans }, () => goodSpan) }],
    },
  ],
});

// A message repeats its resource: without a bound a body of 10 MB would be stored as more than 10 GB.
describe('a small body with a large resource', () => {
  it('is read up to so many messages', () => {
    expect(encodeJson(heavy(2 * runsMax)).runs).toHaveLength(runsMax);
  });

  it('is refused beyond', () => {
    expect(() => encodeJson(heavy(2 * runsMax + 1))).toThrow(TooManySpans);
  });
});
