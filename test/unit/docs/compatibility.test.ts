import { describe, expect, it } from 'vitest';
import { decodeBlocksEnvelope } from '../../../src/wire/blocks-envelope.ts';
import { envelopeVersion } from '../../../src/wire/frame.ts';
import { decodeEnvelope } from '../../../src/wire/metrics-envelope.ts';
import { envelopeFixtures } from '../../support/outcomes/envelope-fixtures.ts';

const fixtures = [...envelopeFixtures()];

describe('a message that an earlier version wrote', () => {
  // What is in the streams during an upgrade was written by the version before.
  it.each(fixtures)('%s is read, with all its sections', (_, { signal, version, message, header }) => {
    const payload = Buffer.from(message, 'base64');
    const read =
      signal === 'metrics' ? decodeEnvelope(payload, version) : decodeBlocksEnvelope(payload, version);
    if (read.kind !== 'envelope') throw new Error(read.kind);
    expect(read.envelope.header).toMatchObject(header);
    const { partBytes, deferredBytes } = read.envelope;
    expect([partBytes.length, deferredBytes.length]).toEqual([1, 1]);
    expect([...partBytes, ...deferredBytes].every((bytes) => bytes.length > 0)).toBe(true);
  });

  it('there is one of each signal for the version that is written now', () => {
    const now = fixtures.filter(([, { version }]) => version === envelopeVersion);
    expect(now.map(([, { signal }]) => signal).toSorted()).toEqual(['metrics', 'traces']);
  });
});
