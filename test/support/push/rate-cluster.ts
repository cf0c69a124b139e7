import { vi } from 'vitest';
import { type ReportChannel, startRateExchange } from '../../../src/ingress/rates/exchange.ts';

/** Numbers in [0, 1), the same ones for the same seed (mulberry32). */
const seeded = (seed: number): (() => number) => {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

/** One receiver of the cluster and the senders before it. */
export type Receiver = {
  /** Requests per second that are sent to it. */
  load: number;
  /** How many of them it has admitted and refused so far. */
  admitted: number;
  refused: number;
  /** Whether its requests are spaced by chance instead of evenly. */
  isByChance: boolean;
  /** It stops answering and reporting, without a goodbye. */
  die(): void;
  /** It takes its leave. */
  stop(): void;
};

/** Receivers with the product's limiter and exchange; reports reach each reader in order, late by chance. Vitest's fake clock. */
export type Cluster = {
  /** The max_rate of all requests. */
  rate: number;
  /** Whether reports are lost. */
  isAway: boolean;
  readonly receivers: Receiver[];
  /** Every report that was written. */
  readonly reports: string[];
  join(load: number): Receiver;
  /** Lets so much time pass, and answers what all receivers admitted in it. */
  run(seconds: number): number;
};

type Reader = { tell: (process: string, report: unknown) => void; lastAt: number; isDead: boolean };

export const createCluster = (rate: number, seed = 1, delayMsMax = 20): Cluster => {
  const random = seeded(seed);
  const bucket = new Map<string, unknown>();
  const readers: Reader[] = [];
  const receivers: Receiver[] = [];
  const steps: (() => void)[] = [];

  const deliver = (process: string, report: unknown): void => {
    bucket.set(process, report);
    for (const reader of readers) {
      reader.lastAt = Math.max(reader.lastAt, Date.now() + 1 + Math.floor(random() * delayMsMax));
      setTimeout(() => {
        if (!cluster.isAway && !reader.isDead) reader.tell(process, report);
      }, reader.lastAt - Date.now());
    }
  };

  const openChannel = (process: string, reader: Reader): ReportChannel => ({
    process,
    get connected() {
      return !cluster.isAway && !reader.isDead;
    },
    write: (report) => {
      const text = JSON.stringify(report);
      cluster.reports.push(text);
      deliver(process, JSON.parse(text));
    },
    watch: (tell) => {
      reader.tell = tell;
      for (const [from, report] of bucket) tell(from, report);
    },
    leave: async () => deliver(process, undefined),
  });

  const join = (load: number): Receiver => {
    const reader: Reader = { tell: () => {}, lastAt: 0, isDead: false };
    readers.push(reader);
    const exchange = startRateExchange(openChannel(`receiver-${receivers.length}`, reader));
    const end = (): void => {
      reader.isDead = true;
      receiver.load = 0;
    };
    const stop = (): void => {
      void exchange.stop();
      end();
    };
    const receiver: Receiver = {
      load,
      admitted: 0,
      refused: 0,
      isByChance: false,
      die: end,
      stop,
    };
    let due = 1;
    const step = (): void => {
      due -= receiver.load / 1000;
      while (receiver.load > 0 && due <= 0) {
        const verdict = exchange.limiter.admit('d:1', cluster.rate, Date.now());
        if (verdict === undefined || verdict.isAdmitted) receiver.admitted++;
        else receiver.refused++;
        due += receiver.isByChance ? -Math.log(1 - random()) : 1;
      }
    };
    receivers.push(receiver);
    steps.push(step);
    return receiver;
  };

  const admitted = (): number => receivers.reduce((sum, receiver) => sum + receiver.admitted, 0);

  const cluster: Cluster = {
    rate,
    isAway: false,
    receivers,
    reports: [],
    join,
    run: (seconds) => {
      const before = admitted();
      for (let ms = 0; ms < seconds * 1000; ms++) {
        vi.advanceTimersByTime(1);
        for (const step of steps) step();
      }
      return admitted() - before;
    },
  };
  return cluster;
};
