import { describe, expect, it } from 'vitest';
import type { Queue } from '../../../src/account/compare.ts';
import type { Difference } from '../../../src/account/difference.ts';
import type { FoundDifferences } from '../../../src/account/found.ts';
import { createStreamEnds } from '../../../src/account/stream-ends.ts';
import { Fault } from '../../../src/model/fault.ts';
import type { Clickhouse } from '../../../src/stores/clickhouse/client.ts';

const stream = 'METRICS';
/** A minute in which a generation began, Unix seconds. */
const minute = 1_790_000_040;

const notUsed = async (): Promise<never> => {
  throw new Error('not used');
};

const lossOf = (at: number, messages: number): Difference => ({
  ...{ kind: 'lost_in_the_stream', stream, pipeline: 'metrics', dataId: 0, appId: 0, items: 0 },
  ...{ minute: at + 45, messages },
});

const queueOf = (messages: number): Queue => ({
  ...{ exists: true, begin: 1, first: 1, last: messages, messages, end: messages, floor: 0 },
});

/** A stream that was at 100 and began again at 0, and what is stored of it. `is`: what the stub of ClickHouse answers, to be changed. */
const openStream = (stored: readonly Difference[] = []) => {
  const is = { since: minute, sinceSeconds: 60, settled: 0, isHeavy: false, isWrong: false };
  let clock = 0;
  let reads = 0;
  const rowsOf = (query: string): object[] => {
    const generation = { stream, last_seen: 0, began_with: 0, floor_seen: 0, life_seen: 1, seconds: 60 };
    const since = { since_at: is.since, since_seconds: is.sinceSeconds };
    if (query.includes('ingest_stream_ends'))
      return [
        { ...generation, ...since, generation: 0, last_seen: 100, since_seconds: 10 * 86_400 },
        { ...generation, ...since, generation: 1 },
      ];
    reads++;
    if (is.isHeavy) throw new Fault('transient', 'clickhouse_unavailable', 'TIMEOUT_EXCEEDED');
    if (is.isWrong) throw new Fault('permanent', 'clickhouse_rejected', 'UNKNOWN_TABLE');
    return [{ settled: is.settled, named: 0 }];
  };
  const clickhouse: Clickhouse = {
    rows: async (schema, query) => rowsOf(query).map((row) => schema.parse(row)),
    ...{ ping: notUsed, run: notUsed, insert: notUsed, close: notUsed },
  };
  let all = [...stored];
  const found: FoundDifferences = {
    ...{ isEmpty: false, changes: 0, takeOver: notUsed, readAgain: notUsed },
    get all() {
      return all;
    },
    replace: async (isInScope, now) => {
      all = [...all.filter((each) => !isInScope(each)), ...now];
    },
  };
  const nats = { id: async () => 'nats', lastLife: async () => 1 };
  const warnings: Record<string, unknown>[] = [];
  const log = { warn: (fields: Record<string, unknown>) => void warnings.push(fields) };
  const ends = createStreamEnds({ clickhouse, nats, elapsed: () => clock, log });
  return {
    is,
    warnings,
    reads: () => reads,
    stored: () => all,
    /** A look, after this time; `unread`: that many messages wait in the stream, and were not read. */
    look: async ({ afterMs = 40_000, unread }: { afterMs?: number; unread?: number } = {}) => {
      clock += afterMs;
      await ends.begin();
      const held = unread === undefined ? [] : undefined;
      await ends.find(stream, { queue: queueOf(unread ?? 0), held, redrives: [] }, found);
    },
  };
};

describe('what is lost at the end of a stream', () => {
  it('stays once where it is dated earlier than before, beside what was found of generations before', async () => {
    const earlier = lossOf(minute - 3 * 86_400, 7);
    const { is, look, stored } = openStream([earlier]);
    await look();
    expect(stored()).toMatchObject([earlier, lossOf(minute, 100)]);
    is.since -= 3_600;
    await look();
    expect(stored()).toMatchObject([earlier, lossOf(minute - 3_600, 100)]);
  });

  it('keeps no account unknown where it cannot be counted: what is stored stays, and it is tried again in ten minutes', async () => {
    const { is, look, reads, stored, warnings } = openStream();
    await look();
    is.settled = 10;
    is.isHeavy = true;
    for (let turn = 0; turn < 14; turn++) await look();
    expect(stored()).toMatchObject([lossOf(minute, 100)]);
    expect(reads()).toBe(2);
    expect(warnings).toEqual([{ stream, error: 'TIMEOUT_EXCEEDED' }]);
    is.isHeavy = false;
    for (let turn = 0; turn < 2; turn++) await look();
    expect(stored()).toMatchObject([lossOf(minute, 90)]);
    is.isWrong = true;
    await expect(look()).rejects.toThrow('UNKNOWN_TABLE');
  });

  it('becomes less by what settles while the messages that wait are not read, and by these once nobody has read them for long', async () => {
    const { is, look, stored } = openStream();
    await look();
    // A queue that moved for long, beside the numbers of the lost ones.
    for (let turn = 0; turn < 2; turn++) await look({ unread: 0, afterMs: 12 * 3_600_000 });
    is.settled = 10;
    await look({ unread: 30 });
    expect(stored()).toMatchObject([lossOf(minute, 90)]);
    is.settled = 0;
    for (let turn = 0; turn < 2; turn++) await look({ unread: 30, afterMs: 600_000 });
    expect(stored()).toMatchObject([lossOf(minute, 90)]);
    await look({ unread: 30, afterMs: 12 * 3_600_000 });
    expect(stored()).toMatchObject([lossOf(minute, 70)]);
    await look({ unread: 20, afterMs: 600_000 });
    expect(stored()).toMatchObject([lossOf(minute, 70)]);
    await look();
    expect(stored()).toMatchObject([lossOf(minute, 100)]);
  });
});
