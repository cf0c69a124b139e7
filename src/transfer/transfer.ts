import { connectBusWhenUp } from '../bus/connection.ts';
import { createPublisher } from '../bus/publisher.ts';
import { startPuller } from '../bus/puller.ts';
import { ensureTopology } from '../bus/topology.ts';
import { loadPipelines } from '../config/pipelines.ts';
import { engineUrls, type Settings } from '../config/settings.ts';
import { createDeadLetters } from '../dead-letters/dead-letters.ts';
import { messageOf } from '../model/fault.ts';
import { createCountingRecorder } from '../outcomes/recorder.ts';
import { createQuestdbWriter } from '../stores/questdb/writer.ts';
import { createLog } from '../telemetry/log.ts';
import { createTransferMetrics } from '../telemetry/metrics.ts';
import { startOpsServer } from '../telemetry/ops-server.ts';
import { stopSignal, whenStopped } from '../telemetry/stop-signal.ts';
import { untilDone } from '../telemetry/until-done.ts';
import { createMetricsLane } from './metrics-lane.ts';
import { createWorker } from './worker.ts';

/** Two pulls' worth: one being written, one gathered meanwhile. */
const pullsHeld = 2;

const drainMs = 5_000;

/**
 * A consumer process (design section 2): METRICS -> validate time -> QuestDB, dead letters beside it. Any number of them share
 * the consumers. Runs until SIGTERM or SIGINT, then writes and settles what it holds. Throws a permanent Fault for settings
 * that cannot be used.
 */
export const runTransfer = async (settings: Settings): Promise<void> => {
  const { metrics: pipeline, streams } = loadPipelines(settings.pipelinesFolder, settings.schemasFolder);
  const log = createLog('transfer', settings.logLevel);
  const stop = stopSignal();
  const metrics = createTransferMetrics();
  const state: {
    nats: () => string | undefined;
    questdb: () => string | undefined;
    envelope: () => string | undefined;
  } = {
    nats: () => 'not connected yet',
    questdb: () => undefined,
    envelope: () => undefined,
  };
  const ops = await startOpsServer({
    host: settings.host,
    port: settings.transfer.opsPort,
    variable: 'TIDEMARK_TRANSFER_OPS_PORT',
    registry: metrics.registry,
    checks: { nats: () => state.nats(), questdb: () => state.questdb(), envelope: () => state.envelope() },
  });

  const urls = engineUrls(settings);
  const bus = await connectBusWhenUp(urls.nats, 'tidemark-transfer', stop, (error) =>
    log.warn({ error: messageOf(error) }, 'waiting for NATS'),
  );
  await untilDone(
    () => ensureTopology(bus, streams),
    stop,
    (error) => log.warn({ error: messageOf(error) }, 'waiting for JetStream'),
  );

  const publisher = createPublisher(bus, pipeline.publish);
  const writer = createQuestdbWriter({ url: urls.questdb, timeoutMs: pipeline.storeTimeoutMs });
  const pipelineLabel = { pipeline: 'metrics' };
  const worker = createWorker(
    {
      stream: pipeline.consumer.stream,
      ackWaitMs: pipeline.consumer.ackWaitMs,
      rowsPerWriteMax: pipeline.rowsPerWriteMax,
      heldBytesMax: pullsHeld * pipeline.pullBytesMax,
      writeIntervalMs: 0,
    },
    {
      lane: createMetricsLane(writer, (table) =>
        log.error({ table }, 'QuestDB has no such table; its messages wait'),
      ),
      deadLetters: createDeadLetters(publisher),
      outcomes: createCountingRecorder({
        stored: (items) => metrics.stored.inc(pipelineLabel, items),
        rows: (rows) => metrics.rows.inc(pipelineLabel, rows),
        dropped: (reason, items) => metrics.dropped.inc({ ...pipelineLabel, reason }, items),
      }),
      metrics,
      log,
      now: Date.now,
      onRoom: () => puller.roomMade(),
    },
  );
  const puller = startPuller(bus, {
    stream: pipeline.consumer.stream,
    consumer: pipeline.consumer.name,
    bytesMax: pipeline.pullBytesMax,
    hasRoom: () => worker.hasRoom,
    onDelivery: (delivery) => worker.take(delivery),
    onFault: (error) => log.warn({ error: messageOf(error) }, 'a pull failed'),
  });
  bus.onDisconnect(() => {
    log.warn({}, 'NATS connection lost');
    worker.forgetUnsent();
  });
  bus.onReconnect(() => log.info({}, 'NATS connection is back'));
  state.nats = () => (bus.connected ? undefined : 'the connection is lost');
  state.questdb = () => worker.storeProblem;
  state.envelope = () =>
    worker.newerVersion === undefined
      ? undefined
      : `version ${worker.newerVersion} is newer than this program`;
  log.info({ ops: ops.port }, 'transfer takes messages');

  await whenStopped(stop);
  log.info({}, 'transfer stops');
  await puller.stop();
  await worker.drain(drainMs);
  publisher.close();
  await writer.close();
  await bus.close();
  await ops.stop();
};
