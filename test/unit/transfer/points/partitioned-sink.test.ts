import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { consumerOfInstance, ofInstance, withInstances } from '../../../../src/config/instance-streams.ts';
import { loadPipelines } from '../../../../src/config/pipelines.ts';
import { backupSchema } from '../../../../src/metadata/backup/document.ts';
import { Fault } from '../../../../src/model/fault.ts';
import type { HeldMessage } from '../../../../src/transfer/held-message.ts';
import { createPartitionedSink } from '../../../../src/transfer/points/partitioned-sink.ts';
import type { Sink, Written } from '../../../../src/transfer/sink.ts';
import { decodeEnvelope, type MetricsEnvelope } from '../../../../src/wire/metrics-envelope.ts';
import { firstDelivery } from '../../../support/outcomes/deliveries.ts';

const root = join(import.meta.dirname, '../../../..');

describe('the streams of points', () => {
  const pipelines = loadPipelines(join(root, 'pipelines'));

  it('with one instance are what the file says', () => {
    expect(withInstances(pipelines, ['default'])).toEqual(pipelines);
  });

  it('are one for each instance, with the budget and the consumer of the first one', () => {
    const { streams } = withInstances(pipelines, ['default', 'b', 'c']);
    const ofPoints = streams.filter(({ name }) => name.startsWith('METRICS'));
    expect(ofPoints.map(({ name, subjects, consumer }) => [name, subjects, consumer?.name])).toEqual([
      ['METRICS', ['metrics.>'], 'questdb'],
      ['METRICS-b', ['metrics-b.>'], 'questdb-b'],
      ['METRICS-c', ['metrics-c.>'], 'questdb-c'],
    ]);
    expect(new Set(ofPoints.map(({ bytesMax }) => bytesMax)).size).toBe(1);
    expect(ofPoints[1]?.consumer).toEqual(consumerOfInstance(pipelines.metrics.consumer, 'b'));
    // Where NATS has no room for them, it has for all that was there before.
    expect(streams.slice(0, -2)).toEqual(pipelines.streams);
    expect(streams.map(({ isFurther }) => isFurther === true).slice(-3)).toEqual([false, true, true]);
    expect(ofInstance('metrics', 'b')).toBe('metrics-b');
  });
});

// Old exports are what operators have when everything else is lost.
it('a document of records from before there were several instances is read', () => {
  const nothing = { custom_reports: {}, data_sources: {}, time_series_groups: {}, result_tables: {} };
  const others = { source_policies: {}, previous_tokens: {}, purges: {}, subscriptions: {}, columns: {} };
  const applications = { applications: {}, application_policies: {}, previous_application_tokens: {} };
  const counters = { data_id: 0, custom_report_id: 0, time_series_group_id: 0, app_id: 0 };
  const head = { format: 'tidemark-records', version: 1, exported_at: 1, counters };
  expect(backupSchema.parse({ ...head, ...nothing, ...others, ...applications }).placements).toEqual({});
});

/** A message with a part of each of these data ids. */
const messageOf = (...dataIds: number[]): HeldMessage => {
  const parts = dataIds.map((dataId) => {
    const ordinals = { base: '1', first: 0, last: 0, timeMin: 1, timeMax: 1 };
    return {
      dataId,
      table: `t${dataId}`,
      layout: 'wide' as const,
      rows: 1,
      points: 1,
      bytes: 0,
      ...ordinals,
    };
  });
  return {
    delivery: firstDelivery,
    envelope: {
      header: { version: 1, kind: 'metrics', arrivedAt: 1, parts, deferred: [], outcomes: [] },
      partBytes: parts.map(() => new Uint8Array()),
      deferredBytes: [],
    },
    rows: dataIds.length,
    bytes: 1,
    touchedAt: 0,
    takenAt: 0,
  };
};

const nothingAside = (): Written<MetricsEnvelope> => ({
  deadLettered: new Map(),
  retryLater: new Set(),
  purged: new Set(),
});

/** Sinks of `default` and `b` behind a router of the first one's stream. Data ids above 100 lie on `b`, above 200 on none that is set. */
const routed = (
  write: (instance: string) => Written<MetricsEnvelope> | Promise<Written<MetricsEnvelope>> = nothingAside,
) => {
  const clock = { now: 0 };
  const placed = new Map<number, string>();
  const calls: [string, readonly HeldMessage[]][] = [];
  const waits: [string, string][] = [];
  const away = new Set<string>();
  const sinkOf = (instance: string): Sink<MetricsEnvelope> => ({
    pipeline: 'metrics',
    store: 'QuestDB',
    read: decodeEnvelope,
    rowsOf: () => 1,
    write: async (batch) => {
      calls.push([instance, batch]);
      return write(instance);
    },
    validate: () => {
      throw new Error('not asked');
    },
  });
  const [home, other] = [sinkOf('default'), sinkOf('b')];
  const sink = createPartitionedSink(home, {
    home: 'default',
    sinks: new Map([
      ['default', home],
      ['b', other],
    ]),
    instanceOf: (dataId) => placed.get(dataId) ?? (dataId > 200 ? 'zzz' : dataId > 100 ? 'b' : 'default'),
    isAway: (instance) => away.has(instance),
    onWait: (...wait) => waits.push(wait),
    failures: new Map(),
    now: () => clock.now,
  });
  return {
    calls,
    waits,
    away,
    clock,
    placed,
    write: (...batch: HeldMessage[]) => sink.write(batch, () => {}),
  };
};

