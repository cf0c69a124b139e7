import { ClickHouseError } from '@clickhouse/client';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { buildItemsMessage } from '../../../../src/ingress/otlp/publish.ts';
import { Fault } from '../../../../src/model/fault.ts';
import { countedBase } from '../../../../src/model/uid.ts';
import { jsonTraces } from '../../../../src/rules/spans/json-traces.ts';
import type { BlockWriter } from '../../../../src/stores/clickhouse/block-writer.ts';
import { toFault, unreadableTable } from '../../../../src/stores/clickhouse/faults.ts';
import { spansTable } from '../../../../src/stores/clickhouse/item-tables.ts';
import { type BlocksSinkOptions, createBlocksSink } from '../../../../src/transfer/blocks/blocks-sink.ts';
import { halvesOf, piecesOf, refusedBlock } from '../../../../src/transfer/blocks/pieces.ts';
import { validateItems } from '../../../../src/transfer/blocks/validate-items.ts';
import type { HeldMessage } from '../../../../src/transfer/held-message.ts';
import { type BlocksEnvelope, decodeBlocksEnvelope } from '../../../../src/wire/blocks-envelope.ts';
import { readBlock, UnreadableBlock } from '../../../../src/wire/native/block-reader.ts';
import { defaultItemLimits } from '../../../../src/wire/otlp/types.ts';
import { partDays } from '../../../../src/wire/part-days.ts';
import { defaultTimePolicy } from '../../../support/time-policy.ts';

const arrivedAt = Date.UTC(2026, 5, 1, 12);
const daySeconds = 86_400;

/** A message of one span on each of these days before the arrival. */
const messageOf = (
  sequence: number,
  daysBefore: readonly number[],
  redelivered = false,
  mayOverlap = false,
): HeldMessage<BlocksEnvelope> => {
  const spans = daysBefore.map((days, index) => {
    const start = `${arrivedAt / 1000 - days * daySeconds}000000000`;
    return {
      traceId: `${sequence}`.padStart(32, '1'),
      spanId: `${index + 1}`.padStart(16, '1'),
      name: `span ${index}`,
      startTimeUnixNano: start,
      endTimeUnixNano: start,
    };
  });
  const body = Buffer.from(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }));
  const base = countedBase(1_400_000, sequence * 1000);
  const encoded = jsonTraces.encode(body, {
    resolve: () => ({ appId: 1, bizId: 2, fillDimensions: false, policy: defaultTimePolicy }),
    clientIp: '203.0.113.9',
    base,
    arrivedAt,
    limits: defaultItemLimits,
  });
  const [run] = encoded.runs;
  if (run === undefined) throw new Error('no run');
  const payload = buildItemsMessage({ pipeline: 'traces', run, base, arrivedAt, mayOverlap });
  const read = decodeBlocksEnvelope(payload, 1);
  if (read.kind !== 'envelope') throw new Error(read.kind);
  return {
    delivery: {
      payload,
      subject: 'traces.0',
      version: 1,
      streamSequence: sequence,
      redelivered,
      redrive: 0,
      ack: () => {},
      nak: () => {},
      working: () => {},
      free: () => {},
    },
    envelope: read.envelope,
    rows: daysBefore.length,
    bytes: payload.length,
    touchedAt: 0,
    takenAt: 0,
  };
};

const rowsIn = (block: Uint8Array): number => {
  try {
    return readBlock(block).rows;
  } catch (error) {
    if (error instanceof UnreadableBlock) return 0;
    throw error;
  }
};

