import { z } from 'zod';

const reportSchema = z.object({
  tick: z.int().min(0),
  rest: z.int().min(0),
  demand: z.record(z.string(), z.int().min(0)),
});

/**
 * The report of one process to all others: the demand of each of its keys, admitted or not, in thousandths of a request per second.
 * `rest` is the highest demand of any key that it does not list (0 when it lists all). `tick` rises by one a second.
 */
export type DemandReport = z.infer<typeof reportSchema>;

/** A report from the bucket. A report of another version that this one cannot read counts as a process without demand. */
export const readReport = (value: unknown): DemandReport => {
  const parsed = reportSchema.safeParse(value);
  return parsed.success ? parsed.data : { tick: 0, rest: 0, demand: {} };
};

/**
 * A process with demand gets this multiple of it before the others get a share: demand that rises by less than that finds its share
 * ready, and a lone sender at its full rate has all of it.
 */
const headroom = 4;

/**
 * The part of a rate that one process may use, 0 to 1; over all processes the parts add up to 1. While the demand leaves room, each
 * process gets a multiple of its own demand and an equal part of the rest; above that, a part in proportion to its demand. Demands
 * and rate are in one unit.
 */
export const fractionOf = (own: number, total: number, rate: number, processes: number): number => {
  const spare = rate - total * headroom;
  return spare < 0 ? own / total : (own * headroom + spare / processes) / rate;
};

/** Ticks without a report after which a process counts as gone. */
const silentTicksMax = 3;

/** The share of each process in each rate, from the reports of all processes in the order of the bucket. */
export type RateShares = {
  /**
   * Applies the report of a process, this one's own included: all processes apply the same reports in the same order, so that they
   * agree. Other processes age only with this one's own ticks: without news from the bucket everything stays unchanged.
   */
  apply(process: string, report: DemandReport): void;
  /** Forgets a process that has removed its report. */
  remove(process: string): void;
  /** This process's part of a key's rate (requests per second, above 0). */
  fraction(key: string, ratePerSecond: number): number;
  /** Changes whenever a fraction may have changed. */
  readonly version: number;
  /** The number of processes that share, this one included. */
  readonly processes: number;
};

type Process = { demand: ReadonlyMap<string, number>; rest: number; silentTicks: number };

/** Shares of the process named `self`: all of every rate until the report of another process arrives. */
export const createRateShares = (self: string): RateShares => {
  const heard = new Map<string, Process>();
  /** By key, the demand beyond the sum of all rests, so that a key costs one look-up for any number of processes. */
  const beyondRest = new Map<string, number>();
  let restTotal = 0;
  let version = 0;
  let ownTick = -1;

  const count = ({ demand, rest }: Process, sign: 1 | -1): void => {
    restTotal += sign * rest;
    for (const [key, value] of demand) {
      const sum = (beyondRest.get(key) ?? 0) + sign * (value - rest);
      if (sum === 0) beyondRest.delete(key);
      else beyondRest.set(key, sum);
    }
  };

  const remove = (process: string): void => {
    const known = heard.get(process);
    if (known === undefined) return;
    count(known, -1);
    heard.delete(process);
    version++;
  };

  const ageOthers = (): void => {
    for (const [process, known] of heard) {
      if (process !== self && ++known.silentTicks > silentTicksMax) remove(process);
    }
  };

  const processes = (): number => heard.size + (heard.has(self) ? 0 : 1);

  return {
    apply: (process, { tick, rest, demand }) => {
      remove(process);
      const known: Process = { demand: new Map(Object.entries(demand)), rest, silentTicks: 0 };
      count(known, 1);
      heard.set(process, known);
      version++;
      if (process !== self || tick <= ownTick) return;
      ownTick = tick;
      ageOthers();
    },
    remove,
    fraction: (key, ratePerSecond) => {
      const own = heard.get(self);
      const ownDemand = own === undefined ? 0 : (own.demand.get(key) ?? own.rest);
      const total = restTotal + (beyondRest.get(key) ?? 0);
      return fractionOf(ownDemand, total, ratePerSecond * 1000, processes());
    },
    get version() {
      return version;
    },
    get processes() {
      return processes();
    },
  };
};