describe('the router', () => {
  it('hands a batch of its own instance on as it is', async () => {
    const { calls, write } = routed();
    const batch = [messageOf(1), messageOf(2, 3), messageOf()];
    await write(...batch);
    expect(calls).toEqual([['default', batch]]);
  });

  it('brings rows of another instance there, and nothing of the others', async () => {
    const { calls, waits, write } = routed();
    const [own, both, strayed] = [messageOf(1), messageOf(2, 102), messageOf(101)];
    const { retryLater } = await write(own, both, strayed);
    expect(calls).toEqual([
      ['b', [both, strayed]],
      ['default', [own, both, strayed]],
    ]);
    expect([retryLater.size, waits]).toEqual([0, []]);
  });

  it.each([
    ['does not answer this time', 102, 'QuestDB b is away'],
    ['is known not to answer', 102, 'it does not answer'],
    ['is named by no setting', 202, 'no setting names this instance'],
  ])('lets messages wait with rows for an instance that %s, and writes the rest', async (_, dataId, why) => {
    const { calls, waits, away, write } = routed((instance) => {
      if (instance === 'b') throw new Fault('transient', 'questdb_unavailable', 'QuestDB b is away');
      return nothingAside();
    });
    if (why === 'it does not answer') away.add('b');
    const [own, both] = [messageOf(1), messageOf(2, dataId)];
    const { retryLater } = await write(own, both);
    expect([...retryLater]).toEqual([both]);
    expect(calls.at(-1)).toEqual(['default', [own, both]]);
    expect(waits).toEqual([[dataId > 200 ? 'zzz' : 'b', why]]);
  });

  // Neither its old sink nor its new one writes such a row: acknowledged, it would be nowhere.
  it.each(['b', 'default'])(
    'lets a message come again whose placement becomes known while %s is written to',
    async (during) => {
      const { placed, write } = routed((instance) => {
        if (instance === during) placed.set(1, 'b').set(103, 'default');
        return nothingAside();
      });
      const [own, both, there, back] = [messageOf(1), messageOf(2, 102), messageOf(102), messageOf(103)];
      const { retryLater } = await write(own, both, there, back);
      expect([...retryLater]).toEqual([own, back]);
    },
  );

  it('lets a message come again whose placement is another only for the moment of a write', async () => {
    const { placed, write } = routed(async (instance) => {
      if (instance === 'b') {
        await Promise.resolve();
        placed.set(1, 'b');
      } else placed.delete(1);
      return nothingAside();
    });
    const [own, both] = [messageOf(1), messageOf(2, 102)];
    expect([...(await write(own, both)).retryLater]).toEqual([own]);
  });

  // One that hangs would hold up the rows of this stream for a store timeout with each batch.
  it('tries an instance that took nothing again ten seconds later, and no batch waits for that', async () => {
    const there: PromiseWithResolvers<Written<MetricsEnvelope>>[] = [];
    const { calls, waits, clock, write } = routed((instance) => {
      if (instance === 'default') return nothingAside();
      const answer = Promise.withResolvers<Written<MetricsEnvelope>>();
      there.push(answer);
      return answer.promise;
    });
    const late = new Fault('transient', 'questdb_unavailable', 'QuestDB b is late');
    const both = messageOf(1, 102);
    const first = write(both);
    there[0]?.reject(late);
    expect([...(await first).retryLater]).toEqual([both]);
    clock.now = 9_999;
    expect([...(await write(both)).retryLater]).toEqual([both]);
    expect(there.length).toBe(1);
    clock.now = 10_000;
    // It does not answer, and these are not kept.
    for (const _ of [1, 2]) expect([...(await write(both)).retryLater]).toEqual([both]);
    expect(there.length).toBe(2);
    there[1]?.reject(late);
    await expect.poll(() => waits.filter(([, why]) => why === late.message).length).toBe(2);
    clock.now = 19_999;
    await write(both);
    expect(there.length).toBe(2);
    clock.now = 20_000;
    await write(both);
    there[2]?.resolve(nothingAside());
    await new Promise((resolve) => setImmediate(resolve));
    const last = write(both);
    there[3]?.resolve(nothingAside());
    expect((await last).retryLater.size).toBe(0);
    expect(calls.filter(([instance]) => instance === 'default').length).toBe(7);
  });

  // The worker then tries the whole batch again: it keeps the messages alive meanwhile.
  it('throws when its own instance is away', async () => {
    const { write } = routed((instance) => {
      if (instance === 'default') throw new Fault('transient', 'questdb_unavailable', 'away');
      return nothingAside();
    });
    await expect(write(messageOf(1, 102))).rejects.toMatchObject({ kind: 'transient' });
  });

  it('merges what the instances dead-lettered, returned and omitted as purged', async () => {
    const both = messageOf(1, 102);
    const aside = (why: string) => ({
      reason: 'row_refused' as const,
      why,
      bytes: new Uint8Array(),
      identity: why,
      items: 1,
      place: {},
    });
    const { write } = routed((instance) => ({
      deadLettered: new Map([[both, [aside(instance)]]]),
      retryLater: new Set(instance === 'b' ? [both] : []),
      purged: new Set([instance === 'b' ? 102 : 1]),
    }));
    const { deadLettered, retryLater, purged } = await write(both);
    expect(deadLettered.get(both)?.map(({ why }) => why)).toEqual(['b', 'default']);
    expect([...retryLater]).toEqual([both]);
    expect(purged).toEqual(new Set([1, 102]));
  });
});
