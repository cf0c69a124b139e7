import { ClickHouseError } from '@clickhouse/client';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Fault } from '../../../../src/model/fault.ts';
import type { BlockWriter } from '../../../../src/stores/clickhouse/block-writer.ts';
import { logsTable } from '../../../../src/stores/clickhouse/item-tables.ts';
import { createBlocksSink } from '../../../../src/transfer/blocks/blocks-sink.ts';
import { isWide, tablesAndDaysMax } from '../../../../src/transfer/blocks/turns.ts';
import type { HeldMessage } from '../../../../src/transfer/held-message.ts';
import { type BlocksEnvelope, blocksReaderOf } from '../../../../src/wire/blocks-envelope.ts';
import { readBlock } from '../../../../src/wire/native/block-reader.ts';
import { logsMessage } from '../../../support/otlp/log-blocks.ts';

type Held = HeldMessage<BlocksEnvelope>;

const arrivedAt = Date.UTC(2026, 5, 1, 12);
const dayMs = 86_400_000;

const noMemory = (): Fault => {
  const cause = new ClickHouseError({ message: 'no memory', code: '241', type: 'MEMORY_LIMIT_EXCEEDED' });
  return new Fault('transient', 'clickhouse_unavailable', 'no memory', cause);
};

/** A message with a record on each of these days before the arrival, whose text is the name and the day. */
const messageOf = (name: string, streamSequence: number, first: number, days: number): Held => {
  const rows = Array.from({ length: days }, (_, index) => ({
    at: arrivedAt - (first + index) * dayMs,
    service: 's',
    body: `${name}${first + index}`,
  }));
  const base = 1_400_000_005_000_000n + BigInt(streamSequence) * 10_000n;
  const payload = logsMessage(rows, { base, appId: 7, arrivedAt });
  const read = blocksReaderOf('logs')(payload, 1);
  if (read.kind !== 'envelope') throw new Error(read.kind);
  const settle = { ack: () => {}, nak: () => {}, working: () => {}, free: () => {} };
  return {
    delivery: {
      ...{ payload, subject: 'logs.0', version: 1, streamSequence, redelivered: false, redrive: 0 },
      ...settle,
    },
    envelope: read.envelope,
    ...{ rows: days, bytes: payload.length, isWide: isWide(read.envelope.header), touchedAt: 0, takenAt: 0 },
  };
};

/** A sink that records each insert with its texts; `fail` may throw for one. */
const startSink = (fail: (text: string) => void = () => {}) => {
  const inserts: string[] = [];
  const bench = { inserts, isFresh: true };
  const record = (kind: string, blocks: readonly Uint8Array[]): void => {
    const text = `${kind} ${blocks.flatMap((block) => readBlock(block).texts('Body')).join(' ')}`;
    fail(text);
    inserts.push(text);
  };
  const writer: BlockWriter = {
    insertPlain: async ({ blocks }) => record('plain', blocks),
    insertGuarded: async ({ blocks }) => {
      record('guarded', blocks);
      return true;
    },
    killCovering: async () => 0,
    repairTraceLookup: async () => {},
    countRepeats: async () => 0,
    optimizeDay: async () => {},
  };
  const sink = createBlocksSink(
    [{ table: logsTable, writer, onOverlap: async () => {} }],
    { isFresh: () => bench.isFresh, holds: async () => true },
    {
      pipeline: 'logs',
      stream: 'LOGS',
      boot: 7,
      ackWaitMs: () => 30_000,
      elapsed: () => 0,
      guard: 'suspect',
    },
    { onGuarded: () => {}, onUnanswered: async () => {}, onUnclassified: () => {} },
  );
  const write = (batch: readonly Held[]) => sink.write(batch, () => {});
  /** Writes the batch and what it leaves, until nothing is left; the number of inserts of each write. */
  const writeAll = async (batch: readonly Held[]): Promise<number[]> => {
    const counts: number[] = [];
    for (let left = batch; left.length > 0; ) {
      const before = inserts.length;
      left = [...((await write(left)).unfinished ?? [])];
      counts.push(inserts.length - before);
    }
    return counts;
  };
  /** Writes a message, each time beside others, until it is settled or returned to NATS; its dead letters. */
  const deliver = async (message: Held, others: () => readonly Held[]): Promise<number> => {
    for (let batch: readonly Held[] = [message, ...others()]; ; ) {
      const written = await write(batch).catch((error: unknown) => {
        if (!(error instanceof Fault && error.kind === 'transient')) throw error;
        return undefined;
      });
      if (written === undefined) continue;
      if (!written.unfinished?.has(message)) return written.deadLettered.get(message)?.length ?? 0;
      batch = [message, ...others()];
    }
  };
  return Object.assign(bench, { write, writeAll, deliver });
};

