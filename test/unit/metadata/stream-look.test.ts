import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import type { StreamHealth } from '../../../src/bus/stream-state.ts';
import { loadPipelines } from '../../../src/config/pipelines.ts';
import { loadSettings } from '../../../src/config/settings.ts';
import { createStreamLook } from '../../../src/metadata/stream-look.ts';
import { createWatchMetrics } from '../../../src/telemetry/watch-metrics.ts';

const { streams } = loadPipelines(loadSettings({}).pipelinesFolder);

const healthOf = (name: string): StreamHealth => ({
  name,
  messages: 3,
  bytes: 300,
  bytesMax: 1000,
  ackPending: 0,
  oldestAgeSeconds: 400,
  lastSequence: 3,
  begin: 1,
  pending: 3,
  redelivered: 0,
  waitingPulls: 0,
  copiesBehind: 0,
});

const setup = () => {
  const registry = new Registry();
  /** Streams that NATS does not answer for, and those that it does not have. */
  const state = { away: new Set<string>(), gone: new Set<string>(), atMs: 0 };
  const streamLook = createStreamLook({
    streams,
    metrics: createWatchMetrics(registry),
    elapsed: () => state.atMs,
    health: async ({ name }) => {
      if (state.away.has(name)) throw new Error('no answer');
      return state.gone.has(name) ? undefined : healthOf(name);
    },
  });
  /** The figures of the stream by their metrics. */
  const figuresOf = async (stream: string): Promise<Record<string, number>> => {
    const figures: Record<string, number> = {};
    for (const { name, values } of await registry.getMetricsAsJSON())
      for (const { labels, value } of values)
        if (Object.values(labels).includes(stream)) figures[name] = Number(value);
    return figures;
  };
  return { state, streamLook, figuresOf };
};

it('figures of streams that were not read for a minute are none: no alarm goes on about them', async () => {
  const { state, streamLook, figuresOf } = setup();
  await streamLook.look();
  const seen = await figuresOf('TRACES');
  expect(seen).toMatchObject({
    tidemark_stream_missing: 0,
    tidemark_stream_oldest_age_seconds: 400,
    tidemark_consumer_waiting_pulls: 0,
  });
  state.away = new Set(streams.map(({ name }) => name));
  state.atMs = 60_000;
  await expect(streamLook.look()).rejects.toThrow('no answer');
  expect(await figuresOf('TRACES')).toEqual(seen);
  state.atMs = 60_001;
  await expect(streamLook.look()).rejects.toThrow('no answer');
  expect(await figuresOf('TRACES')).toEqual({});
  state.away.clear();
  await streamLook.look();
  expect(await figuresOf('TRACES')).toEqual(seen);
});

it('a stream that is missing for long stays so in the metrics, and hides no figure of the others', async () => {
  const { state, streamLook, figuresOf } = setup();
  state.gone.add('METRICS');
  for (state.atMs = 0; state.atMs < 600_000; state.atMs += 50_000) {
    await expect(streamLook.look()).rejects.toThrow('missing: METRICS');
    expect(await figuresOf('METRICS')).toEqual({ tidemark_stream_missing: 1 });
    expect(await figuresOf('TRACES')).toMatchObject({ tidemark_stream_oldest_age_seconds: 400 });
  }
});

it('one stream that NATS does not answer for takes only its own figures away', async () => {
  const { state, streamLook, figuresOf } = setup();
  await streamLook.look();
  const [first, ...others] = streams.map(({ name }) => name);
  if (first === undefined) throw new Error('no streams');
  state.away.add(first);
  for (state.atMs = 30_000; state.atMs < 300_000; state.atMs += 30_000)
    await expect(streamLook.look()).rejects.toThrow('no answer');
  expect(await figuresOf(first)).toEqual({});
  for (const other of others)
    expect(await figuresOf(other)).toMatchObject({
      tidemark_stream_missing: 0,
      tidemark_stream_oldest_age_seconds: 400,
    });
});

it('a look asks for all streams at once: while NATS is away it waits for one answer, not for each', async () => {
  const asked: string[] = [];
  const { promise: nothing, reject } = Promise.withResolvers<undefined>();
  const streamLook = createStreamLook({
    streams,
    metrics: createWatchMetrics(new Registry()),
    elapsed: () => 0,
    health: ({ name }) => {
      asked.push(name);
      return nothing;
    },
  });
  const look = streamLook.look();
  expect(asked).toEqual(streams.map(({ name }) => name));
  reject(new Error('no answer'));
  await expect(look).rejects.toThrow('no answer');
});
