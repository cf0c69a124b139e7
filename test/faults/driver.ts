import { setTimeout as delay } from 'node:timers/promises';
import { errorText } from '../../src/model/fault.ts';
import { waitFor } from '../support/wait.ts';
import type { Cluster, Victim } from './cluster.ts';
import { isOfApplication } from './items.ts';
import type { Load } from './load.ts';
import type { Target } from './oracle.ts';
import type { Fault, LinkFault, ProcessFault } from './schedule.ts';

/** A fault as it was done; times are ms since the epoch. */
export type DoneFault = {
  readonly fault: Fault;
  readonly from: number;
  readonly until: number;
  /** What is worth telling of it: a stop that needed a kill, a stream that did not fill. */
  readonly note: string;
};

export type Driven = {
  readonly done: readonly DoneFault[];
  /** Processes that ended without a stop, with their last lines. They were restarted. */
  readonly crashes: readonly string[];
};

export type DriverOptions = {
  readonly cluster: Cluster;
  readonly load: Load;
  /** Targets whose tokens are rotated. */
  readonly targets: readonly Target[];
  /** Targets whose policy changes. */
  readonly swinging: readonly Target[];
  /** Target of each stream that is flooded to fill it. */
  readonly flooded: Readonly<Record<'METRICS' | 'TRACES', Target>>;
  /** Ends the plan early, for instance because the time is up. */
  readonly signal: AbortSignal;
  /** Called for each fault once it is over. */
  readonly onDone: (done: DoneFault) => void;
};

/** Longest a flood may take to fill a stream, ms. */
const floodMsMax = 20_000;
const policyMsMax = 3_000;
const rotationMsMax = 60_000;
const overlapSeconds = 86_400;
const superviseMs = 200;
const strictAgeSeconds = 2 * 86_400;
const readyMsMax = 120_000;

/** Starts a victim until it runs: another start of it may still be ending. */
const startAgain = async (victim: Victim): Promise<void> => {
  await waitFor(`${victim.name} runs`, readyMsMax, async () => {
    await victim.start();
    return victim.isRunning;
  });
};

const doProcessFault = async (fault: ProcessFault, victim: Victim): Promise<string> => {
  switch (fault.kind) {
    case 'kill':
      await victim.kill();
      await delay(fault.downMs);
      await startAgain(victim);
      return '';
    case 'kill_twice': {
      await victim.kill();
      await delay(fault.downMs);
      const starting = victim.start().catch(() => undefined);
      await delay(fault.againMs);
      await victim.kill();
      await starting;
      await startAgain(victim);
      return '';
    }
    case 'stop': {
      const hasEnded = await victim.stop();
      await delay(fault.downMs);
      await startAgain(victim);
      return hasEnded ? '' : 'it did not end when it was stopped, and was killed';
    }
    case 'pause':
      victim.signal('SIGSTOP');
      await delay(fault.forMs);
      victim.signal('SIGCONT');
      return '';
  }
};

