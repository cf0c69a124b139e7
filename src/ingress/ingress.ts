import type { Server } from 'node:http';
import { connectBusWhenUp } from '../bus/connection.ts';
import { openKvBucket } from '../bus/kv.ts';
import { createPublisher } from '../bus/publisher.ts';
import { ensureTopology } from '../bus/topology.ts';
import { loadPipelines } from '../config/pipelines.ts';
import { engineUrls, type Settings } from '../config/settings.ts';
import { takeBootNumber } from '../directory/boot-number.ts';
import { createColumnNames } from '../directory/column-names.ts';
import { startDirectory } from '../directory/directory.ts';
import { buckets } from '../directory/keys.ts';
import { messageOf } from '../model/fault.ts';
import { listenFault } from '../telemetry/listen-fault.ts';
import { createLog } from '../telemetry/log.ts';
import { createIngressMetrics } from '../telemetry/metrics.ts';
import { startOpsServer } from '../telemetry/ops-server.ts';
import { stopSignal, whenStopped } from '../telemetry/stop-signal.ts';
import { untilDone } from '../telemetry/until-done.ts';
import { createBytesInFlight, createRateLimiter } from './admission.ts';
import { createBaseCounter } from './identity.ts';
import { createPushHandler } from './push/handler.ts';
import { createPushPublisher } from './push/publish.ts';
import { createPushServer } from './push/server.ts';

const listen = (server: Server, host: string, port: number, variable: string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', (error) => reject(listenFault(error, port, variable)));
    server.listen(port, host, resolve);
  });

/** Stops taking connections and resolves when the requests at hand are answered. */
const drain = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    // A connection that was busy at first is closed once it is idle, so that keep-alive cannot hold up the stop.
    const sweep = setInterval(() => server.closeIdleConnections(), 50);
    server.close(() => {
      clearInterval(sweep);
      resolve();
    });
    server.closeIdleConnections();
  });

/**
 * The receivers (design section 2): producer -> push on 10205 -> METRICS. Runs until SIGTERM or SIGINT, then answers what it
 * holds and ends. Throws a permanent Fault for settings that cannot be used and ports that are taken.
 */
export const runIngress = async (settings: Settings): Promise<void> => {
  const { metrics: pipeline, streams } = loadPipelines(settings.pipelinesFolder, settings.schemasFolder);
  const log = createLog('ingress', settings.logLevel);
  const stop = stopSignal();
  const metrics = createIngressMetrics();
  const state: { unready: string | undefined } = { unready: 'the receiver is starting' };
  let natsProblem = (): string | undefined => 'not connected yet';
  const ops = await startOpsServer({
    host: settings.host,
    port: settings.ingress.opsPort,
    variable: 'TIDEMARK_INGRESS_OPS_PORT',
    registry: metrics.registry,
    checks: { receiver: () => state.unready, nats: () => natsProblem() },
  });

  const bus = await connectBusWhenUp(engineUrls(settings).nats, 'tidemark-ingress', stop, (error) =>
    log.warn({ error: messageOf(error) }, 'waiting for NATS'),
  );
  natsProblem = () => (bus.connected ? undefined : 'the connection is lost');
  bus.onDisconnect(() => log.warn({}, 'NATS connection lost'));
  bus.onReconnect(() => log.info({}, 'NATS connection is back'));
  const onWait = (error: unknown): void => log.warn({ error: messageOf(error) }, 'waiting for JetStream');
  const [records, columns, system] = await untilDone(
    async () => {
      await ensureTopology(bus, streams);
      return Promise.all([
        openKvBucket(bus, buckets.records),
        openKvBucket(bus, buckets.columns),
        openKvBucket(bus, buckets.system),
      ]);
    },
    stop,
    onWait,
  );

  const directory = startDirectory({
    records,
    columns,
    now: Date.now,
    onInvalid: (key, error) =>
      log.error({ key, error: messageOf(error) }, 'a record does not parse and is ignored'),
  });
  const caps = pipeline.limits;
  const bases = createBaseCounter(
    () => takeBootNumber(system, Date.now()),
    (why) => log.warn({ error: why }, 'no boot number yet'),
  );
  const publisher = createPublisher(bus, pipeline.publish);
  const unready = (): string | undefined => {
    if (!bases.isReady) return 'the receiver is starting: no boot number yet';
    if (!directory.isReady) return 'the receiver is starting: the records are not read yet';
    const since = bus.disconnectedSince;
    return since !== undefined && Date.now() - since > pipeline.publish.awayMs
      ? 'the bus is away'
      : undefined;
  };

  const push = createPushServer(
    createPushHandler({
      directory,
      registerColumnNames: createColumnNames(columns, directory, caps, Date.now),
      bases,
      inFlight: createBytesInFlight(settings.ingress.bytesInFlightMax, (held) =>
        metrics.bytesInFlight.set(held),
      ),
      limiter: createRateLimiter(),
      publisher: createPushPublisher(publisher, pipeline.publish, metrics),
      metrics,
      unready,
      now: Date.now,
      limits: pipeline.limits,
      caps,
      policy: pipeline.time,
      maxRateDefault: settings.maxRateDefault,
    }),
    metrics,
    (error) =>
      log.error({ error: messageOf(error), stack: error instanceof Error ? error.stack : '' }, 'a defect'),
  );
  await listen(push, settings.host, settings.ingress.pushPort, 'TIDEMARK_INGRESS_PUSH_PORT');
  const readyCheck = setInterval(() => {
    state.unready = unready();
  }, 100);
  log.info({ push: settings.ingress.pushPort, ops: ops.port }, 'ingress takes requests');

  await whenStopped(stop);
  state.unready = 'the receiver is stopping';
  log.info({}, 'ingress stops');
  await drain(push);
  clearInterval(readyCheck);
  directory.stop();
  publisher.close();
  await bus.close();
  await ops.stop();
};
