import cluster, { type Worker } from 'node:cluster';
import { setTimeout as delay } from 'node:timers/promises';
import { opsPortOf, requireOpsPorts } from '../config/ingress-ports.ts';
import { exitCodeConfig, type Settings } from '../config/settings.ts';
import { backOffMs } from '../runtime/back-off.ts';
import { stopSignal, whenStopped } from '../runtime/stop-signal.ts';
import { createLog } from '../telemetry/log.ts';
import { memorySharersName } from '../telemetry/memory-limit.ts';

const restart = { firstMs: 250, mostMs: 5_000, healthyMs: 10_000 };

/** The exit code of a process that will not come right by being started again. */
type Fatal = { readonly code: number };

type End = { readonly code: number; readonly why: string };

const ended = (worker: Worker): Promise<End> =>
  new Promise((resolve) => {
    worker.once('exit', (code: number | null, signal: string | null) => {
      resolve({ code: code ?? 0, why: signal ?? `exit code ${code}` });
    });
  });

const stopped = async (worker: Worker): Promise<void> => {
  if (worker.isDead()) return;
  const end = ended(worker);
  worker.process.kill('SIGTERM');
  await end;
};

/**
 * Runs several ingress processes that share their ports; the operations port of the n-th is 10 × (n − 1)
 * above the configured one. A process that ends by itself is started again, at once the first time, then later and later (5 s at
 * most). Runs until SIGTERM or SIGINT, then stops all of them. Resolves with the exit code: not 0 when a process could not begin its
 * work (a taken port, settings that cannot be used). Throws a permanent Fault `config_invalid` before any of them where the last one
 * would have no operations port.
 */
export const runIngressProcesses = async (settings: Settings, count: number): Promise<number> => {
  requireOpsPorts(settings.ingress.opsPort, count);
  const log = createLog('ingress', settings.logLevel);
  const stop = stopSignal();
  const workers = new Set<Worker>();
  // Their log levels: without a handler the signal would end this process.
  process.on('SIGUSR2', () => {
    for (const worker of workers) worker.process.kill('SIGUSR2');
  });
  // Those that handle SIGHUP by now, which would end the others.
  const listening = new Set<Worker>();
  process.on('SIGHUP', () => {
    for (const worker of listening) worker.process.kill('SIGHUP');
  });
  const fatal = Promise.withResolvers<Fatal>();
  let isEnding = false;
  cluster.setupPrimary({ args: ['ingress'] });

  /** Runs one process to its end, and says whether it had come to listen for requests. */
  const runOnce = async (number: number): Promise<End & { readonly hasListened: boolean }> => {
    const opsPort = opsPortOf(settings.ingress.opsPort, number);
    const worker = cluster.fork({
      TIDEMARK_INGRESS_OPS_PORT: String(opsPort),
      TIDEMARK_INGRESS_PROCESSES: '1',
      [memorySharersName]: String(count),
    });
    workers.add(worker);
    worker.on('listening', ({ port }) => {
      if (port !== opsPort) listening.add(worker);
    });
    // A broken channel to it is followed by its end.
    worker.on('error', () => {});
    const { code, why } = await ended(worker);
    workers.delete(worker);
    const hasListened = listening.delete(worker);
    return { hasListened, code, why };
  };

  const keepRunning = async (number: number): Promise<void> => {
    let failures = 0;
    let isFirst = true;
    while (!isEnding) {
      const startedAt = performance.now();
      const { hasListened, code, why } = await runOnce(number);
      if (isEnding || stop.aborted) return;
      // What hinders the very first start, and unusable settings at any time, would hinder each one after it.
      if (code === exitCodeConfig || (isFirst && !hasListened && code !== 0)) return fatal.resolve({ code });
      if (hasListened) isFirst = false;
      if (performance.now() - startedAt >= restart.healthyMs) failures = 0;
      log.warn({ process: number, ended: why }, 'an ingress process exited and is restarted');
      await delay(backOffMs(restart, failures++), undefined, { signal: stop }).catch(() => undefined);
    }
  };

  for (let number = 1; number <= count; number++) void keepRunning(number);
  const failure = await Promise.race([whenStopped(stop), fatal.promise]);
  isEnding = true;
  await Promise.all([...workers].map(stopped));
  return failure?.code ?? 0;
};
