import { afterEach, describe, expect, it, vi } from 'vitest';
import type { AdminClient } from '../../../src/cli/client.ts';
import { type Line, lineLines, short, span } from '../../../src/cli/line.ts';
import { cut, frameOf } from '../../../src/cli/output.ts';
import { follow, fullScreen } from '../../../src/cli/top.ts';
import type { LineProcess } from '../../../src/metadata/answers/line.ts';
import { Fault } from '../../../src/model/fault.ts';

const process: LineProcess = {
  id: '0123456789abcdef',
  role: 'transfer',
  host: 'transfer-7f9c4bb7d6-abcde',
  pid: 12_345,
  version: '10.10.10',
  started_at: 1_799_999_000,
  state: 'not_ready',
  silent_seconds: 0,
  failing: [],
  degraded: [],
  items_per_second: 123_456,
  bytes_per_second: 123_456_789,
  dropped_per_second: 123.4,
  refused_per_second: 123.4,
  dead_lettered_per_second: 0,
  dropped: [],
  bytes_in_flight: null,
  connections: null,
  pipelines: [],
  cpu: 1.23,
  event_loop_p99_ms: 1_234,
  rss_bytes: 123_456_789,
};

const terms = {
  received: 9,
  stored: 7,
  dropped: 1,
  dead_lettered: 0,
  repeated: 0,
  lost: 0,
  stuck: 0,
  unrecorded: 0,
};

const line: Line = {
  at: 1_800_000_000,
  nats_connected: true,
  troubles: [
    {
      code: 'table_suspended',
      severity: 'page',
      text: `table \u001b[31m\nred\u202e`,
      remedy: 'Repair it.',
      runbook: 'docs/runbook.md#x',
    },
  ],
  totals: {
    accepted_items_per_second: 123_456,
    accepted_bytes_per_second: 123_456_789,
    refused_requests_per_second: 1,
    stored_items_per_second: 123_456,
    dropped_items_per_second: 123.4,
    dead_lettered_items_per_second: 123.4,
  },
  nodes: [{ id: 'receiver:push', kind: 'receiver', name: 'push' }],
  edges: [
    { from: 'receiver:push', to: 'stream:METRICS', items_per_second: 12_345, bytes_per_second: null },
    { from: 'receiver:push', to: 'stream:LEDGER', items_per_second: null, bytes_per_second: null },
  ],
  streams: [
    {
      stream: 'DEADLETTER',
      ...{ consumer: null, bytes: 1, bytes_max: 9, waiting_pulls: 0, read_seconds_ago: 0 },
      ...{ messages_in_per_second: null, growth_bytes_per_second: null },
      state: 'read',
      messages: 123_456,
      fill: 0.123,
      oldest_age_seconds: 99_999,
      pending: 123_456,
      ack_pending: 123_456,
      redelivered: 123_456,
      seconds_to_full: 99_999,
    },
  ],
  stores: [{ store: 'questdb', instance: 'default', ready: false, why: 'no answer' }],
  processes: [process],
  account: {
    ...{ since: 1_799_996_400, until: 1_800_000_000, wrong_owners: 0 },
    metrics: { ...terms, in_flight: 1 },
    traces: { ...terms, received: 8, in_flight: 0 },
    logs: { ...terms, received: 8, in_flight: 0 },
    adds_up: true,
    differences: [],
  },
  account_why: null,
};

describe('the line in a terminal', () => {
  it('fits into 80 columns, and shows troubles with their remedy before rates', () => {
    const lines = lineLines(line);
    const tables = lines.filter((text) => !text.includes('red'));
    expect(Math.max(...tables.map((text) => [...text].length))).toBeLessThanOrEqual(80);
    const place = (start: string): number => lines.findIndex((text) => text.startsWith(start));
    expect(place('!! table')).toBeLessThan(place('LINE'));
    expect(lines).toContain('  points       9 = 7 stored + 1 dropped + 0 dead-lettered + 1 in flight');
    expect(lines).toContain('  log records  8 = 7 stored + 1 dropped + 0 dead-lettered');
    expect(lines).toContain('push → stream:METRICS  12.3k    –');
    expect(lines.filter((text) => text.includes('LEDGER'))).toEqual([]);
  });

  it('never says that nothing is wrong while it is not known whether the last hour adds up', () => {
    const calm = { ...line, troubles: [] };
    const known = line.account ?? undefined;
    expect(lineLines(calm)).toContain('no troubles');
    for (const unknown of [
      { ...calm, account: null },
      { ...calm, account_why: 'no answer' },
      { ...calm, account: known === undefined ? null : { ...known, adds_up: null } },
    ]) {
      expect(lineLines(unknown)).not.toContain('no troubles');
      expect(lineLines(unknown)).toContain('no other troubles; whether the last hour adds up is not known');
    }
    const late = known === undefined ? null : { ...known, adds_up: null };
    expect(lineLines({ ...calm, account: late })).toContain(
      'the last hour is not known: the books, or rows in a store, cannot be read now, or lines still wait in LEDGER',
    );
  });

  // The names of tables, and the reasons of stores, were written by others.
  it('keeps what others wrote within its line, and nothing of it steers the terminal', () => {
    expect(lineLines(line)).toContain('!! table \\u{1b}[31m\\u{a}red\\u{202e}');
  });

  it('draws as many lines as there is room for, cut to its width, with a note below', () => {
    const frame = frameOf(['a'.repeat(20), 'b\u001b[31m', 'c', 'd'], 'away', 10, 3);
    expect(frame).toBe('\u001b[Haaaaaaaaa…\u001b[K\r\nb\\u{1b}[3…\u001b[K\r\n-- away\u001b[K\u001b[J');
    expect(cut('äöü', 3)).toBe('äöü');
  });

  it.each([
    [0, '0'],
    [12.345, '12.3'],
    [999.4, '999'],
    [999.6, '1k'],
    [1_234_567, '1.23M'],
    [null, '–'],
  ])('writes %j as %s', (value, text) => {
    expect(short(value)).toBe(text);
  });

  it.each([
    [45, '45s'],
    [600, '10m'],
    [10_800, '3h'],
    [864_000, '10d'],
  ])('writes %d s as %s', (seconds, text) => {
    expect(span(seconds)).toBe(text);
  });
});

