import { describe, expect, it } from 'vitest';
import {
  type BlocksHeader,
  decodeBlocksEnvelope,
  encodeBlocksEnvelope,
} from '../../../src/wire/blocks-envelope.ts';
import { encodeFrame, envelopeVersion } from '../../../src/wire/frame.ts';
import { decodeEnvelope } from '../../../src/wire/metrics-envelope.ts';

const header: BlocksHeader = {
  version: envelopeVersion,
  kind: 'spans',
  arrivedAt: 1,
  key: { base: '7', first: 0 },
  mayOverlap: true,
  parts: [
    {
      ...{ appId: 1, bizId: -2, day: 20_000, rows: 1, base: '7', first: 0, last: 0 },
      ...{ timeMin: '5', timeMax: '5', bytes: 3 },
    },
  ],
  deferred: [
    {
      ...{ appId: 1, arrivedAt: 1, base: '7', ordinals: [1], bytes: 2 },
      policy: { aheadMsMax: 1, ageMsMax: undefined, ttlSeconds: undefined },
    },
  ],
  outcomes: [{ appId: 1, dropped: { timestamp_too_old: 2 } }],
};
const sections = [Buffer.from('abc'), Buffer.from('[]')];

describe('an envelope of spans', () => {
  it('comes back as it was encoded', () => {
    const read = decodeBlocksEnvelope(encodeBlocksEnvelope(header, sections), undefined);
    expect(read).toEqual({
      kind: 'envelope',
      envelope: {
        header: JSON.parse(JSON.stringify(header)),
        partBytes: sections.slice(0, 1),
        deferredBytes: sections.slice(1),
      },
    });
  });

  it('is none of points, nor the other way round', () => {
    expect(decodeEnvelope(encodeBlocksEnvelope(header, sections), undefined)).toMatchObject({
      kind: 'unreadable',
    });
  });

  // What is let through here is trusted by everything behind it.
  it.each([
    { kind: 'metrics' },
    { arrivedAt: '1' },
    { key: { base: 7, first: 0 } },
    { mayOverlap: 'yes' },
    { parts: {} },
    { parts: [{ ...header.parts[0], appId: -1 }] },
    { parts: [{ ...header.parts[0], timeMin: 5 }] },
    { deferred: [{ ...header.deferred[0], appId: undefined }] },
    { deferred: [{ ...header.deferred[0], ordinals: ['1'] }] },
    { deferred: [{ ...header.deferred[0], policy: null }] },
    { outcomes: [{ dataId: 1, dropped: {} }] },
    { outcomes: [{ appId: 1, dropped: { timestamp_too_old: -1 } }] },
    { redrive: { number: 1 } },
  ])('is unreadable with %j in its header', (change) => {
    expect(decodeBlocksEnvelope(encodeFrame({ ...header, ...change }, sections), undefined)).toEqual({
      kind: 'unreadable',
      why: 'the header does not match version 1',
    });
  });
});
