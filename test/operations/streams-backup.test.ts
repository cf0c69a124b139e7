import { once } from 'node:events';
import { rename, stat, truncate } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { nanos, headers as newHeaders } from '@nats-io/transport-node';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { requirePaused, withPausedConsumers } from '../../src/bus/consumer-pause.ts';
import { openKvBucket } from '../../src/bus/kv.ts';
import { deleteMessage } from '../../src/bus/outbox.ts';
import { createStreamReader, type StoredMessage } from '../../src/bus/stream-reader.ts';
import { ensureTopology } from '../../src/bus/topology.ts';
import { readManifest } from '../../src/cli/streams-backup/folder.ts';
import { putBack } from '../../src/cli/streams-backup/put-back.ts';
import { takeBackup } from '../../src/cli/streams-backup/take.ts';
import { withInstances } from '../../src/config/instance-streams.ts';
import { loadPipelines } from '../../src/config/pipelines.ts';
import { epochGap, idGap, raiseAfterRestore } from '../../src/directory/after-restore.ts';
import { epochParts, takeEpoch } from '../../src/directory/epoch.ts';
import { buckets, systemKeys } from '../../src/directory/keys.ts';
import { openAudit } from '../../src/metadata/audit/audit.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { startEngines } from '../support/stack/engines.ts';
import { tempFolder } from '../support/stack/temp-folder.ts';
import { until } from '../support/until.ts';

const root = resolve(import.meta.dirname, '../..');
const pipelines = loadPipelines(join(root, 'pipelines'));
const quiet = (): void => undefined;

/** A NATS of its own, empty. */
const emptyNats = async (): Promise<Bus> => {
  const engines = await startEngines({ nats: true });
  onTestFinished(() => engines.stop());
  const bus = await connectBus(engines.nats.url, 'test');
  onTestFinished(() => bus.close());
  return bus;
};

/** A NATS with the streams and buckets of a deployment. */
const filledNats = async (): Promise<Bus> => {
  const bus = await emptyNats();
  await ensureTopology(bus, pipelines.streams);
  for (const name of [buckets.records, buckets.columns, buckets.system]) await openKvBucket(bus, name);
  return bus;
};

const publish = async (bus: Bus, subject: string, text: string, id = text): Promise<void> => {
  const headers = newHeaders();
  headers.set('Tidemark-Envelope', '1');
  await bus.js.publish(subject, text, { msgID: id, headers });
};

const messagesOf = async (bus: Bus, stream: string): Promise<readonly StoredMessage[]> =>
  (await createStreamReader(bus).readForwards(stream, { limit: 1000 })).entries;

/** What a worker is given, each acknowledged. */
const consume = async (bus: Bus, stream: string, consumer: string, count: number): Promise<string[]> => {
  const pulled = await (await bus.js.consumers.get(stream, consumer)).fetch({
    max_messages: count,
    expires: 5_000,
  });
  const texts: string[] = [];
  for await (const message of pulled) {
    texts.push(message.string());
    await message.ackAck();
    if (texts.length === count) break;
  }
  return texts;
};

const modeOf = async (path: string): Promise<string> => ((await stat(path)).mode & 0o777).toString(8);