// The account against the stores compares these with what the table holds.
describe('a message of spans', () => {
  it.each([[[0, 0, 0]], [[0, 1, 0, 1, 2]]])(
    'tells its rows by event day with the sum of their uids: %j',
    (daysBefore) => {
      const { envelope } = messageOf(3, daysBefore);
      for (const [index, part] of envelope.header.parts.entries()) {
        const block = readBlock(envelope.partBytes[index] ?? new Uint8Array());
        const uids = Array.from({ length: block.rows }, (_, row) => BigInt(String(block.row(row)['uid'])));
        const sum = BigInt.asUintN(
          64,
          uids.reduce((all, uid) => all + uid, 0n),
        );
        expect(partDays(part)).toEqual([[part.day, uids.length, String(sum)]]);
      }
      const [days] = validateItems(envelope).days?.values() ?? [];
      expect(days?.rows.reduce((all, rows) => all + rows, 0)).toBe(daysBefore.length);
    },
  );

  it('whose block is refused in slices tells the days of each slice', () => {
    const message = messageOf(3, [0, 1, 0, 1, 0]);
    const [piece] = piecesOf([message]);
    const letters = halvesOf(piece === undefined ? [] : [piece])?.map(
      ([half]) => half && refusedBlock(half, 'no'),
    );
    const days = letters?.map((letter) => letter?.part && partDays(letter.part)?.[0]);
    const all = piece && partDays(piece.part)?.[0];
    expect(days?.map((each) => each?.[1])).toEqual([2, 1]);
    expect(days?.reduce((sum, each) => sum + BigInt(each?.[2] ?? 0), 0n)).toBe(BigInt(all?.[2] ?? 0));
  });
});

/** A writer that says what it was asked for, with the rows of an insert; `fail` may throw for an insert. */
const recordingWriter = (fail: (kind: string) => void = () => {}, repeats = 0) => {
  const calls: string[] = [];
  const record = (kind: string, blocks: readonly Uint8Array[]): void => {
    const rows = blocks.reduce((total, block) => total + rowsIn(block), 0);
    calls.push(`${kind} ${rows}${blocks.length === 1 ? '' : ` in ${blocks.length} blocks`}`);
    fail(kind);
  };
  const writer: BlockWriter = {
    insertPlain: async ({ blocks }) => record('plain', blocks),
    insertGuarded: async ({ blocks }) => {
      record('guarded', blocks);
      return true;
    },
    killCovering: async ({ firstSequence, lastSequence }) => {
      calls.push(`kill ${firstSequence}-${lastSequence}`);
      return 0;
    },
    repairTraceLookup: async (traces) => {
      calls.push(`lookup ${traces.length}`);
    },
    countRepeats: async () => repeats,
    optimizeDay: async () => {},
  };
  return { writer, calls };
};

/** A writer that keeps the blocks of each insert; `fail` throws for a plain one. */
const keepingWriter = (fail: boolean) => {
  const kept: Uint8Array[] = [];
  const writer: BlockWriter = {
    ...recordingWriter().writer,
    insertPlain: async ({ blocks }) => {
      kept.push(...blocks);
      if (fail) throw new Fault('transient', 'clickhouse_unavailable', 'away');
    },
  };
  return { writer, kept };
};

const sinkOf = (
  writer: BlockWriter,
  freshAbove: number,
  guard: 'suspect' | 'always' = 'suspect',
  overlaps: number[] = [],
  nowMs = 0,
  unclassified: string[] = [],
  holds = true,
  late: string[] = [],
) =>
  createBlocksSink(
    [
      {
        table: spansTable,
        writer,
        onOverlap: async (day) => {
          overlaps.push(day);
        },
      },
    ],
    { isFresh: (sequence) => sequence > freshAbove, holds: async () => holds },
    { pipeline: 'traces', stream: 'TRACES', boot: 7, ackWaitMs: () => 30_000, elapsed: () => nowMs, guard },
    {
      onGuarded: () => {},
      onUnanswered: async (table, day) => {
        late.push(`${table} ${day}`);
      },
      onUnclassified: (code) => unclassified.push(code),
    },
  );

const ignore = (): void => {};
const options: BlocksSinkOptions = {
  pipeline: 'traces',
  stream: 'TRACES',
  boot: 7,
  ackWaitMs: () => 30_000,
  elapsed: () => 0,
  guard: 'suspect',
};
const noEvents = { onGuarded: ignore, onUnanswered: async () => {}, onUnclassified: ignore };
const unavailable = (): never => {
  throw new Fault('transient', 'clickhouse_unavailable', 'away');
};

