import { describe, expect, it } from 'vitest';
import { judgeOrigin, linesSince } from '../../../src/cli/account-book.ts';

describe('the origin of a book', () => {
  it('is the installation of which this one is a copy, and no other', () => {
    expect(judgeOrigin('book.jsonl', 'aa', 'aa')).toBeUndefined();
    expect(() => judgeOrigin('book.jsonl', 'aa', 'bb')).toThrow('the book of another installation');
  });

  it('is said to be unchecked where the book or this installation does not show it', () => {
    expect(judgeOrigin('book.jsonl', 'aa', undefined)).toContain(
      'no key identity_key that can be read: it could',
    );
    expect(judgeOrigin('book.jsonl', undefined, 'bb')).toContain('book.jsonl does not name its installation');
    expect(judgeOrigin('book.jsonl', undefined, undefined)).toContain('could not be checked');
  });
});

// A clock that was ahead gave a book without lines, and no missing item was named.
describe('the lines of a book', () => {
  const now = new Date('2026-11-30T12:00:00.000Z');

  it('begin at the start of the backup by the clock of ClickHouse', () => {
    const times = {
      started_at: '2026-11-30T23:00:00.000Z',
      clickhouse_started_at: '2026-11-30T11:00:00.000Z',
    };
    expect(linesSince(times, now).toISOString()).toBe('2026-11-30T10:55:00.000Z');
  });

  it('begin two days earlier where only the machine of the backup gave the time', () => {
    const since = linesSince({ started_at: '2026-11-30T11:00:00.000Z' }, now);
    expect(since.toISOString()).toBe('2026-11-28T11:00:00.000Z');
  });

  it('are refused where the backup began after the time of ClickHouse', () => {
    const ahead = expect.objectContaining({ kind: 'permanent', code: 'clock_ahead' });
    const started_at = '2026-11-30T13:00:00.000Z';
    expect(() => linesSince({ started_at }, now)).toThrow(ahead);
    expect(() => linesSince({ started_at, clickhouse_started_at: started_at }, now)).toThrow(ahead);
  });
});