const full = new Fault('transient', 'too_many_readers', 'all places of readers are taken');
const away = new Fault('transient', 'admin_unreachable', 'the admin API is away');
const refused = new Fault('permanent', 'unauthorized', 'the token is revoked');

/** Follows while the stream and the polls end thus, and gives what was said and shown, and what ended it. */
const followed = async (streams: Fault[], polls: (Fault | Line)[]): Promise<unknown[]> => {
  vi.useFakeTimers();
  const seen: unknown[] = [];
  const client: AdminClient = {
    ask: async (schema) => {
      const json = polls.shift() ?? refused;
      if (json instanceof Fault) throw json;
      return { value: schema.parse(json), json };
    },
    follow: () => Promise.reject(streams.shift() ?? refused),
  };
  const screen = { show: (shown: unknown) => seen.push(shown), say: (text: string) => seen.push(text) };
  const ended = follow(client, screen).catch((error: unknown) => seen.push(error));
  await vi.advanceTimersByTimeAsync(60_000);
  await ended;
  return seen;
};

describe('the line on the whole terminal', () => {
  const drawn = () => {
    const frames: { readonly lines: readonly string[]; readonly note: string }[] = [];
    const screen = fullScreen((frame) => ({ draw: () => void frames.push(frame()), close: () => {} }));
    return { frames, screen };
  };

  it('shows texts of a newer metadata as they are', () => {
    const { frames, screen } = drawn();
    const newer = {
      ...line,
      account: null,
      processes: [{ ...process, role: 'gateway', state: 'draining' }],
      streams: line.streams.map((each) => ({ ...each, state: 'sealed' })),
      troubles: line.troubles.map((each) => ({ ...each, severity: 'note' })),
    };
    screen.show(newer);
    const text = frames.at(-1)?.lines.join('\n');
    expect(frames.at(-1)?.note).toBe('');
    for (const each of ['gateway', 'draining', 'sealed', '!  table']) expect(text).toContain(each);
  });

  it('says that it cannot read the line, until it can again', () => {
    const { frames, screen } = drawn();
    screen.show(line);
    screen.show({ ...line, streams: null });
    expect(frames[1]).toEqual({ lines: frames[0]?.lines, note: expect.stringContaining('cannot be read') });
    screen.show(line);
    expect(frames[2]?.note).toBe('');
  });
});

describe('the line that is followed', () => {
  afterEach(() => void vi.useRealTimers());

  it('is polled where no further reader is let in, through a restart of metadata, until it is refused', async () => {
    const note = 'too many readers: shown every 5 seconds';
    expect(await followed([full, full, away, full], [line, away, line])).toEqual([
      ...[line, note],
      away.message,
      away.message,
      ...[line, note],
      refused,
    ]);
    expect(await followed([full], [refused])).toEqual([refused]);
  });

  it('ends where the first call fails', async () => {
    expect(await followed([away], [])).toEqual([away]);
  });

  // The last figures look as healthy as they were.
  it('names the time without figures every five seconds, until the next ones', async () => {
    vi.useFakeTimers();
    const seen: unknown[] = [];
    const client: AdminClient = {
      ask: () => Promise.reject(refused),
      follow: async (_, onOpen, onLine) => {
        onOpen();
        for (const waitMs of [1_000, 4_000, 11_000, 1_000]) {
          await new Promise((resolve) => setTimeout(resolve, waitMs));
          for (const text of ['event: line', 'data: "figures"']) onLine(text);
        }
        throw refused;
      },
    };
    const screen = { show: (shown: unknown) => seen.push(shown), say: (text: string) => seen.push(text) };
    const ended = follow(client, screen).catch((error: unknown) => seen.push(error));
    await vi.advanceTimersByTimeAsync(60_000);
    await ended;
    expect(seen).toEqual([
      ...['', 'figures', 'figures', 'no figures for 5 s', 'no figures for 10 s', '', 'figures', 'figures'],
      refused,
    ]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('names the whole time without figures over several connections', async () => {
    vi.useFakeTimers();
    const seen: unknown[] = [];
    let connections = 0;
    const client: AdminClient = {
      ask: () => Promise.reject(refused),
      follow: async (_, onOpen, onLine) => {
        onOpen();
        if (++connections === 1) for (const text of ['event: line', 'data: "figures"']) onLine(text);
        if (connections > 3) throw refused;
        await new Promise((resolve) => setTimeout(resolve, 9_000));
        throw away;
      },
    };
    const screen = { show: (shown: unknown) => seen.push(shown), say: (text: string) => seen.push(text) };
    const ended = follow(client, screen).catch((error: unknown) => seen.push(error));
    await vi.advanceTimersByTimeAsync(60_000);
    await ended;
    // A second passes between two connections.
    const [first, second, third] = [5, 15, 25].map((seconds) => `no figures for ${seconds} s`);
    expect(seen).toEqual([
      ...['', 'figures', first, away.message],
      ...['', second, away.message],
      ...['', third, away.message],
      ...['', refused],
    ]);
  });
});
