import { describe, expect, it } from 'vitest';
import { applicationPipelines, ownerColumns, type Pipeline, pipelines } from '../../../src/model/signals.ts';
import { createRedaction } from '../../../src/outcomes/redaction.ts';
import type { UsageLine } from '../../../src/outcomes/rows.ts';
import { createUsageBook, type UsageBookOptions } from '../../../src/outcomes/usage-book.ts';

const minuteAt = 29_668_400 * 60_000;
const token = '0123456789abcdef0123456789abcdef';

const setUp = (options: Partial<UsageBookOptions> = {}) => {
  const clock = { ms: minuteAt };
  const book = createUsageBook({
    life: () => 77,
    redaction: createRedaction((text) => text === token),
    now: () => clock.ms,
    ...options,
  });
  const add = (owner: number, at: number, sdk = 'agent/1', secrets: readonly string[] = []): void =>
    book.add('metrics', owner, minuteAt + at, 10, 25, { address: '10.0.0.7', sdk, secrets });
  const flush = () => {
    clock.ms += 5_000;
    const lines = book.take();
    book.written();
    return lines;
  };
  return { book, clock, add, flush };
};

describe('the usage of an owner', () => {
  it('counts requests, bytes, the busiest second and the last sender of each minute', () => {
    const { book, add, flush } = setUp();
    for (const at of [1_000, 1_400, 2_100, 1_900, 59_999, 60_000]) add(7, at);
    book.add('traces', 7, minuteAt, 1, 2, { address: '::1', sdk: '', secrets: [] });
    expect(flush()).toEqual([
      {
        ...{ pipeline: 'metrics', data_id: 7, app_id: 0, minute: '2026-05-30 01:20:00' },
        ...{ life: 77, line: 1, version: 1 },
        ...{ requests: 5, wire_bytes: 50, inflated_bytes: 125, second_max: 3 },
        ...{ last_at: '2026-05-30 01:20:59.999', sender: '10.0.0.7', sdk: 'agent/1' },
      },
      expect.objectContaining({ data_id: 7, minute: '2026-05-30 01:21:00', line: 2, requests: 1 }),
      expect.objectContaining({
        pipeline: 'traces',
        data_id: 0,
        app_id: 7,
        wire_bytes: 1,
        inflated_bytes: 2,
      }),
    ]);
  });

  // The rate limit counts the signals of an application together.
  it('has the busiest second of all signals of an application together, and no request of a data id with its number', () => {
    const { book, add, flush } = setUp();
    const sender = { address: '::1', sdk: '', secrets: [] };
    const send = (pipeline: Pipeline, owner: number): void =>
      book.add(pipeline, owner, minuteAt + 1_000, 1, 2, sender);
    for (let count = 0; count < 400; count++) for (const pipeline of applicationPipelines) send(pipeline, 7);
    add(7, 1_000);
    send('traces', 8);
    const maxOf = (lines: readonly UsageLine[], id: Partial<UsageLine>): number =>
      Math.max(
        ...lines
          .filter((line) => line.data_id === (id.data_id ?? 0) && line.app_id === (id.app_id ?? 0))
          .map(({ second_max }) => second_max),
      );
    const lines = flush();
    expect(maxOf(lines, { app_id: 7 })).toBe(1_200);
    expect(maxOf(lines, { data_id: 7 })).toBe(1);
    expect(maxOf(lines, { app_id: 8 })).toBe(1);
  });

  it('is written when it changed, cumulative under a higher version, and not more often than every five seconds', () => {
    const { book, clock, add, flush } = setUp();
    add(7, 0);
    clock.ms += 4_999;
    expect(book.take()).toEqual([]);
    expect(flush()).toMatchObject([{ requests: 1, version: 1 }]);
    expect(flush()).toEqual([]);
    add(7, 1);
    expect(flush()).toMatchObject([{ line: 1, requests: 2, version: 2 }]);
    add(7, 2);
    book.end();
    expect(book.take()).toMatchObject([{ requests: 3, version: 3 }]);
  });

  it('is due again after a failed flush, with what came meanwhile', () => {
    const { book, clock, add, flush } = setUp();
    add(7, 0);
    add(8, 0);
    clock.ms += 5_000;
    expect(book.take()).toHaveLength(2);
    add(7, 1);
    clock.ms += 5_000;
    expect(book.take()).toEqual([]);
    book.failed();
    expect(flush()).toMatchObject([
      { data_id: 7, requests: 2, version: 2 },
      { data_id: 8, requests: 1, version: 2 },
    ]);
  });

  it.each(pipelines)('leaves memory with its minute, once it is written: %s', (pipeline) => {
    const { book, clock, flush } = setUp({ linesMax: 1 });
    const sender = { address: '::1', sdk: '', secrets: [] };
    book.add(pipeline, 7, minuteAt, 1, 2, sender);
    clock.ms = minuteAt + 90_000;
    // Not written yet: the next owner of this minute finds no room.
    book.add(pipeline, 8, minuteAt, 1, 2, sender);
    expect(flush()).toMatchObject([{ requests: 1 }, { data_id: 0, app_id: 0, requests: 1 }]);
    book.add(pipeline, 9, minuteAt + 90_000, 1, 2, sender);
    expect(flush()).toMatchObject([ownerColumns(pipeline, 9)]);
  });

  // A late request would otherwise replace the counts of its minute.
  it('goes on in another line of its minute once that minute has left memory', () => {
    const { clock, add, flush } = setUp();
    add(7, 0);
    expect(flush()).toMatchObject([{ line: 1 }]);
    clock.ms = minuteAt + 90_000;
    flush();
    add(7, 1);
    expect(flush()).toMatchObject([{ minute: '2026-05-30 01:20:00', line: 2, requests: 1 }]);
  });

  it('is counted for owner 0 beyond the bound of lines, which falls with time', () => {
    const { clock, add, flush } = setUp({ linesMax: 2 });
    for (const owner of [1, 2, 3, 4]) add(owner, 0);
    expect(flush().map(({ data_id, requests }) => [data_id, requests])).toEqual([
      [1, 1],
      [2, 1],
      [0, 2],
    ]);
    clock.ms = minuteAt + 90_000;
    flush();
    add(9, 90_000);
    expect(flush()).toMatchObject([{ data_id: 9 }]);
  });

  it('names its sender without secrets and in bounded length', () => {
    const { add, flush } = setUp();
    add(7, 0, `agent token=${token}`);
    add(8, 0, `agent ${token}`);
    add(9, 0, 'agent its-own-secret', ['its-own-secret']);
    add(10, 0, 'x'.repeat(10_000));
    const lines = flush();
    expect(JSON.stringify(lines)).not.toMatch(new RegExp(`${token}|its-own-secret`));
    expect(Buffer.byteLength(lines[3]?.sdk ?? '')).toBeLessThanOrEqual(128);
  });

  it('waits for the first epoch of the process, and keeps it', () => {
    const epoch: { now: number | undefined } = { now: undefined };
    const { add, flush } = setUp({ life: () => epoch.now });
    add(7, 0);
    expect(flush()).toEqual([]);
    epoch.now = 5;
    expect(flush()).toMatchObject([{ life: 5, requests: 1 }]);
    epoch.now = 6;
    add(7, 1);
    expect(flush()).toMatchObject([{ life: 5, requests: 2 }]);
  });
});
