import { describe, expect, it } from 'vitest';
import { streamNotRead } from '../../../src/account/difference.ts';
import { differenceText, joinedDays, storedText } from '../../../src/cli/differences.ts';

const difference = {
  kind: 'not_counted',
  items: 0,
  messages: 0,
  stream: 'TRACES',
  owners: [],
  from: 1_795_492_500,
  until: 1_795_492_560,
  is_open: true,
  reason: '',
};
const period = '2026-11-24 03:55:00Z to 2026-11-24 03:56:00Z';

describe('the text of a difference', () => {
  it('says of a receiver that ended without its last line whether anything was found', () => {
    expect(differenceText(difference)).toBe(
      `a receiver ended without its last line; no uncounted message of TRACES was found, ${period}`,
    );
    expect(differenceText({ ...difference, items: 3, messages: 1 })).toBe(
      `not counted by its receiver: 3 items in 1 message of TRACES, ${period}`,
    );
  });

  // Their items may be dropped or dead-lettered, and of rows of another program nothing was settled.
  it('says of unrecorded items that a line or a record lacks, and not that they are stored', () => {
    expect(differenceText({ ...difference, kind: 'unrecorded', items: 3, messages: 1 })).toBe(
      `without a line or record: 3 items in 1 message of TRACES, ${period}`,
    );
  });

  it('says of LEDGER whether it is behind or cannot be read', () => {
    const ledger = { ...difference, kind: 'not_known', stream: 'LEDGER' };
    expect(differenceText(ledger)).toBe(
      'not known: LEDGER is behind since 2026-11-24 03:55:00Z, newer items are not counted yet',
    );
    expect(differenceText({ ...ledger, reason: streamNotRead })).toBe(
      'not known: LEDGER cannot be read since 2026-11-24 03:55:00Z, newer items are not counted yet',
    );
  });

  it('names the stream of a data id that cannot be read', () => {
    const unread = { ...difference, kind: 'not_known', stream: 'METRICS-b', reason: streamNotRead };
    expect(differenceText(unread)).toBe(
      'not known: the stream METRICS-b cannot be read since 2026-11-24 03:55:00Z',
    );
  });

  it('takes the reason that rows were closed with for no fault of a stream, where more of them are open again', () => {
    const grown = { ...difference, kind: 'not_known', stream: 'METRICS', items: 3, reason: 'disk replaced' };
    expect(differenceText(grown)).toBe(`not known whether it is recorded: 3 items of METRICS, ${period}`);
    expect(differenceText({ ...grown, reason: streamNotRead })).toBe(differenceText(grown));
  });

  it('has the reason of one that was closed', () => {
    expect(differenceText({ ...difference, kind: 'stuck', items: 1, is_open: false, reason: 'known' })).toBe(
      `stuck in the stream: 1 item of TRACES, ${period} (closed: known)`,
    );
  });
});

// LEDGER that was purged, and a killed receiver, leave both of messages that are stored.
describe('messages without a line and an owner', () => {
  const gap = { ...difference, kind: 'lost_in_the_stream', messages: 3 };
  const rows = { ...difference, kind: 'unrecorded', owners: [24], items: 6 };

  it('may be stored where rows of the signal have no record', () => {
    const hint = ' (or stored, as rows of TRACES have no record)';
    expect(storedText(gap, [gap, rows])).toBe(hint);
    expect(storedText({ ...gap, stream: 'METRICS-b' }, [{ ...rows, stream: 'METRICS' }])).toBe(
      ' (or stored, as rows of METRICS have no record)',
    );
  });

  it('are lost where no such row is there', () => {
    expect(storedText(gap, [gap])).toBe('');
    expect(storedText(gap, [{ ...rows, stream: 'LOGS' }])).toBe('');
    // The books have their lines.
    expect(storedText(gap, [{ ...rows, messages: 1 }])).toBe('');
  });

  it('are lost where such rows are closed, or of days far from theirs', () => {
    const day = 86_400;
    const at = (from: number) => ({ ...rows, from, until: from + day });
    const near = at(gap.from - (gap.from % day));
    for (const each of [near, at(near.from - day), at(near.from + day)])
      expect(storedText(gap, [each])).not.toBe('');
    for (const each of [{ ...near, is_open: false }, at(near.from - 2 * day), at(near.from + 2 * day)])
      expect(storedText(gap, [each])).toBe('');
  });

  it('are no others', () => {
    for (const change of [{ owners: [24] }, { items: 6 }, { kind: 'stuck' }])
      expect(storedText({ ...gap, ...change }, [rows])).toBe('');
  });
});

const dayOf = (index: number) => ({
  ...difference,
  ...{ kind: 'not_known', stream: 'QuestDB', owners: [1_500_001], items: 2 },
  ...{ from: 1_795_478_400 + 86_400 * index, until: 1_795_478_400 + 86_400 * (index + 1) },
});

describe('differences of neighbouring days', () => {
  it('are one, with the items of all of them', () => {
    const [first, ...others] = joinedDays([0, 1, 2, 4].map(dayOf));
    expect([first, others]).toEqual([{ ...dayOf(0), items: 6, until: dayOf(2).until }, [dayOf(4)]]);
    expect(first === undefined ? '' : differenceText(first)).toBe(
      'not known whether it is recorded: 6 items of QuestDB, 2026-11-24 00:00:00Z to 2026-11-27 00:00:00Z',
    );
  });

  it('stay apart where they differ in more than their day', () => {
    const all = [
      ...[dayOf(0), { ...dayOf(1), kind: 'unrecorded' }],
      ...[
        { ...dayOf(2), kind: 'unrecorded', is_open: false, reason: 'known' },
        { ...dayOf(3), items: 0 },
      ],
    ];
    expect(joinedDays(all)).toEqual(all);
  });

  it('are one however the kinds of a day alternate', () => {
    const lost = (index: number) => ({ ...dayOf(index), kind: 'missing_in_the_store' });
    expect(joinedDays([dayOf(0), lost(0), dayOf(1), lost(1)])).toEqual([
      { ...dayOf(0), items: 4, until: dayOf(1).until },
      { ...lost(0), items: 4, until: lost(1).until },
    ]);
  });
});
