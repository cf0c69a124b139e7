import { createRandom } from '../../bench/bodies.ts';
import type { Weather } from '../support/stack/tcp-proxy.ts';

export const processKinds = ['ingress', 'transfer', 'metadata', 'nats', 'questdb', 'clickhouse'] as const;
export type ProcessKind = (typeof processKinds)[number];

export const engineNames = ['nats', 'questdb', 'clickhouse'] as const;
export type EngineName = (typeof engineNames)[number];

/** Processes of the stack, by kind. */
export const processesOf: Readonly<Record<ProcessKind, readonly string[]>> = {
  ingress: ['ingress-0', 'ingress-1'],
  transfer: ['transfer-0', 'transfer-1'],
  metadata: ['metadata'],
  nats: ['nats'],
  questdb: ['questdb'],
  clickhouse: ['clickhouse'],
};

const roles = ['ingress-0', 'ingress-1', 'transfer-0', 'transfer-1', 'metadata'] as const;

/** Something done to a process. Times are ms. */
export type ProcessFault = {
  readonly atMs: number;
  readonly process: string;
  readonly processKind: ProcessKind;
} & (
  | { readonly kind: 'kill' | 'stop'; readonly downMs: number }
  /** Killed, started, and killed again so long after its start. */
  | { readonly kind: 'kill_twice'; readonly downMs: number; readonly againMs: number }
  | { readonly kind: 'pause'; readonly forMs: number }
);

/** Something done to the way between two of them. `link` is `transfer-0>nats` or `producer>ingress-1`. */
export type LinkFault = {
  readonly atMs: number;
  readonly kind: 'link';
  readonly link: string;
  readonly weather: Weather;
  readonly forMs: number;
};

export type Fault =
  | ProcessFault
  | LinkFault
  /** Connections of the link are cut; new ones are fine. */
  | { readonly atMs: number; readonly kind: 'cut'; readonly link: string }
  /** The store answers errors to every transfer process, until the stream before it is full. */
  | { readonly atMs: number; readonly kind: 'fill'; readonly stream: 'METRICS' | 'TRACES' }
  /** Items older than two days are dropped from now on, or kept. */
  | { readonly atMs: number; readonly kind: 'policy'; readonly isStrict: boolean }
  /** A target gets another token; the one before is taken for a day more. `target` counts them. */
  | { readonly atMs: number; readonly kind: 'rotate'; readonly target: number };

/** Whether it counts against the requested number of kills, pauses and stops. */
export const isProcessFault = (fault: Fault): fault is ProcessFault => 'process' in fault;

/** Kills, pauses and stops that a fault stands for. */
export const weightOf = (fault: Fault): number => (fault.kind === 'kill_twice' ? 2 : 1);

export type ScheduleOptions = {
  readonly seed: number;
  /** Kills, pauses and stops, over all kinds of process in turn. */
  readonly processFaults: number;
  /** From one of them to the next, on average. */
  readonly gapMs: number;
  readonly ackWaitMs: number;
  /**
   * Spare NATS and transfer, and the connections to NATS: only then do messages pass without the guard, a duplicate
   * window later.
   */
  readonly isCalm?: boolean;
  /** The kinds of process that are killed, paused and stopped; default all six. */
  readonly processKinds?: readonly ProcessKind[] | undefined;
};

type Random = () => number;

const between = (random: Random, least: number, most: number): number =>
  Math.round(least + random() * (most - least));

const pick = <T>(random: Random, from: readonly [T, ...T[]]): T =>
  from[Math.floor(random() * from.length)] ?? from[0];

const shuffled = <T>(random: Random, items: readonly T[]): T[] => {
  const rest = [...items];
  const order: T[] = [];
  while (rest.length > 0) order.push(...rest.splice(Math.floor(random() * rest.length), 1));
  return order;
};

const processFault = (
  random: Random,
  atMs: number,
  processKind: ProcessKind,
  ackWaitMs: number,
): ProcessFault => {
  const [first = processKind, ...others] = processesOf[processKind];
  const place = { atMs, process: pick(random, [first, ...others]), processKind };
  const share = random();
  if (share < 0.5) return { ...place, kind: 'kill', downMs: between(random, 0, 1_500) };
  if (share < 0.6) {
    return {
      ...place,
      kind: 'kill_twice',
      downMs: between(random, 0, 300),
      againMs: between(random, 50, 1_500),
    };
  }
  if (share < 0.75) return { ...place, kind: 'stop', downMs: between(random, 0, 1_500) };
  // One pause of three is longer than the ack wait: the process is a zombie when it wakes.
  const forMs = random() < 0.35 ? ackWaitMs + between(random, 500, 3_000) : between(random, 100, 2_500);
  return { ...place, kind: 'pause', forMs };
};

