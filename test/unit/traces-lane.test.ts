import { describe, expect, it } from 'vitest';
import { buildSpansMessage } from '../../src/ingress/otlp/publish.ts';
import { Fault } from '../../src/model/fault.ts';
import { defaultTimePolicy } from '../../src/model/time.ts';
import { countedBase } from '../../src/model/uid.ts';
import type { SpanWriter } from '../../src/stores/clickhouse/span-writer.ts';
import type { HeldMessage } from '../../src/transfer/held-message.ts';
import { createTracesLane } from '../../src/transfer/traces-lane.ts';
import { jsonTraces } from '../../src/wire/otlp/json-traces.ts';
import { defaultTraceLimits } from '../../src/wire/otlp/types.ts';
import { decodeSpansEnvelope, type SpansEnvelope } from '../../src/wire/spans-envelope.ts';

const arrivedAt = Date.UTC(2026, 5, 1, 12);
const daySeconds = 86_400;

/** A message of one span on each of these days before the arrival. */
const messageOf = (
  sequence: number,
  daysBefore: readonly number[],
  redelivered = false,
): HeldMessage<SpansEnvelope> => {
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
  const encoded = jsonTraces.encodeTraces(body, {
    resolve: () => ({ appId: 1, bizId: 2, fillDimensions: false, policy: defaultTimePolicy }),
    clientIp: '203.0.113.9',
    base,
    arrivedAt,
    limits: defaultTraceLimits,
  });
  const [run] = encoded.runs;
  if (run === undefined) throw new Error('no run');
  const payload = buildSpansMessage({ run, base, arrivedAt });
  const read = decodeSpansEnvelope(payload, 1);
  if (read.kind !== 'envelope') throw new Error(read.kind);
  return {
    delivery: {
      payload,
      subject: 'traces.0',
      version: 1,
      streamSequence: sequence,
      redelivered,
      ack: () => {},
      nak: () => {},
      working: () => {},
    },
    envelope: read.envelope,
    rows: daysBefore.length,
    bytes: payload.length,
    touchedAt: 0,
  };
};

/** A writer that says what it was asked for; `fail` may throw for an insert. */
const recordingWriter = (fail: (kind: string, blocks: number) => void = () => {}, repeats = 0) => {
  const calls: string[] = [];
  const record = (kind: string, blocks: number): void => {
    calls.push(`${kind} ${blocks}`);
    fail(kind, blocks);
  };
  const writer: SpanWriter = {
    insertPlain: async ({ blocks }) => record('plain', blocks.length),
    insertGuarded: async ({ blocks }) => {
      record('guarded', blocks.length);
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

const laneOf = (
  writer: SpanWriter,
  freshAbove: number,
  guard: 'suspect' | 'always' = 'suspect',
  overlaps: number[] = [],
  nowMs = 0,
) =>
  createTracesLane(
    writer,
    { isFresh: (sequence) => sequence > freshAbove },
    { stream: 'TRACES', boot: 7, ackWaitMs: 30_000, now: () => nowMs, guard },
    { onGuarded: () => {}, onOverlap: (day) => overlaps.push(day) },
  );

const ignore = (): void => {};
const unavailable = (): never => {
  throw new Fault('transient', 'clickhouse_unavailable', 'away');
};

// Whatever may have been inserted before and is inserted plainly again is stored twice.
describe('the line of spans', () => {
  it('inserts fresh messages as they are, all of a day in one insert', async () => {
    const { writer, calls } = recordingWriter();
    await laneOf(writer, 0).write([messageOf(1, [0, 1]), messageOf(2, [0])], ignore);
    expect(calls).toEqual(['plain 2', 'plain 1']);
  });

  it('guards what the fence does not clear and what is redelivered, after ending what still inserts it, and mends the lookup', async () => {
    const { writer, calls } = recordingWriter();
    await laneOf(writer, 5).write([messageOf(5, [0]), messageOf(6, [0]), messageOf(9, [0], true)], ignore);
    expect(calls).toEqual(['plain 1', 'kill 5-9', 'guarded 2', 'lookup 2']);
  });

  it('guards everything when it is told to', async () => {
    const { writer, calls } = recordingWriter();
    await laneOf(writer, 0, 'always').write([messageOf(1, [0])], ignore);
    expect(calls).toEqual(['kill 1-1', 'guarded 1', 'lookup 1']);
  });

  it('guards the second try of a batch whose first try had no known outcome', async () => {
    let failures = 1;
    const { writer, calls } = recordingWriter((kind) => {
      if (kind === 'plain' && failures-- > 0) unavailable();
    });
    const lane = laneOf(writer, 0);
    const batch = [messageOf(1, [0]), messageOf(2, [0])];
    await expect(lane.write(batch, ignore)).rejects.toMatchObject({ kind: 'transient' });
    await lane.write(batch, ignore);
    expect(calls).toEqual(['plain 2', 'kill 1-2', 'guarded 2', 'lookup 2']);
  });

  it('sets a block that the store will never take aside alone; the others of its batch are inserted', async () => {
    const bad = messageOf(3, [0]);
    const { writer } = recordingWriter();
    const inserted: number[] = [];
    const refusing: SpanWriter = {
      ...writer,
      insertPlain: async () => {
        throw new Fault('permanent', 'clickhouse_rows_refused', 'no');
      },
      insertGuarded: async ({ sequences = [] }) => {
        if (sequences.includes(3)) throw new Fault('permanent', 'clickhouse_rows_refused', 'no');
        inserted.push(...sequences);
        return true;
      },
    };
    const batch = [messageOf(1, [0]), messageOf(2, [0]), bad, messageOf(4, [0])];
    const { setAside } = await laneOf(refusing, 0).write(batch, ignore);
    expect(inserted.sort()).toEqual([1, 2, 4]);
    expect([...setAside.keys()]).toEqual([bad]);
    expect(setAside.get(bad)?.map(({ reason, items }) => [reason, items])).toEqual([['block_refused', 1]]);
  });

  it('tells of a day in which rows are there twice after a takeover', async () => {
    const overlaps: number[] = [];
    const { writer } = recordingWriter(ignore, 1);
    await laneOf(writer, 0, 'suspect', overlaps).write([messageOf(1, [0], true)], ignore);
    expect(overlaps).toEqual([Math.floor(arrivedAt / 1000 / daySeconds)]);
  });

  // A process that was paused may write what another one has written meanwhile.
  it.each([
    ['in time: no look', 15_000, 0],
    ['after half the ack wait without a sign of life: a look for repeats', 15_001, 1],
  ])('inserts a fresh message %s', async (_, nowMs, days) => {
    const overlaps: number[] = [];
    const { writer } = recordingWriter(ignore, 1);
    await laneOf(writer, 0, 'suspect', overlaps, nowMs).write([messageOf(1, [0])], ignore);
    expect(overlaps).toHaveLength(days);
  });
});