const textsOf = (inserts: readonly string[]): string[] =>
  inserts.flatMap((insert) => insert.split(' ').slice(1));

// A day is an insert of a tenth of a second, and the items of all owners wait for the end of the write.
describe('messages of many days', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it('are written in turns of a bounded number of inserts, each item once and without the guard', async () => {
    const sink = startSink();
    const counts = await sink.writeAll([messageOf('a', 1, 0, 100), messageOf('b', 2, 50, 80)]);
    expect(counts).toEqual([32, 32, 32, 32, 2]);
    expect(textsOf(sink.inserts)).toHaveLength(180);
    expect(new Set(textsOf(sink.inserts)).size).toBe(180);
    expect(sink.inserts.every((insert) => insert.startsWith('plain '))).toBe(true);
  });

  // A tenth of a second is what an insert takes of an idle ClickHouse.
  it('are written in turns of about two seconds where inserts are slow, and messages of few days whole', async () => {
    const steady = Math.round(performance.now());
    let tookMs = 0;
    let insertMs = 250;
    vi.spyOn(performance, 'now').mockImplementation(() => steady + tookMs);
    const sink = startSink(() => {
      tookMs += insertMs;
    });
    expect(await sink.writeAll([messageOf('a', 1, 0, 16), messageOf('a', 9, 20, 16)])).toEqual([32]);
    expect(await sink.writeAll([messageOf('b', 2, 100, 40)])).toEqual([8, 8, 8, 8, 8]);
    insertMs = 2_000;
    expect(await sink.writeAll([messageOf('c', 3, 200, 16), messageOf('c', 10, 220, 16)])).toEqual([32]);
    expect(await sink.writeAll([messageOf('d', 4, 300, 17)])).toEqual([4, 4, 4, 4, 1]);
    insertMs = 50;
    expect(await sink.writeAll([messageOf('e', 5, 400, 100)])).toEqual([4, 32, 32, 32]);
  });

  // Its rows may be on their way: a later turn would take what is left out for rows that were never sent.
  it('have the tables and days of a turn at each of its tries, also where its inserts have become slow', async () => {
    const steady = Math.round(performance.now());
    let tookMs = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => steady + tookMs);
    let failures = 1;
    const sink = startSink((text) => {
      tookMs += 1_000;
      if (text === 'plain a31' && failures-- > 0)
        throw new Fault('transient', 'clickhouse_unavailable', 'away');
    });
    const wide = messageOf('a', 1, 0, 70);
    await expect(sink.write([wide])).rejects.toMatchObject({ kind: 'transient' });
    await sink.write([wide]);
    expect(textsOf(sink.inserts.slice(31))).toEqual(Array.from({ length: 32 }, (_, day) => `a${day}`));
  });

  it('let messages of few days pass: these are whole after the write, and the first that are inserted', async () => {
    const sink = startSink();
    const wide = messageOf('a', 1, 0, 200);
    const few = messageOf('b', 2, 300, 2);
    const { unfinished } = await sink.write([wide, few]);
    expect([...(unfinished ?? [])]).toEqual([wide]);
    expect(sink.inserts.slice(0, 2)).toEqual(['plain b300', 'plain b301']);
    expect(sink.inserts).toHaveLength(tablesAndDaysMax);
  });

  it('go on by half of each write at least, however many others come', async () => {
    const sink = startSink();
    const wide = messageOf('a', 1, 0, 48);
    const others = (turn: number) =>
      Array.from({ length: 40 }, (_, index) => messageOf('b', 100 * turn + index, 100 + index, 1));
    for (const turn of [1, 2]) expect((await sink.write([wide, ...others(turn)])).unfinished).toContain(wide);
    expect((await sink.write([wide, ...others(3)])).unfinished).not.toContain(wide);
  });

  it('are guarded only in the turn that had no known outcome', async () => {
    let failures = 1;
    const sink = startSink((text) => {
      if (text === 'plain a40' && failures-- > 0)
        throw new Fault('transient', 'clickhouse_unavailable', 'away');
    });
    const wide = messageOf('a', 1, 0, 70);
    await sink.write([wide]);
    await expect(sink.write([wide])).rejects.toMatchObject({ kind: 'transient' });
    await sink.write([wide]);
    await sink.write([wide]);
    const guarded = textsOf(sink.inserts.filter((insert) => insert.startsWith('guarded ')));
    expect([guarded.length, guarded[0], guarded.at(-1)]).toEqual([32, 'a32', 'a63']);
    expect(new Set(textsOf(sink.inserts)).size).toBe(70);
  });

  it('are guarded from the turn on before which the fence was raised', async () => {
    const sink = startSink();
    const wide = messageOf('a', 1, 0, 40);
    await sink.write([wide]);
    sink.isFresh = false;
    await sink.write([wide]);
    expect(sink.inserts.map((insert) => insert.split(' ')[0])).toEqual([
      ...Array.from({ length: 32 }, () => 'plain'),
      ...Array.from({ length: 8 }, () => 'guarded'),
    ]);
  });

  it('are dead-lettered at the fifth delivery where they fail in every turn while others are stored', async () => {
    const sink = startSink((text) => {
      if (text.includes(' bad')) throw noMemory();
    });
    let others = 100;
    let deliveries = 0;
    for (let letters = 0; letters === 0 && deliveries < 9; deliveries++)
      letters = await sink.deliver(messageOf('bad', 1, 100, 60), () => [messageOf('ok', others++, 0, 1)]);
    expect(deliveries).toBe(5);
  });

  it('are no proof against a message while the store refuses everything', async () => {
    const sink = startSink(() => {
      throw noMemory();
    });
    // More than twice as many as would be proof while the store takes others.
    for (let delivery = 0; delivery < 12; delivery++) {
      const wide = Array.from({ length: 8 }, (_, index) => messageOf('w', 10 + index, 300 * index + 10, 256));
      const letters = await sink.deliver(messageOf('few', 1, 0, 1), () => wide);
      expect(letters).toBe(0);
    }
  });

  it('are no proof against themselves by rows that an earlier turn has stored', async () => {
    const has = new Set<string>();
    const sink = startSink((text) => {
      const rows = text.split(' ').slice(1);
      if (rows.every((row) => has.has(row))) return;
      if (has.size >= tablesAndDaysMax) throw noMemory();
      for (const row of rows) has.add(row);
    });
    for (let delivery = 0; delivery < 9; delivery++)
      expect(await sink.deliver(messageOf('alone', 1, 100, 60), () => [])).toBe(0);
  });

  it('bring the dead letters of all turns with the last one', async () => {
    const sink = startSink((text) => {
      if (/ a(3|35)$/.test(text)) throw new Fault('permanent', 'clickhouse_rows_refused', 'no');
    });
    const wide = messageOf('a', 1, 0, 40);
    expect((await sink.write([wide])).deadLettered.size).toBe(0);
    const { deadLettered, unfinished } = await sink.write([wide]);
    expect(deadLettered.get(wide)?.map(({ uid }) => uid)).toEqual([
      1_400_000_005_010_003n,
      1_400_000_005_010_035n,
    ]);
    expect(unfinished?.size).toBe(0);
  });
});