// A row that may be stored and is inserted again without the guard is stored twice.
describe('the merged blocks of an insert', () => {
  it('are freed once it is done, and those of the messages are not', async () => {
    const { writer, kept } = keepingWriter(false);
    const batch = [messageOf(10, [0]), messageOf(11, [0])];
    await sinkOf(writer, 1).write(batch, () => {});
    expect(kept.map(({ length }) => length)).toEqual([0]);
    for (const { envelope } of batch) expect(rowsIn(envelope.partBytes[0] ?? new Uint8Array())).toBe(1);
  });

  it('are left alone where it failed: they may be on their way', async () => {
    const { writer, kept } = keepingWriter(true);
    const sink = sinkOf(writer, 1);
    await expect(sink.write([messageOf(10, [0]), messageOf(11, [0])], () => {})).rejects.toThrow('away');
    expect(kept.map(rowsIn)).toEqual([2]);
  });
});

describe('the line of spans', () => {
  it('inserts fresh messages without a guard, all of a day as one block of one insert', async () => {
    const { writer, calls } = recordingWriter();
    await sinkOf(writer, 0).write([messageOf(1, [0, 1]), messageOf(2, [0])], ignore);
    expect(calls).toEqual(['plain 2', 'plain 1']);
  });

  it('guards what the fence does not clear and what is redelivered, after ending what still inserts it, and mends the lookup', async () => {
    const { writer, calls } = recordingWriter();
    await sinkOf(writer, 5).write([messageOf(5, [0]), messageOf(6, [0]), messageOf(9, [0], true)], ignore);
    expect(calls).toEqual(['plain 1', 'kill 5-9', 'guarded 2', 'lookup 2']);
  });

  // A consumer that was created again delivers messages for the first time that another one had delivered, and that may be stored.
  it('guards what the fence had cleared of another consumer than the one that delivered it', async () => {
    const { writer, calls } = recordingWriter();
    await sinkOf(writer, 0, 'suspect', [], 0, [], false).write([messageOf(1, [0])], ignore);
    expect(calls).toEqual(['kill 1-1', 'guarded 1', 'lookup 1']);
  });

  // NATS may have given its messages to another process, which stores the days that are not written yet.
  it('guards what it inserts after the connection was lost', async () => {
    let isLost = false;
    const { writer, calls } = recordingWriter(() => {
      isLost = true;
    });
    const sink = createBlocksSink(
      [{ table: spansTable, writer, onOverlap: async () => {} }],
      { isFresh: () => !isLost, holds: async () => true },
      options,
      noEvents,
    );
    await sink.write([messageOf(1, [0, 1])], ignore);
    expect(calls).toEqual(['plain 1', 'kill 1-1', 'guarded 1', 'lookup 1']);
  });

  it('fails, and settles nothing, when it cannot be written down that a day is to be merged', async () => {
    const { writer } = recordingWriter(ignore, 1);
    const sink = createBlocksSink(
      [{ table: spansTable, writer, onOverlap: async () => unavailable() }],
      { isFresh: () => false, holds: async () => true },
      options,
      noEvents,
    );
    await expect(sink.write([messageOf(1, [0], true)], ignore)).rejects.toMatchObject({ kind: 'transient' });
  });

  it('guards what comes from the dead letters: an earlier redrive of it may have been stored', async () => {
    const { writer, calls } = recordingWriter();
    const { delivery, ...rest } = messageOf(1, [0]);
    await sinkOf(writer, 0).write([{ ...rest, delivery: { ...delivery, redrive: 1 } }], ignore);
    expect(calls).toEqual(['kill 1-1', 'guarded 1', 'lookup 1']);
  });

  // Two messages of one request, of tries at which its credentials were worth something else, bring some of the same rows.
  it('guards what another message may bring as well, and merges the day of what is there twice', async () => {
    const overlaps: number[] = [];
    const { writer, calls } = recordingWriter(() => {}, 1);
    const sink = sinkOf(writer, 0, 'suspect', overlaps);
    await sink.write([messageOf(1, [0]), messageOf(2, [0], false, true)], () => {});
    expect(calls).toEqual(['plain 1', 'kill 2-2', 'guarded 1', 'lookup 1']);
    expect(overlaps).toHaveLength(1);
  });

  it('guards everything with `guard: always`', async () => {
    const { writer, calls } = recordingWriter();
    await sinkOf(writer, 0, 'always').write([messageOf(1, [0])], ignore);
    expect(calls).toEqual(['kill 1-1', 'guarded 1', 'lookup 1']);
  });

  it('guards the second try of a batch whose first try had no known outcome', async () => {
    let failures = 1;
    const { writer, calls } = recordingWriter((kind) => {
      if (kind === 'plain' && failures-- > 0) unavailable();
    });
    const sink = sinkOf(writer, 0);
    const batch = [messageOf(1, [0]), messageOf(2, [0])];
    await expect(sink.write(batch, ignore)).rejects.toMatchObject({ kind: 'transient' });
    await sink.write(batch, ignore);
    expect(calls).toEqual(['plain 2', 'kill 1-2', 'guarded 2', 'lookup 2']);
  });

  // The rows of such an insert may wait in a proxy, and come after those of the repeat.
  it.each([
    ['no answer', () => unavailable(), false, 1],
    ['no known outcome in the process before', () => {}, true, 1],
    [
      'an answer',
      () => {
        throw toFault(new ClickHouseError({ message: 'too much', code: '241', type: 'SOME_CODE' }));
      },
      false,
      0,
    ],
  ])('owes a late look after an insert with %s: %#', async (_, fail, redelivered, looks) => {
    let failures = 1;
    const { writer } = recordingWriter((kind) => {
      if (kind === 'plain' && failures-- > 0) fail();
    });
    const late: string[] = [];
    const sink = sinkOf(writer, 0, 'suspect', [], 0, [], true, late);
    const batch = [messageOf(1, [0], redelivered)];
    if (!redelivered) await expect(sink.write(batch, ignore)).rejects.toMatchObject({ kind: 'transient' });
    expect(late).toEqual([]);
    await sink.write(batch, ignore);
    const day = Math.floor(arrivedAt / 1000 / daySeconds);
    expect(late).toEqual(looks === 0 ? [] : [`otel_traces ${day}`]);
  });

  it('sets a span that the store will never take aside alone; the others of its block and its batch are inserted', async () => {
    const bad = messageOf(3, [0, 0, 0, 0, 0]);
    const { writer } = recordingWriter();
    const inserted: string[] = [];
    const spansOf = (blocks: readonly Uint8Array[]): string[] =>
      blocks.flatMap((block) => {
        const read = readBlock(block);
        const traces = read.texts('TraceId');
        return read.texts('SpanName').map((name, row) => `${Number(traces[row]?.slice(-2)) % 10} ${name}`);
      });
    const refuse = (): never => {
      throw new Fault('permanent', 'clickhouse_rows_refused', 'no');
    };
    const refusing: BlockWriter = {
      ...writer,
      insertPlain: async () => refuse(),
      insertGuarded: async ({ blocks }) => {
        const spans = spansOf(blocks);
        if (spans.includes('3 span 3')) refuse();
        inserted.push(...spans);
        return true;
      },
    };
    const batch = [messageOf(1, [0]), messageOf(2, [0]), bad, messageOf(4, [0])];
    const { deadLettered } = await sinkOf(refusing, 0).write(batch, ignore);
    const rest = [0, 1, 2, 4].map((index) => `3 span ${index}`);
    expect(inserted.sort()).toEqual(['1 span 0', '2 span 0', ...rest, '4 span 0']);
    expect([...deadLettered.keys()]).toEqual([bad]);
    const [span] = deadLettered.get(bad) ?? [];
    const [part] = bad.envelope.header.parts;
    expect(deadLettered.get(bad)).toHaveLength(1);
    expect(span).toMatchObject({ reason: 'span_refused', items: 1, identity: `${part?.base}:3` });
    expect(span?.part).toMatchObject({ rows: 1, first: 3, last: 3, timeMin: part?.timeMin });
    expect(spansOf([span?.bytes ?? Buffer.alloc(0)])).toEqual(['3 span 3']);
  });

  it('sets a block that does not read as one aside whole, at the first guarded try', async () => {
    const bad = messageOf(2, [0, 0]);
    const block = bad.envelope.partBytes[0];
    block?.fill(0xff, 40, 60);
    const { writer, calls } = recordingWriter((kind) => {
      if (kind === 'plain') unavailable();
    });
    const sink = sinkOf(writer, 0);
    const batch = [messageOf(1, [0]), bad];
    await expect(sink.write(batch, ignore)).rejects.toMatchObject({ kind: 'transient' });
    const { deadLettered } = await sink.write(batch, ignore);
    expect(deadLettered.get(bad)?.map(({ reason, items }) => [reason, items])).toEqual([
      ['block_refused', 2],
    ]);
    expect(calls.filter((call) => call.startsWith('guarded'))).toEqual(['guarded 1']);
  });

  // ClickHouse answers some blocks with codes that pass elsewhere (it tries to allocate what a length says).
  it('finds the message that alone makes the store fail, lets the others go on, and sets it aside when it keeps failing', async () => {
    const unclassified: string[] = [];
    const answer = (code: string): Fault =>
      toFault(new ClickHouseError({ message: 'too much', code, type: 'SOME_CODE' }));
    const { writer } = recordingWriter();
    let code = '241';
    const failing: BlockWriter = {
      ...writer,
      insertPlain: async ({ sequences = [] }) => {
        if (sequences.includes(2)) throw answer(code);
      },
      insertGuarded: async ({ sequences = [] }) => {
        if (sequences.includes(2)) throw answer(code);
        return true;
      },
    };
    const sink = sinkOf(failing, 0, 'suspect', [], 0, unclassified);
    const writeUntilKnown = async (batch: HeldMessage<BlocksEnvelope>[]) => {
      for (let tries = 0; tries < 20; tries++) {
        try {
          return await sink.write(batch, ignore);
        } catch (error) {
          expect(error).toMatchObject({ kind: 'transient' });
        }
      }
      throw new Error('tried for ever');
    };
    const first = await writeUntilKnown([messageOf(1, [0]), messageOf(2, [0]), messageOf(3, [0])]);
    expect([...first.retryLater].map(({ delivery }) => delivery.streamSequence)).toEqual([2]);
    expect(first.problem).toBeUndefined();
    expect(first.deadLettered.size).toBe(0);
    code = '7777';
    // As long as nothing else is stored it may be the store, however often it fails.
    for (let round = 0; round < 8; round++) {
      const { retryLater, problem } = await writeUntilKnown([messageOf(2, [0])]);
      expect([retryLater.size, problem]).toEqual([1, expect.stringContaining('7777')]);
    }
    expect(new Set(unclassified)).toEqual(new Set(['7777']));
    for (let round = 0; round < 2; round++) {
      await sink.write([messageOf(10 + round, [0])], ignore);
      expect((await writeUntilKnown([messageOf(2, [0])])).retryLater.size).toBe(1);
    }
    await sink.write([messageOf(20, [0])], ignore);
    const last = await writeUntilKnown([messageOf(2, [0])]);
    const [aside] = [...last.deadLettered.values()].flat();
    expect(aside).toMatchObject({ reason: 'block_refused', items: 1 });
    expect(aside?.why).toContain('fails in each try while others are stored');
  });

  it('never dead-letters spans for a part of the table that cannot be read, and stores the others', async () => {
    const fault = unreadableTable(
      'otel.otel_traces',
      toFault(new ClickHouseError({ message: 'no', code: '33', type: 'CANNOT_READ_ALL_DATA' })),
    );
    const { writer } = recordingWriter();
    const insertGuarded: BlockWriter['insertGuarded'] = async ({ sequences = [] }) => {
      if (sequences.some((sequence) => sequence < 6)) throw fault;
      return true;
    };
    const sink = sinkOf({ ...writer, insertGuarded }, 0);
    const unreadable = [1, 2, 3, 4, 5].map((sequence) => messageOf(sequence, [0], true));
    for (let round = 0; round < 8; round++) {
      const batch = [...unreadable, messageOf(10 + round, [0])].map((message) => ({ ...message }));
      for (let tries = 0; tries < 6; tries++)
        await expect(sink.write(batch, ignore)).rejects.toThrow(
          'stored rows of otel.otel_traces cannot be read',
        );
      const { retryLater, deadLettered } = await sink.write(batch, ignore);
      expect([[...retryLater], deadLettered.size]).toEqual([batch.slice(0, 5), 0]);
    }
  });

  it('stops after ten seconds of stored rows that cannot be read, and stores first deliveries before', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const fault = unreadableTable(
      'otel.otel_traces',
      toFault(new ClickHouseError({ message: 'no', code: '33', type: 'CANNOT_READ_ALL_DATA' })),
    );
    const { writer } = recordingWriter();
    const tried: number[][] = [];
    const insertGuarded: BlockWriter['insertGuarded'] = async ({ sequences = [] }) => {
      tried.push([...sequences]);
      vi.advanceTimersByTime(3_000);
      if (sequences.some((sequence) => sequence < 20)) throw fault;
      return true;
    };
    const sink = sinkOf({ ...writer, insertGuarded }, 0);
    const unreadable = Array.from({ length: 12 }, (_, index) => messageOf(1 + index, [0], true));
    const batch = [...unreadable, messageOf(30, [0])];
    for (let tries = 0; tries < 6; tries++) await expect(sink.write(batch, ignore)).rejects.toThrow();
    tried.length = 0;
    const { retryLater, deadLettered } = await sink.write(batch, ignore);
    expect([tried, [...retryLater], deadLettered.size]).toEqual([[[30], [1], [2], [3], [4]], unreadable, 0]);
  });

  it('notes a day with doubled rows after a takeover', async () => {
    const overlaps: number[] = [];
    const { writer } = recordingWriter(ignore, 1);
    await sinkOf(writer, 0, 'suspect', overlaps).write([messageOf(1, [0], true)], ignore);
    expect(overlaps).toEqual([Math.floor(arrivedAt / 1000 / daySeconds)]);
  });

  // A process that was paused may write what another one has written meanwhile.
  it.each([
    ['in time: no look', 15_000, ['plain 1']],
    [
      'after half the ack wait without a sign of life: guarded',
      15_001,
      ['kill 1-1', 'guarded 1', 'lookup 1'],
    ],
  ])('inserts a fresh message %s', async (_, nowMs, expected) => {
    const overlaps: number[] = [];
    const { writer, calls } = recordingWriter(ignore, 1);
    await sinkOf(writer, 0, 'suspect', overlaps, nowMs).write([messageOf(1, [0])], ignore);
    expect(calls).toEqual(expected);
    expect(overlaps).toHaveLength(expected.length > 1 ? 1 : 0);
  });

  it('looks for repeats of the day during whose insert it was paused, and guards the next day of the write', async () => {
    const message = messageOf(1, [0, 1]);
    const overlaps: number[] = [];
    // The time since its last sign of life grows by the pause.
    const { writer, calls } = recordingWriter((kind) => {
      if (kind === 'plain') message.touchedAt = -15_001;
    }, 1);
    await sinkOf(writer, 0, 'suspect', overlaps).write([message], ignore);
    expect(calls).toEqual(['plain 1', 'kill 1-1', 'guarded 1', 'lookup 1']);
    expect(overlaps).toHaveLength(2);
  });
});