/** Does a plan to a cluster, each fault at its time or as soon as the last one of its process or link is over. */
export const drive = async (faults: readonly Fault[], options: DriverOptions): Promise<Driven> => {
  const { cluster, load, signal } = options;
  const done: DoneFault[] = [];
  const crashes: string[] = [];
  const held = new Map<string, Promise<void>>();
  const startedAt = Date.now();

  /** One after the other for each of these names. */
  const holding = (names: readonly string[], fault: Fault, work: () => Promise<string>): void => {
    const before = Promise.all(names.map((name) => held.get(name)));
    const mine = before
      .then(async () => {
        const from = Date.now();
        const note = await work();
        const over = { fault, from, until: Date.now(), note };
        done.push(over);
        options.onDone(over);
      })
      .finally(() => {
        for (const name of names) if (held.get(name) === mine) held.delete(name);
      });
    // A failure is reported when the round is over.
    mine.catch(() => undefined);
    for (const name of names) held.set(name, mine);
    all.push(mine);
  };
  const all: Promise<void>[] = [];

  const proxiesOf = (link: string) => cluster.links.get(link) ?? [];
  const setWeather = (link: string, weather: LinkFault['weather']): void => {
    for (const proxy of proxiesOf(link)) proxy.setWeather(weather);
  };

  const setPolicy = async (isStrict: boolean): Promise<string> => {
    const change = { age_seconds_max: isStrict ? strictAgeSeconds : 'off' };
    try {
      for (const { layout, id } of options.swinging) {
        const kind = isOfApplication(layout) ? 'applications' : 'data-sources';
        await waitFor('the policy is set', policyMsMax, async () => {
          const answer = await cluster.stack.api('PATCH', `/api/v1/${kind}/${id}/policy`, change);
          return answer.status === 200;
        });
      }
      return '';
    } catch (error) {
      return errorText(error);
    }
  };

  /** Whether an answer was lost or not: once this is done the newest token of the target is known. */
  const rotate = async (target: Target | undefined): Promise<string> => {
    if (target === undefined) return 'there is no such target';
    const path = `/api/v1/${isOfApplication(target.layout) ? 'applications' : 'data-sources'}/${target.id}`;
    const ask = async (action: string, body: object): Promise<string> => {
      const answer = await cluster.stack.api('POST', `${path}/${action}`, body);
      if (answer.status !== 200) throw new Error(`${action}: ${answer.status}`);
      return String(Object(answer.body).token);
    };
    try {
      const token = await waitFor('the token is rotated', rotationMsMax, async () => {
        const last = await ask('reveal-token', {});
        return last === target.tokens.at(-1)
          ? ask('rotate-token', { overlap_seconds: overlapSeconds })
          : last;
      });
      target.tokens.push(token);
      return '';
    } catch (error) {
      return errorText(error);
    }
  };

  const fill = async (stream: 'METRICS' | 'TRACES'): Promise<string> => {
    const links = linksToStore(stream);
    for (const link of links) setWeather(link, { kind: 'answer', status: 503 });
    const isFull = await load.flood(options.flooded[stream], floodMsMax);
    for (const link of links) setWeather(link, { kind: 'clear' });
    return isFull ? 'the receiver had no room' : 'it was not seen full';
  };

  const linksToStore = (stream: 'METRICS' | 'TRACES'): string[] => {
    const store = stream === 'METRICS' ? 'questdb' : 'clickhouse';
    return [`transfer-0>${store}`, `transfer-1>${store}`];
  };

  const launch = (fault: Fault): void => {
    switch (fault.kind) {
      case 'kill':
      case 'kill_twice':
      case 'stop':
      case 'pause': {
        const victim = cluster.victims.get(fault.process);
        if (victim !== undefined) holding([fault.process], fault, () => doProcessFault(fault, victim));
        return;
      }
      case 'link':
        return holding([fault.link], fault, async () => {
          setWeather(fault.link, fault.weather);
          await delay(fault.forMs);
          setWeather(fault.link, { kind: 'clear' });
          return '';
        });
      case 'cut':
        return holding([fault.link], fault, async () => {
          for (const proxy of proxiesOf(fault.link)) proxy.cut();
          return '';
        });
      case 'fill':
        return holding(linksToStore(fault.stream), fault, () => fill(fault.stream));
      case 'rotate':
        return holding([`token ${fault.target}`], fault, () => rotate(options.targets[fault.target]));
      case 'policy':
        return holding(['policy'], fault, () => setPolicy(fault.isStrict));
    }
  };

  /** Like any supervisor: restarts a process that ended by itself, and reports it. */
  const supervise = async (): Promise<void> => {
    for (const victim of cluster.victims.values()) {
      if (victim.isRunning || held.has(victim.name)) continue;
      const lines = cluster.linesOf(victim.name).slice(-5);
      crashes.push([`${victim.name} ended by itself:`, ...lines].join('\n  '));
      await startAgain(victim);
    }
  };

  const end = new AbortController();
  const supervising = (async () => {
    while (!end.signal.aborted) {
      await supervise();
      await delay(superviseMs);
    }
  })();

  for (const fault of faults) {
    const wait = startedAt + fault.atMs - Date.now();
    if (wait > 0) await delay(wait, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) break;
    launch(fault);
  }
  await Promise.all(all);
  end.abort();
  await supervising;
  await supervise();
  return { done: done.sort((left, right) => left.from - right.from), crashes };
};

/** Waits until the receivers and metadata can do their work. */
export const untilReceiving = async ({ stack }: Cluster): Promise<void> => {
  for (const role of [stack.metadata, ...stack.ingress]) await role.ready(readyMsMax);
};

/** Waits until every process runs and every role is ready. */
export const untilReady = async (cluster: Cluster): Promise<void> => {
  for (const role of [cluster.stack.metadata, ...cluster.stack.ingress, ...cluster.stack.transfer]) {
    await role.ready(readyMsMax);
  }
};