const linkOf = (random: Random, isCalm: boolean): string => {
  const share = random();
  if (share < 0.25 || (isCalm && share < 0.5)) return `producer>${pick(random, ['ingress-0', 'ingress-1'])}`;
  if (share < 0.6 && !isCalm) return `${pick(random, roles)}>nats`;
  return `${pick(random, ['transfer-0', 'transfer-1'])}>${pick(random, ['questdb', 'clickhouse', 'clickhouse'])}`;
};

const linkFault = (random: Random, atMs: number, ackWaitMs: number, isCalm: boolean): Fault => {
  const link = linkOf(random, isCalm);
  const share = random();
  if (share < 0.25) return { atMs, kind: 'cut', link };
  const isStore = link.endsWith('>questdb') || link.endsWith('>clickhouse');
  const forMs = random() < 0.2 ? ackWaitMs + between(random, 500, 2_000) : between(random, 200, 3_000);
  const weather: Weather =
    isStore && share < 0.5
      ? { kind: 'answer', status: pick(random, [500, 503, 502]) }
      : pick<Weather>(random, [
          { kind: 'deaf' },
          { kind: 'deaf' },
          { kind: 'delay', ms: between(random, 20, 700) },
          { kind: 'stall' },
          { kind: 'refuse' },
        ]);
  return { atMs, kind: 'link', link, weather, forMs };
};

/**
 * The faults of one round, by their time. The same options give the same faults. Kinds of process come in shuffled turns, so
 * that every six faults are of all six (in a calm round every four of four); half as many faults of links lie between them, policies change, and tokens are rotated.
 */
export const planFaults = (options: ScheduleOptions): Fault[] => {
  const { seed, processFaults, gapMs, ackWaitMs, isCalm = false } = options;
  const kinds = (options.processKinds ?? processKinds).filter(
    (kind) => !isCalm || (kind !== 'nats' && kind !== 'transfer'),
  );
  const random = createRandom(seed);
  const faults: Fault[] = [];
  let deck: ProcessKind[] = [];
  let atMs = gapMs;
  let planned = 0;
  while (planned < processFaults) {
    if (deck.length === 0) deck = shuffled(random, kinds);
    const kind = deck.pop() ?? 'ingress';
    const fault = processFault(random, atMs, kind, ackWaitMs);
    faults.push(fault);
    planned += weightOf(fault);
    if (random() < 0.5) {
      faults.push(linkFault(random, atMs + between(random, 0, gapMs), ackWaitMs, isCalm));
    }
    if (random() < 0.4) {
      faults.push({ atMs: atMs + between(random, 0, gapMs), kind: 'policy', isStrict: random() < 0.5 });
    }
    if (random() < 0.4) {
      faults.push({
        atMs: atMs + between(random, 0, gapMs),
        kind: 'rotate',
        target: Math.floor(random() * 5),
      });
    }
    // Some lie on top of each other, some apart.
    atMs += between(random, 0, 2 * gapMs);
  }
  faults.push({
    atMs: between(random, gapMs, Math.max(gapMs, atMs / 2)),
    kind: 'fill',
    stream: pick(random, ['METRICS', 'TRACES']),
  });
  return faults.sort((left, right) => left.atMs - right.atMs);
};

/** One line for who reads a report. */
export const describeFault = (fault: Fault): string => {
  const at = `${(fault.atMs / 1000).toFixed(2)} s`;
  switch (fault.kind) {
    case 'kill':
    case 'stop':
      return `${at} ${fault.kind} ${fault.process}, down for ${fault.downMs} ms`;
    case 'kill_twice':
      return `${at} kill ${fault.process}, down for ${fault.downMs} ms, and again ${fault.againMs} ms after its start`;
    case 'pause':
      return `${at} pause ${fault.process} for ${fault.forMs} ms`;
    case 'link': {
      const { weather } = fault;
      const detail =
        weather.kind === 'answer'
          ? ` ${weather.status}`
          : weather.kind === 'delay'
            ? ` ${weather.ms} ms`
            : '';
      return `${at} ${weather.kind}${detail} on ${fault.link} for ${fault.forMs} ms`;
    }
    case 'cut':
      return `${at} cut ${fault.link}`;
    case 'fill':
      return `${at} fill ${fault.stream}`;
    case 'rotate':
      return `${at} another token for target ${fault.target}`;
    case 'policy':
      return `${at} items of four days ago are ${fault.isStrict ? 'too old' : 'kept'}`;
  }
};
