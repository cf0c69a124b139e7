import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Readiness, ReadyChecks } from '../runtime/checks.ts';
import { programVersion } from '../telemetry/program-version.ts';
import {
  checksMax,
  type PulseRole,
  pulseBytesMax,
  pulseSubject,
  type SentPulse,
  whyMax,
} from '../telemetry/pulse.ts';
import type { PulseFigures } from '../telemetry/pulse-figures.ts';
import type { Bus } from './connection.ts';

export type PulseOptions = {
  readonly role: PulseRole;
  readonly bus: Pick<Bus, 'nc' | 'connected'>;
  readonly readiness: Readiness;
  readonly figures: PulseFigures;
};

const everyMs = 1_000;
/** Coarser than the metrics' own: this clock wakes the loop, too. */
const loopResolutionMs = 50;

/** The checks that are not well with the beginning of their reasons. */
const reasonsOf = (checks: ReadyChecks): Record<string, string> => {
  const reasons: Record<string, string> = {};
  for (const [name, check] of Object.entries(checks).slice(0, checksMax)) {
    const why = check();
    if (why !== undefined) reasons[name] = why.slice(0, whyMax);
  }
  return reasons;
};

/** The delay beyond the clock's own interval; 0 where none was measured. */
const delayMs = (loop: ReturnType<typeof monitorEventLoopDelay>): number => {
  const ms = loop.percentile(99) / 1e6 - loopResolutionMs;
  return Number.isFinite(ms) ? Math.max(0, Math.round(ms)) : 0;
};

/** The state of this process since the call before. */
const createState = ({ readiness, figures }: PulseOptions) => {
  const fixed = {
    version: programVersion(),
    host: hostname().slice(0, 128) || 'unknown',
    pid: process.pid,
    startedAt: Math.max(0, Math.floor(Date.now() / 1000 - process.uptime())),
  };
  const loop = monitorEventLoopDelay({ resolution: loopResolutionMs });
  loop.enable();
  let cpu = process.cpuUsage();
  let at = performance.now();
  return {
    read: async (isLast: boolean): Promise<SentPulse> => {
      const now = performance.now();
      const used = process.cpuUsage(cpu);
      const seconds = Math.max(0.001, (now - at) / 1000);
      cpu = process.cpuUsage();
      at = now;
      const loopP99Ms = delayMs(loop);
      loop.reset();
      return {
        ...fixed,
        failing: reasonsOf(readiness.checks),
        degraded: reasonsOf(readiness.degraded),
        // A metadata process of an earlier version reads no pulse without it.
        warnings: {},
        cpu: Math.round((used.user + used.system) / (seconds * 1e3)) / 1e3,
        loopP99Ms,
        rssBytes: process.memoryUsage.rss(),
        isLast,
        ...(await figures(seconds)),
        clockMs: Date.now(),
      };
    },
    stop: () => loop.disable(),
  };
};

/**
 * Publishes the state of this process once a second, and once more when it stops. Nobody waits for it: what cannot be sent or read
 * is left out.
 */
export const startPulse = (options: PulseOptions): { stop(): Promise<void> } => {
  const { role, bus } = options;
  const subject = pulseSubject(role, randomBytes(8).toString('hex'));
  const state = createState(options);
  const publish = async (isLast: boolean): Promise<void> => {
    try {
      const payload = Buffer.from(JSON.stringify(await state.read(isLast)));
      // While the connection is away the client would keep each of them.
      if (bus.connected && payload.byteLength <= pulseBytesMax) bus.nc.publish(subject, payload);
    } catch {
      // The next one comes in a second.
    }
  };
  void publish(false);
  const timer = setInterval(() => void publish(false), everyMs).unref();
  return {
    stop: async () => {
      clearInterval(timer);
      await publish(true);
      state.stop();
    },
  };
};
