import { type Lag, runScaler, type ScalerSpec, syncSeconds } from './autoscaler.ts';

const minutes = (count: number): number => count * 60;

/** What a scrape finds. The figures are those of one stream, METRICS; the other one is empty. */
export type Scrape = {
  readonly at: number;
  readonly replicas: number;
  readonly oldestAgeSeconds: number;
  readonly bytes: number;
  readonly messages: number;
  /** Counter of stored writes of all workers. */
  readonly stored: number;
  /** When metadata read NATS. */
  readonly readAt: number;
};

/** What happens to the stack. */
export type Story = {
  readonly name: string;
  readonly seconds: number;
  readonly bytesPerSecond: (second: number) => number;
  readonly isStoreAway?: (second: number) => boolean;
  /** Metadata reads nothing: the figures stay what they were. */
  readonly isBlind?: (second: number) => boolean;
  /** KEDA gets no answer from Prometheus. */
  readonly isPrometheusAway?: (second: number) => boolean;
};

/** The scrapes of one story, and what the autoscaler made of them. */
export type ScalingCourse = {
  readonly scrapes: readonly Scrape[];
  readonly lags: readonly (Lag | undefined)[];
  readonly replicas: readonly number[];
};

/** One worker's rate: 50,000 points of 200 bytes a second, in messages of up to 200 kB. */
const worker = 10_000_000;
const messageBytes = 200_000;
/** The age up to which a reading of NATS counts, and the time in which a store shows that it takes something: as in the queries. */
const readSecondsMax = 60;
const storedSeconds = 45;

type Waiting = { readonly since: number; bytes: number };

const take = (waiting: Waiting[], room: number): number => {
  let left = room;
  for (let first = waiting[0]; first !== undefined && left > 0; first = waiting[0]) {
    const taken = Math.min(first.bytes, left);
    first.bytes -= taken;
    left -= taken;
    if (first.bytes === 0) waiting.shift();
  }
  return room - left;
};

const lagOf = (scrapes: readonly Scrape[], at: number): Lag | undefined => {
  const last = scrapes.at(-1);
  if (last === undefined || at - last.readAt >= readSecondsMax) return undefined;
  const { oldestAgeSeconds, bytes, messages } = last;
  const within = scrapes.filter((each) => each.at > at - storedSeconds);
  return { oldestAgeSeconds, bytes, messages, isStoring: last.stored > (within[0]?.stored ?? 0) };
};

/** Lives through a story under a scaler: workers take what waits, Prometheus scrapes, the autoscaler looks. */
export const courseOf = (spec: ScalerSpec, story: Story): ScalingCourse => {
  const { seconds, bytesPerSecond, isStoreAway, isBlind, isPrometheusAway } = story;
  const waiting: Waiting[] = [];
  const scrapes: Scrape[] = [];
  const lags: (Lag | undefined)[] = [];
  let stored = 0;
  const look = (second: number, replicas: number): Lag | undefined => {
    const arrived = bytesPerSecond(second);
    if (arrived > 0) waiting.push({ since: second, bytes: arrived });
    if (isStoreAway?.(second) !== true && take(waiting, replicas * worker) > 0) stored += replicas;
    if (second % syncSeconds !== 0) return undefined;
    const bytes = waiting.reduce((sum, each) => sum + each.bytes, 0);
    const before = scrapes.at(-1);
    const figures =
      isBlind?.(second) === true && before !== undefined
        ? before
        : {
            oldestAgeSeconds: second - (waiting[0]?.since ?? second),
            bytes,
            // Small requests are messages of their own.
            messages: Math.max(Math.ceil(bytes / messageBytes), waiting.length),
            readAt: second,
          };
    const { oldestAgeSeconds, messages, readAt } = figures;
    scrapes.push({ at: second, replicas, oldestAgeSeconds, bytes: figures.bytes, messages, stored, readAt });
    const lag = isPrometheusAway?.(second) === true ? undefined : lagOf(scrapes, second);
    lags.push(lag);
    return lag;
  };
  const { replicas } = runScaler(spec, seconds, look);
  return { scrapes, lags, replicas };
};

const between =
  (from: number, until: number) =>
  (second: number): boolean =>
    second >= minutes(from) && second < minutes(until);

/** 5 requests of 400 bytes a second. */
const trickle = 2_000;
/** Four and a half workers' work for the first twenty minutes. */
const burst = (second: number): number => (second < minutes(20) ? 4.5 * worker : trickle);

export const stories = {
  storeAway: {
    name: 'the store is away for 30 minutes at a trickle',
    seconds: minutes(50),
    bytesPerSecond: () => trickle,
    isStoreAway: between(10, 40),
  },
  backlog: { name: 'a backlog comes and is drained', seconds: minutes(60), bytesPerSecond: burst },
  blind: {
    name: 'metadata cannot read NATS in the middle of a backlog',
    seconds: minutes(40),
    bytesPerSecond: (second: number) => (second < minutes(40) ? 4.5 * worker : 0),
    isBlind: between(12, 40),
  },
  prometheusAway: {
    name: 'Prometheus is away after a backlog',
    seconds: minutes(60),
    bytesPerSecond: burst,
    isPrometheusAway: between(12, 60),
  },
  storeAwayWithWorkers: {
    name: 'the store is away in the middle of a backlog',
    seconds: minutes(60),
    bytesPerSecond: (second: number) => (second < minutes(15) ? 3.5 * worker : trickle),
    isStoreAway: between(14, 60),
  },
} satisfies Record<string, Story>;