describe('a backup of the streams and records', () => {
  // A restored position of a consumer could be ahead of the restored messages: it would skip later ones.
  it('is restored message by message, and every message is delivered, later ones too', async () => {
    const bus = await filledNats();
    for (let index = 1; index <= 5; index++) await publish(bus, 'metrics.0', `m${index}`);
    expect(await consume(bus, 'METRICS', 'questdb', 2)).toEqual(['m1', 'm2']);
    for (let index = 1; index <= 3; index++) await publish(bus, 'deadletter.metrics', `d${index}`);
    await deleteMessage(bus, 'DEADLETTER', 2);
    await publish(bus, 'logs.0', 'l1');
    await publish(bus, 'otelmetrics.0', 'p1');
    await (await openKvBucket(bus, buckets.records)).put('data_source.1500001', { token: 'secret' });
    const copied = ['METRICS', 'LOGS', 'OTEL_METRICS', 'DEADLETTER'];
    const before = await Promise.all(copied.map((stream) => messagesOf(bus, stream)));
    expect(before.map(({ length }) => length)).toEqual([3, 1, 1, 2]);

    const folder = join(await tempFolder(), 'backup');
    await takeBackup(bus, pipelines, folder, quiet);
    const fresh = await emptyNats();
    await putBack(fresh, folder, quiet);

    expect(await Promise.all(copied.map((stream) => messagesOf(fresh, stream)))).toEqual(before);
    expect(await (await openKvBucket(fresh, buckets.records)).get('data_source.1500001')).toEqual({
      value: { token: 'secret' },
      revision: 1,
    });
    await ensureTopology(fresh, pipelines.streams);
    await publish(fresh, 'metrics.0', 'm6');
    expect(await consume(fresh, 'METRICS', 'questdb', 4)).toEqual(['m3', 'm4', 'm5', 'm6']);
    expect(await consume(fresh, 'LOGS', 'clickhouse', 1)).toEqual(['l1']);
    expect(await consume(fresh, 'OTEL_METRICS', 'clickhouse', 1)).toEqual(['p1']);
  });

  // Epochs move on by more than one a minute when processes start often: the clock alone would give them out again.
  it('never gives out an epoch or an id again that was given out after it', async () => {
    const bus = await filledNats();
    const system = await openKvBucket(bus, buckets.system);
    await system.put(systemKeys.counter('data_id'), 1_500_001);
    await takeEpoch(system, Date.now());
    const folder = join(await tempFolder(), 'backup');
    await takeBackup(bus, pipelines, folder, quiet);
    let last = 0;
    for (let start = 0; start < 20; start++) last = await takeEpoch(system, Date.now());
    const fresh = await emptyNats();
    await putBack(fresh, folder, quiet);
    const restored = await openKvBucket(fresh, buckets.system);
    expect(await takeEpoch(restored, Date.now())).toBeGreaterThan(last);
    expect((await restored.get(systemKeys.counter('data_id')))?.value).toBe(1_500_001 + idGap);
    expect((await restored.get(systemKeys.counter('app_id')))?.value).toBe(idGap);
  });

  // With the settings of one instance alone, the command would omit the messages for the others.
  it('holds the points of every QuestDB instance, also of one that its settings lack', async () => {
    const bus = await emptyNats();
    await ensureTopology(bus, withInstances(pipelines, ['default', 'b']).streams);
    await publish(bus, 'metrics-b.0', 'm1');
    const folder = join(await tempFolder(), 'backup');
    const taken = (await takeBackup(bus, pipelines, folder, quiet)).map(({ stream }) => stream);
    expect(taken.indexOf('METRICS-b')).toBeLessThan(taken.indexOf('LEDGER'));
    const fresh = await emptyNats();
    await putBack(fresh, folder, quiet);
    expect((await messagesOf(fresh, 'METRICS-b')).length).toBe(1);
  });

  // A command that was killed must not keep the stores waiting, and a role that starts meanwhile must not spoil the copy.
  it('pauses the workers of a stream for minutes at most, even if a role starts meanwhile, and lets them continue', async () => {
    const bus = await filledNats();
    const { consumers } = await bus.manager();
    const pauseEnd = async () => (await consumers.info('METRICS', 'questdb')).config.pause_until;
    const during = await withPausedConsumers(bus, 'METRICS', async () => {
      const until = await pauseEnd();
      await ensureTopology(bus, pipelines.streams);
      expect(await pauseEnd()).toBe(until);
      expect((await consumers.info('METRICS', 'questdb')).paused).toBe(true);
      return Date.parse(until ?? '') - Date.now();
    });
    expect(during).toBeGreaterThan(60_000);
    expect(during).toBeLessThan(300_000);
    expect(await pauseEnd()).toBeUndefined();
  });

  it('leaves a pause that an operator made as it was', async () => {
    const bus = await filledNats();
    const { consumers } = await bus.manager();
    const until = new Date(Date.now() + 60_000);
    await consumers.pause('METRICS', 'questdb', until);
    await withPausedConsumers(bus, 'METRICS', async () => undefined);
    expect(Date.parse((await consumers.info('METRICS', 'questdb')).config.pause_until ?? '')).toBe(
      until.getTime(),
    );
  });

  // By the clock of this machine the pause had passed when it began, or lasted for hours after a kill.
  it.each([-600, 36_000])(
    'pauses the workers of a stream for minutes on a machine whose clock is %d s off',
    async (offSeconds) => {
      const bus = await filledNats();
      const { consumers } = await bus.manager();
      onTestFinished(() => void vi.useRealTimers());
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + offSeconds * 1000 });
      const { paused, pause_remaining: left } = await withPausedConsumers(bus, 'METRICS', () =>
        consumers.info('METRICS', 'questdb'),
      );
      expect(paused).toBe(true);
      expect(left).toBeGreaterThan(nanos(60_000));
      expect(left).toBeLessThanOrEqual(nanos(180_000));
      expect((await consumers.info('METRICS', 'questdb')).config.pause_until).toBeUndefined();
    },
  );

  it('ends a pause that is longer than its own only with its option, and no other pause', async () => {
    const bus = await filledNats();
    const { consumers } = await bus.manager();
    const pauseEnd = async () => (await consumers.info('METRICS', 'questdb')).config.pause_until;
    const hours = new Date(Date.now() + 36_000_000);
    await consumers.pause('METRICS', 'questdb', hours);
    await withPausedConsumers(bus, 'METRICS', async () => undefined);
    expect(Date.parse((await pauseEnd()) ?? '')).toBe(hours.getTime());
    const options = { isLongPauseEnded: true };
    const during = await withPausedConsumers(bus, 'METRICS', () => pauseEnd(), options);
    expect(Date.parse(during ?? '')).toBeLessThan(hours.getTime());
    expect(await pauseEnd()).toBeUndefined();
    const seconds = new Date(Date.now() + 100_000);
    await consumers.pause('METRICS', 'questdb', seconds);
    await withPausedConsumers(bus, 'METRICS', async () => undefined, options);
    expect(Date.parse((await pauseEnd()) ?? '')).toBe(seconds.getTime());
  });

  it('fails where the server does not say that it pauses', () => {
    const failed = expect.objectContaining({ kind: 'transient', code: 'consumer_not_paused' });
    expect(() => requirePaused('ledger', { paused: false })).toThrow(failed);
    expect(() => requirePaused('ledger', { paused: true, pause_remaining: nanos(60_000) })).toThrow(failed);
    requirePaused('ledger', { paused: true, pause_remaining: nanos(180_000) });
  });

  it('is readable for its owner alone', async () => {
    const bus = await filledNats();
    const folder = join(await tempFolder(), 'backup');
    const entries = await takeBackup(bus, pipelines, folder, quiet);
    expect(await modeOf(folder)).toBe('700');
    for (const file of ['backup.json', ...entries.map((entry) => entry.file)])
      expect(await modeOf(join(folder, file))).toBe('600');
  });

  it('is not written into a folder that holds something', async () => {
    const bus = await filledNats();
    const folder = join(await tempFolder(), 'backup');
    await takeBackup(bus, pipelines, folder, quiet);
    await expect(takeBackup(bus, pipelines, folder, quiet)).rejects.toMatchObject({
      code: 'folder_not_empty',
    });
  });

  // A letter that goes back into METRICS after METRICS was copied, and out of DEADLETTER before that is, would be in neither.
  it('fails when dead letters leave while it is taken', async () => {
    const bus = await filledNats();
    await publish(bus, 'deadletter.metrics', 'letter');
    const folder = join(await tempFolder(), 'backup');
    let deleted: Promise<void> | undefined;
    const taking = takeBackup(bus, pipelines, folder, ({ stream }) => {
      if (stream === 'METRICS') deleted = deleteMessage(bus, 'DEADLETTER', 1);
    });
    await expect(taking).rejects.toMatchObject({ code: 'dead_letters_moved' });
    await deleted;
    await expect(putBack(bus, folder, quiet)).rejects.toMatchObject({ code: 'backup_unusable' });
  });

  // ClickHouse fixes the state of its copy at the start: a line that leaves LEDGER meanwhile would be in neither.
  it('holds each line of LEDGER that ClickHouse gets while its copy takes longer than a pause may', async () => {
    const bus = await filledNats();
    await publish(bus, 'ledger.transfer', 'line');
    const folder = join(await tempFolder(), 'backup');
    const databases = {
      questdb: async () => undefined,
      // Waits until the worker of LEDGER may continue, and has the line.
      clickhouse: async () => {
        expect(await consume(bus, 'LEDGER', 'ledger', 1)).toEqual(['line']);
      },
    };
    const entries = await takeBackup(bus, pipelines, folder, quiet, databases, { ledgerHeldMs: 1 });
    expect(entries.filter(({ stream }) => stream === 'LEDGER')).toHaveLength(1);
    const fresh = await emptyNats();
    await putBack(fresh, folder, quiet);
    expect(await messagesOf(fresh, 'LEDGER')).toHaveLength(1);
  });

  // Such a line is in neither copy, and nobody would name its items.
  it('fails when a line leaves LEDGER while ClickHouse is copied', async () => {
    const bus = await filledNats();
    await publish(bus, 'ledger.transfer', 'line');
    const databases = {
      questdb: async () => undefined,
      clickhouse: async () => {
        await (await bus.manager()).consumers.resume('LEDGER', 'ledger');
        expect(await consume(bus, 'LEDGER', 'ledger', 1)).toEqual(['line']);
      },
    };
    const taking = takeBackup(bus, pipelines, join(await tempFolder(), 'backup'), quiet, databases);
    await expect(taking).rejects.toMatchObject({ kind: 'transient', code: 'stream_moved' });
  });

  // Transfer gathers lines for up to 20 s before it writes them: they would be written after ClickHouse fixed its state.
  it('waits with ClickHouse for lines that transfer gathers', async () => {
    const bus = await filledNats();
    await publish(bus, 'ledger.transfer', 'line');
    const line = await (await bus.js.consumers.get('LEDGER', 'ledger')).next({ expires: 5_000 });
    let looks = Number.NEGATIVE_INFINITY;
    const manager = () => {
      looks++;
      return bus.manager();
    };
    let pending: number | undefined;
    const databases = {
      questdb: async () => {
        looks = 0;
      },
      clickhouse: async () => {
        pending = (await (await bus.manager()).consumers.info('LEDGER', 'ledger')).num_ack_pending;
      },
    };
    const looking: Bus = Object.create(bus, { manager: { value: manager } });
    onTestFinished(() => void vi.useRealTimers());
    vi.useFakeTimers({ toFake: ['performance'] });
    const taking = takeBackup(looking, pipelines, join(await tempFolder(), 'backup'), quiet, databases);
    await until('it waits for the line', () => looks > 5);
    vi.advanceTimersByTime(20_000);
    const seen = looks;
    await until('it goes on to wait', () => looks > seen + 3 || pending !== undefined);
    await line?.ackAck();
    await taking;
    expect(pending).toBe(0);
  });

  /** When the pause of a consumer ends; undefined for one that gets messages. */
  const pauseOf = async (bus: Bus, stream: string, consumer: string): Promise<string | undefined> =>
    (await (await bus.manager()).consumers.info(stream, consumer)).config.pause_until;

  // Its consumers would wait for minutes, and ClickHouse would go on with a copy that nothing needs.
  it('that is stopped while ClickHouse is copied ends that copy, and lets the workers of LEDGER continue before', async () => {
    const bus = await filledNats();
    const folder = join(await tempFolder(), 'backup');
    const stopping = new AbortController();
    let paused: (string | undefined)[] = [];
    const databases = {
      questdb: async () => undefined,
      clickhouse: async (signal: AbortSignal) => {
        paused = [await pauseOf(bus, 'LEDGER', 'ledger')];
        stopping.abort();
        expect(signal.aborted).toBe(true);
        await expect.poll(() => pauseOf(bus, 'LEDGER', 'ledger')).toBeUndefined();
        paused.push(undefined);
      },
    };
    const taking = takeBackup(bus, pipelines, folder, quiet, databases, { signal: stopping.signal });
    await expect(taking).rejects.toMatchObject({
      code: 'copy_failed',
      message: expect.stringContaining('stopped'),
    });
    expect(paused).toEqual([expect.any(String), undefined]);
  });

  it('that is stopped in a copy of a stream copies none after it, and pauses no consumer', async () => {
    const bus = await filledNats();
    const folder = join(await tempFolder(), 'backup');
    const stopping = new AbortController();
    const copied: string[] = [];
    const taking = takeBackup(
      bus,
      pipelines,
      folder,
      ({ stream }) => {
        copied.push(stream);
        stopping.abort();
      },
      undefined,
      { signal: stopping.signal },
    );
    await expect(taking).rejects.toMatchObject({ code: 'copy_failed' });
    expect(copied).toHaveLength(1);
    expect(await pauseOf(bus, 'TRACES', 'clickhouse')).toBeUndefined();
    await expect(putBack(bus, folder, quiet)).rejects.toMatchObject({ code: 'backup_unusable' });
  });

  it('that fails at LEDGER ends the copy of ClickHouse', async () => {
    const bus = await filledNats();
    const folder = join(await tempFolder(), 'backup');
    const stop = new Error('disk full');
    let isEnded = false;
    const databases = {
      questdb: async () => undefined,
      clickhouse: async (signal: AbortSignal) => {
        await once(signal, 'abort');
        isEnded = true;
      },
    };
    const onStream = ({ stream }: { stream: string }): void => {
      if (stream === 'LEDGER') throw stop;
    };
    const taking = takeBackup(bus, pipelines, folder, onStream, databases, { ledgerHeldMs: 1 });
    await expect(taking).rejects.toBe(stop);
    expect(isEnded).toBe(true);
  });

  it('reports a server without streams of Tidemark', async () => {
    const folder = join(await tempFolder(), 'backup');
    await expect(takeBackup(await emptyNats(), pipelines, folder, quiet)).rejects.toMatchObject({
      code: 'nothing_to_back_up',
    });
  });
});

