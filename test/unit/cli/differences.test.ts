import { describe, expect, it } from 'vitest';
import { differenceText } from '../../../src/cli/differences.ts';

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
      `a receiver ended without its last line: nothing of TRACES was found that it had not counted, ${period}`,
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

  it('has the reason of one that was closed', () => {
    expect(differenceText({ ...difference, kind: 'stuck', items: 1, is_open: false, reason: 'known' })).toBe(
      `stuck in the stream: 1 item of TRACES, ${period} (closed: known)`,
    );
  });
});
