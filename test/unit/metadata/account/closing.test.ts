import { describe, expect, it } from 'vitest';
import type { FoundDifference } from '../../../../src/account/difference.ts';
import { notedClosing, nothingOpenText, openOf } from '../../../../src/metadata/account/closing.ts';

const one: FoundDifference = {
  ...{ kind: 'stuck', stream: 'METRICS', pipeline: 'metrics', dataId: 7, appId: 0, minute: 60 },
  ...{ items: 5, messages: 2, closedItems: 0, closedMessages: 0, reason: '' },
};
const closed = { ...one, minute: 120, closedItems: 5, closedMessages: 2, reason: 'known' };
const lost: FoundDifference = { ...one, kind: 'lost_in_the_stream', stream: 'METRICS_b' };
const ownerless = { ...one, dataId: 0 };
const ofApplication: FoundDifference = { ...one, stream: 'TRACES', pipeline: 'traces', dataId: 0, appId: 7 };
const unread: FoundDifference = { ...one, kind: 'not_known', items: 0, messages: 0 };
const all = [one, closed, lost, ownerless, ofApplication, unread];
const of7 = { dataId: 7, appId: undefined };

describe('a closing', () => {
  it.each([
    [of7, [one, lost]],
    [{ ...of7, kind: 'stuck' }, [one]],
    // It may hide a loss, so that nobody closes it beside another one.
    [{ ...of7, kind: 'not_known' }, [unread]],
    [{ ...of7, stream: 'METRICS_b' }, [lost]],
    [{ ...of7, kind: 'stuck', stream: 'METRICS_b' }, []],
    [{ dataId: undefined, appId: 7 }, [ofApplication]],
    [{ dataId: 0, appId: undefined }, [ownerless]],
    [{ dataId: undefined, appId: 0 }, [ownerless]],
  ])('%j closes what is open, of its owner, kind and stream alone', (closing, open) => {
    expect(openOf(closing, all)).toEqual(open);
  });

  it.each([
    [of7, 'data id 7 has no open difference'],
    [{ ...of7, kind: 'stuck' }, 'data id 7 has no open difference of kind stuck'],
    [
      { dataId: undefined, appId: 7, kind: 'stuck', stream: 'LOGS' },
      'application 7 has no open difference of kind stuck in stream LOGS',
    ],
    [{ dataId: 0, appId: undefined }, 'there is no open difference without a known owner'],
  ])('%j without anything open says so', (closing, text) => {
    expect(nothingOpenText(closing)).toBe(text);
  });

  it('is in the audit with its owner and its kinds', () => {
    expect(notedClosing(of7, [one, lost, lost], 'by hand')).toEqual({
      kind: 'account',
      id: 'data id 7',
      before: {
        stuck: { items: 5, messages: 2, is_open: true },
        lost_in_the_stream: { items: 10, messages: 4, is_open: true },
      },
      after: {
        stuck: { items: 5, messages: 2, is_open: false, reason: 'by hand' },
        lost_in_the_stream: { items: 10, messages: 4, is_open: false, reason: 'by hand' },
      },
    });
  });
});
