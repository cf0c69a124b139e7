import { setTimeout as delay } from 'node:timers/promises';
import { exitCodeConfig } from '../config/settings.ts';
import { errorText } from '../model/fault.ts';
import { type BackOff, backOffMs } from '../runtime/back-off.ts';
import { describeExit, type LogLine } from './child.ts';
import { type Service, ServiceStartError } from './service.ts';

/** Keeps services running until it is stopped. */
export type Supervisor = {
  /**
   * Starts it; throws what its first start throws. From then on it is restarted whenever it ends by itself, and when it was
   * unwell three looks in a row (see `Service.isWell`); a restart that fails is repeated until it succeeds.
   */
  start(service: Service): Promise<void>;
  /** Stops these services one after the other, in this order. Nothing is restarted any more. */
  stop(services: readonly Service[]): Promise<void>;
};

/** How soon a service that ended is started again. */
export type RestartPolicy = BackOff & {
  healthyMs: number;
  /** Time between looks at a running service. */
  lookEveryMs: number;
};

const defaultPolicy: RestartPolicy = { firstMs: 250, mostMs: 5000, healthyMs: 10_000, lookEveryMs: 5_000 };

const unwellLooksMax = 3;

/**
 * `onFatal` is called with the last lines of a service that refused its configuration: starting it again would only
 * repeat that.
 */
export const createSupervisor = (
  deps: { log: LogLine; onFatal: (message: string) => void },
  policy: RestartPolicy = defaultPolicy,
): Supervisor => {
  const stopping = new AbortController();
  const isStopping = (): boolean => stopping.signal.aborted;

  const refused = (service: Service, code: number | null | undefined, lines: readonly string[]): boolean => {
    if (code !== exitCodeConfig) return false;
    deps.onFatal([`${service.name} cannot use its configuration:`, ...lines.slice(-5)].join('\n'));
    return true;
  };

  const bringBack = async (service: Service, failuresBefore: number): Promise<number> => {
    for (let failures = failuresBefore; !isStopping(); failures += 1) {
      await delay(backOffMs(policy, failures), undefined, { signal: stopping.signal });
      const startedAt = performance.now();
      try {
        await service.start();
        const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
        deps.log(service.name, `is back after ${seconds} s`);
        return failures + 1;
      } catch (error) {
        if (isStopping()) break;
        deps.log(service.name, `could not be restarted: ${errorText(error)}`);
        if (error instanceof ServiceStartError && refused(service, error.exit?.code, error.lastLines)) break;
      }
    }
    return failuresBefore;
  };

  const watch = (service: Service): void => {
    let failures = 0;
    let healthySince = performance.now();
    service.onExit((code, signal, lines) => {
      if (isStopping()) return;
      if (refused(service, code, lines)) return;
      const where = service.logFile === undefined ? '' : `; its log is ${service.logFile}`;
      deps.log(service.name, `${describeExit({ code, signal })} and is restarted${where}`);
      if (performance.now() - healthySince >= policy.healthyMs) failures = 0;
      bringBack(service, failures).then(
        (count) => {
          failures = count;
          healthySince = performance.now();
        },
        () => {
          // Stopped while it waited for its turn.
        },
      );
    });
  };

  const lookAfter = async (service: Service): Promise<void> => {
    let unwell = 0;
    for (;;) {
      await delay(policy.lookEveryMs, undefined, { signal: stopping.signal });
      unwell = (await service.isWell()) ? 0 : unwell + 1;
      if (unwell < unwellLooksMax || isStopping()) continue;
      unwell = 0;
      deps.log(service.name, 'is unhealthy and is restarted');
      await service.stop();
      // A start that fails has no exit that `watch` would see.
      await bringBack(service, 0);
    }
  };

  return {
    start: async (service) => {
      await service.start();
      watch(service);
      // Ends when the supervisor stops.
      lookAfter(service).catch(() => {});
    },
    stop: async (services) => {
      stopping.abort();
      for (const service of services) await service.stop();
    },
  };
};