describe('a restore', () => {
  it('changes nothing where a file of the backup was damaged', async () => {
    const bus = await filledNats();
    await publish(bus, 'metrics.0', 'm1');
    const folder = join(await tempFolder(), 'backup');
    const entries = await takeBackup(bus, pipelines, folder, quiet);
    const last = entries.at(-1);
    await truncate(join(folder, last?.file ?? ''), (last?.file_bytes ?? 0) - 1);
    const fresh = await emptyNats();
    await expect(putBack(fresh, folder, quiet)).rejects.toMatchObject({ code: 'backup_unusable' });
    expect((await (await fresh.manager()).getAccountInfo()).streams).toBe(0);
  });

  // Roles that were not stopped make empty streams; messages put under them would pass for new ones.
  // An operator who restores a cluster's backup for a test has one server.
  it('of more copies than there are servers names the setting of their number', async () => {
    const folder = join(await tempFolder(), 'backup');
    await takeBackup(await filledNats(), pipelines, folder, quiet);
    const fresh = await emptyNats();
    await expect(putBack({ ...fresh, replicas: 3 }, folder, quiet)).rejects.toThrow(
      'set TIDEMARK_NATS_REPLICAS=1',
    );
    await putBack({ ...fresh, replicas: 1 }, folder, quiet);
    expect((await (await fresh.manager()).getAccountInfo()).streams).toBeGreaterThan(0);
  });

  it('changes nothing where a stream exists with other content', async () => {
    const bus = await filledNats();
    const folder = join(await tempFolder(), 'backup');
    await takeBackup(bus, pipelines, folder, quiet);
    await publish(bus, 'metrics.0', 'later');
    await expect(putBack(bus, folder, quiet)).rejects.toMatchObject({ code: 'restore_not_empty' });
    expect((await messagesOf(bus, 'METRICS')).length).toBe(1);
  });

  it('that was interrupted is finished by the same call', async () => {
    const bus = await filledNats();
    await publish(bus, 'metrics.0', 'm1');
    await publish(bus, 'traces.0', 't1');
    const folder = join(await tempFolder(), 'backup');
    await takeBackup(bus, pipelines, folder, quiet);
    const fresh = await emptyNats();
    const stop = new Error('interrupted');
    await expect(
      putBack(fresh, folder, ({ stream }) => {
        if (stream === 'METRICS') throw stop;
      }),
    ).rejects.toBe(stop);
    await putBack(fresh, folder, quiet);
    expect((await messagesOf(fresh, 'METRICS')).length).toBe(1);
    expect((await messagesOf(fresh, 'TRACES')).length).toBe(1);
  });

  it('that was interrupted while it raised the numbers is finished by the same call', async () => {
    const bus = await filledNats();
    const system = await openKvBucket(bus, buckets.system);
    await system.put(systemKeys.counter('data_id'), 1_500_001);
    const last = await takeEpoch(system, Date.now());
    const folder = join(await tempFolder(), 'backup');
    await takeBackup(bus, pipelines, folder, quiet);
    const fresh = await emptyNats();
    const stop = new Error('interrupted');
    await expect(
      putBack(fresh, folder, ({ stream }) => {
        if (stream === `KV_${buckets.system}`) throw stop;
      }),
    ).rejects.toBe(stop);
    const restored = await openKvBucket(fresh, buckets.system);
    const cutOff = {
      ...restored,
      update: async (key: string, value: unknown, revision: number) => {
        if (key === systemKeys.counter('data_id')) throw stop;
        return restored.update(key, value, revision);
      },
    };
    await expect(raiseAfterRestore(cutOff, Date.now())).rejects.toBe(stop);
    const stored = (await restored.get(systemKeys.boot))?.value;
    expect(stored).toBeGreaterThanOrEqual(Math.floor(last / epochParts) + epochGap);
    await putBack(fresh, folder, quiet);
    expect((await restored.get(systemKeys.counter('data_id')))?.value).toBe(1_500_001 + idGap);
  });

  // A second restore would change nothing, and pass for one that brought everything back.
  it('that is over is not done again', async () => {
    const bus = await filledNats();
    const folder = join(await tempFolder(), 'backup');
    await takeBackup(bus, pipelines, folder, quiet);
    const fresh = await emptyNats();
    const { raised } = await putBack(fresh, folder, quiet);
    // Roles change the configuration of streams when they start.
    await ensureTopology(fresh, pipelines.streams);
    await expect(putBack(fresh, folder, quiet)).rejects.toMatchObject({ code: 'restore_not_empty' });
    const restored = await openKvBucket(fresh, buckets.system);
    expect((await restored.get(systemKeys.boot))?.value).toBe(raised?.boot);
  });

  // A token that was revoked after the backup is valid again, and the log ended before it.
  it('stands in the audit log with the time of the backup, after which everything is undone', async () => {
    const bus = await filledNats();
    const folder = join(await tempFolder(), 'backup');
    await takeBackup(bus, pipelines, folder, quiet);
    const { started_at: at, finished_at } = await readManifest(folder);
    const fresh = await emptyNats();
    expect((await putBack(fresh, folder, quiet)).undoneSince).toBe(at);
    // As metadata does at its start.
    const system = await openKvBucket(fresh, buckets.system);
    const audit = openAudit(fresh, system, createLog('metadata', 'silent'), 200);
    audit.start();
    onTestFinished(() => audit.stop());
    const entries = await until('the entry', async () => {
      const { items } = await audit.list({ limit: 10 });
      return items.length > 0 && items;
    });
    expect(entries).toMatchObject([
      {
        ...{ action: 'records.restore', outcome: 'done', actor: { token_id: null, name: 'cli' } },
        request: { backup_started_at: at, backup_finished_at: finished_at },
      },
    ]);
  });

  it('takes no folder that has no closing file', async () => {
    const bus = await filledNats();
    const folder = join(await tempFolder(), 'backup');
    await takeBackup(bus, pipelines, folder, quiet);
    await rename(join(folder, 'backup.json'), join(folder, 'backup.json.draft'));
    await expect(putBack(await emptyNats(), folder, quiet)).rejects.toMatchObject({
      code: 'backup_unusable',
    });
  });
});
