import { describe, expect, it } from 'vitest';
import type { Letter } from '../../../src/dead-letters/dead-letter.ts';
import { createKeptDays, refuseOutlived } from '../../../src/dead-letters/outlived.ts';
import { dayMs } from '../../../src/model/time.ts';
import type { BlockPart } from '../../../src/wire/blocks-envelope.ts';

const letterOf = (stream: string, owner: { dataId?: number; appId?: number }): Letter => ({
  ...{ sequence: 7, at: 1, keptAt: 1, identity: '7', bytes: Buffer.alloc(0) },
  header: {
    ...{ version: 1, reason: 'block_refused', error: '', stream, streamSequence: 1, subject: '' },
    ...{ redrive: 0, at: 1, ...owner },
  },
});

describe('a dead letter that is older than a retention', () => {
  const letter = letterOf('TRACES', { appId: 4 });
  const partOf = (day: number): BlockPart => ({
    ...{ appId: 4, bizId: 1, day, rows: 1, base: '1', first: 0, last: 0, bytes: 1 },
    ...{ timeMin: '0', timeMax: '0' },
  });
  const refuse = (day: number, keptDays: number | undefined) => () =>
    refuseOutlived(letter, partOf(day), keptDays, 100.5 * dayMs);

  // The last day of which a moment is not longer ago than the retention is kept by the stores.
  it('is refused once its whole day is longer ago, and not before', () => {
    expect(refuse(69, 30)).toThrow('dead letter 7 is older than the retention of 30 days');
    expect(refuse(70, 30)).not.toThrow();
    expect(refuse(1, undefined)).not.toThrow();
  });
});

describe('the retention of the owner of a dead letter', () => {
  const read = (stored: unknown, traces?: number) =>
    createKeptDays({
      records: { get: async () => ({ value: stored, revision: 1 }) },
      retentionDays: { traces },
    });
  const ofSource = letterOf('METRICS-second', { dataId: 1 });
  const ofApplication = letterOf('TRACES', { appId: 4 });

  it.each([
    ['one that was set', { retention_days: 30, retention_days_initial: 90 }, 30],
    ['not the default of the deployment', { retention_days_initial: 90 }, undefined],
    ['none where rows are kept for ever', { retention_days: null, retention_days_initial: 90 }, undefined],
    ['none without a policy', undefined, undefined],
  ])('is %s', async (_, policy, days) => {
    expect(await read(policy)(ofSource)).toBe(days);
    expect(await read(policy)(ofApplication)).toBe(days);
  });

  it('is that of the tables where it is shorter, for the signals of an application', async () => {
    expect(await read({ retention_days: 30 }, 7)(ofApplication)).toBe(7);
    expect(await read({ retention_days: 30 }, 60)(ofApplication)).toBe(30);
    expect(await read(undefined, 60)(ofApplication)).toBe(60);
    expect(await read(undefined, 60)(ofSource)).toBeUndefined();
  });
});
