/** A seeded generator of 32-bit numbers (mulberry32): the same bodies in each run. */
export const createRandom = (seed: number): (() => number) => {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

const modules = ['db', 'web', 'cache', 'queue', 'auth', 'search', 'billing', 'gateway'];
const locations = ['guangdong', 'shanghai', 'frankfurt', 'virginia'];
const hostsCount = 64_000;

/** How old a point is at most, ms: producers send each few seconds. */
const lateMsUsual = 5_000;

/** Hosts of one producer: this many, from this number on. */
type Hosts = { readonly first: number; readonly count: number };

/** Those of the one data id of most loads. */
const allHosts: Hosts = { first: 0, count: hostsCount };

/** The hosts of each of this many data ids, all hosts shared out among them. */
export const hostsOf = (number: number, dataIds: number): Hosts => {
  const count = Math.floor(hostsCount / dataIds);
  return { first: number * count, count };
};

/** The data of one push: points × 2 metrics, 3 dimensions and a target, times within the last five seconds, or as late as this. */
export const pushPoints = (
  random: () => number,
  points: number,
  nowMs: number,
  lateMs = lateMsUsual,
  hosts = allHosts,
) =>
  Array.from({ length: points }, () => {
    const host = hosts.first + Math.floor(random() * hosts.count);
    return {
      metrics: { cpu_load: Math.round(random() * 1e6) / 1e4, memory_usage: random() * 100 },
      target: `10.${host >> 16}.${(host >> 8) & 255}.${host & 255}`,
      dimension: {
        module: modules[Math.floor(random() * modules.length)],
        location: locations[Math.floor(random() * locations.length)],
        host: `host-${host}`,
      },
      timestamp: nowMs - Math.floor(random() * lateMs),
    };
  });

/** Whole push bodies, all different, as bytes. */
export const pushBodies = (
  count: number,
  points: number,
  dataId: number,
  token: string,
  nowMs: number,
  lateMs = lateMsUsual,
  hosts = allHosts,
): Buffer[] => {
  const random = createRandom(20_260_101 + points);
  return Array.from({ length: count }, () =>
    Buffer.from(
      JSON.stringify({
        data_id: dataId,
        access_token: token,
        data: pushPoints(random, points, nowMs, lateMs, hosts),
      }),
    ),
  );
};

const columnBodiesMax = 256;

/** Push bodies whose points bring two metrics (with one column: one), every body the next pair of this many columns. */
export const columnBodies = (
  points: number,
  columns: number,
  dataId: number,
  token: string,
  nowMs: number,
): Buffer[] => {
  const random = createRandom(20_260_401 + columns);
  const pairs = Math.max(1, Math.floor(columns / 2));
  // Every pair comes, and short of that there are as many bodies as the other loads have.
  return Array.from({ length: Math.min(columnBodiesMax, Math.max(100, pairs)) }, (_, body) => {
    const first = 2 * (body % pairs);
    const data = pushPoints(random, points, nowMs).map(({ metrics, ...point }) => ({
      ...point,
      metrics:
        columns === 1
          ? { metric_0: metrics.cpu_load }
          : { [`metric_${first}`]: metrics.cpu_load, [`metric_${first + 1}`]: metrics.memory_usage },
    }));
    return Buffer.from(JSON.stringify({ data_id: dataId, access_token: token, data }));
  });
};
