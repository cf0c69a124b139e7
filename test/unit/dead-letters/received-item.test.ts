import { describe, expect, it } from 'vitest';
import type { Letter } from '../../../src/dead-letters/dead-letter.ts';
import { createReceivedItemEncoder } from '../../../src/dead-letters/received-item.ts';
import type { Owners } from '../../../src/directory/owners.ts';
import { Fault } from '../../../src/model/fault.ts';
import * as push from '../../support/push/source.ts';

const letter: Letter = {
  sequence: 1,
  identity: '5:0',
  at: push.arrivedAt,
  keptAt: push.arrivedAt,
  bytes: Buffer.from(JSON.stringify({ metrics: { fresh: 1 }, timestamp: push.arrivedAt })),
  header: {
    version: 1,
    reason: 'deferred_item_valid',
    error: '',
    stream: 'METRICS',
    streamSequence: 1,
    subject: 'metrics.0',
    dataId: push.sourceWith('wide', []).dataId,
    uid: '5+0',
    redrive: 0,
    at: push.arrivedAt,
  },
};

/** What each read of the source brings, one after the other. */
const encoderOf = (...reads: readonly (readonly string[])[]) => {
  const left = reads.map((names) => push.sourceWith('wide', names));
  const registered: string[] = [];
  const owners: Owners = {
    source: async () => {
      const source = left.shift();
      return source && { source, state: 'enabled' };
    },
    application: async () => undefined,
    register: async (_, metrics) => {
      registered.push(...metrics);
    },
  };
  return { encode: createReceivedItemEncoder({ owners, retentionDays: {} }), registered };
};

describe('a point of a dead letter with a name that is new', () => {
  it('is encoded once the name is registered and read back', async () => {
    const { encode, registered } = encoderOf([], ['fresh']);
    const { bytes } = await encode(letter, { isForGood: true, isBegun: false });
    expect(registered).toEqual(['fresh']);
    expect(Buffer.from(bytes).toString('utf8')).toContain('fresh=1');
  });

  // A follower of a cluster may not have it yet: the row would go into the column of another name, or into the uid's.
  it('waits where a server does not have the name yet', async () => {
    const { encode } = encoderOf([], []);
    const error = await encode(letter, { isForGood: true, isBegun: false }).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(Fault);
    expect(error).toMatchObject({ kind: 'transient' });
  });

  it('is validated without registering anything where nothing is redriven', async () => {
    const { encode, registered } = encoderOf([]);
    await encode(letter, { isForGood: false, isBegun: false });
    expect(registered).toEqual([]);
  });
});
