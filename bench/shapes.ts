import { gunzipSync, gzipSync } from 'node:zlib';
import { encodePush, type PushTask } from '../src/ingress/push/encode.ts';
import { HeadWatch } from '../src/ingress/push/head-watch.ts';
import type { Layout } from '../src/model/records.ts';
import { countedBase } from '../src/model/uid.ts';
import { defaultTimePolicy } from '../test/support/time-policy.ts';
import { createRandom, pushPoints } from './bodies.ts';

// The same points in the forms of ten clients: the cost of decoding and encoding one of them must not depend on its client.

const dataId = 1_500_001;
const token = '0123456789abcdef0123456789abcdef';
const pointsPerBody = 1000;
const bodiesCount = 24;
const roundsCount = 30;
/** Bodies go through the encoder this often before anything is counted: by then its code is compiled for the machine. */
const warmUps = 12;

const places = ['广东', '上海', 'Frankfurt', 'Virginia'];

type Point = ReturnType<typeof makePoints>[number];

/** Two metrics, a target, four dimensions (one with a slash, one in Chinese for half of the points) and a time. */
const makePoints = (random: () => number, points: number, nowMs: number) =>
  pushPoints(random, points, nowMs).map(({ dimension, ...point }) => ({
    ...point,
    dimension: {
      ...dimension,
      location: places[Math.floor(random() * places.length)] ?? '',
      mount: `/data/${Math.floor(random() * 8)}`,
    },
  }));

type Body = { readonly data_id: number; readonly access_token: string; readonly data: readonly Point[] };

/** A client's form of JSON: the text between its parts, its texts, its numbers with a fraction, and the order of members. */
type Style = {
  readonly comma: string;
  readonly colon: string;
  readonly text: (text: string) => string;
  readonly fraction: (value: number) => string;
  readonly order: (names: readonly string[]) => readonly string[];
};

const ascii = (text: string): string =>
  JSON.stringify(text).replaceAll(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
const compact: Style = {
  ...{ comma: ',', colon: ':', text: (text) => JSON.stringify(text), fraction: String },
  order: (names) => names,
};
/** Python and Java write a fraction even for whole numbers. */
const withFraction = (value: number): string => (Number.isInteger(value) ? `${value}.0` : String(value));

const print = (value: unknown, style: Style, isFraction = false): string => {
  if (typeof value === 'string') return style.text(value);
  if (typeof value === 'number') return isFraction ? style.fraction(value) : String(value);
  if (Array.isArray(value)) return `[${value.map((item) => print(item, style)).join(style.comma)}]`;
  const members = style.order(Object.keys(Object(value))).map((name) => {
    const member: unknown = Reflect.get(Object(value), name);
    const isMetric = name === 'cpu_load' || name === 'memory_usage';
    return style.text(name) + style.colon + print(member, style, isMetric);
  });
  return `{${members.join(style.comma)}}`;
};

/** The bucket of a name in a HashMap of 16 buckets. */
const bucketOf = (name: string): number => {
  let hash = 0;
  for (const unit of name) hash = (Math.imul(31, hash) + unit.charCodeAt(0)) | 0;
  return (hash ^ (hash >>> 16)) & 15;
};

const shuffled =
  (random: () => number) =>
  (names: readonly string[]): readonly string[] =>
    names
      .map((name) => ({ name, at: random() }))
      .sort((one, other) => one.at - other.at)
      .map(({ name }) => name);

type Shape = {
  readonly shape: string;
  readonly layout?: Layout;
  readonly isKeyed?: boolean;
  readonly write: (body: Body) => Buffer;
};

const inStyle = (style: Partial<Style>) => (body: Body) => Buffer.from(print(body, { ...compact, ...style }));
const node = (body: Body): Buffer => Buffer.from(JSON.stringify(body));

const shapes = (): readonly Shape[] => [
  { shape: 'Node, JSON.stringify', write: node },
  {
    shape: 'Python, json.dumps(ensure_ascii=False)',
    write: inStyle({ comma: ', ', colon: ': ', fraction: withFraction }),
  },
  {
    shape: 'Python, json.dumps',
    write: inStyle({ comma: ', ', colon: ': ', fraction: withFraction, text: ascii }),
  },
  { shape: 'PHP, json_encode', write: inStyle({ text: (text) => ascii(text).replaceAll('/', '\\/') }) },
  { shape: 'Go, map (names in order)', write: inStyle({ order: (names) => names.toSorted() }) },
  {
    shape: 'Java, HashMap (names by their hashes)',
    write: inStyle({
      order: (names) => names.toSorted((one, other) => bucketOf(one) - bucketOf(other)),
      fraction: withFraction,
    }),
  },
  { shape: 'indented by two', write: (body) => Buffer.from(JSON.stringify(body, null, 2)) },
  { shape: 'with an Idempotency-Key', isKeyed: true, write: node },
  { shape: 'gzip, inflated before', write: (body) => gunzipSync(gzipSync(node(body))) },
  { shape: 'narrow layout, per row', layout: 'narrow', write: node },
  // No known client writes this: an upper bound for the cost of order.
  { shape: 'another order in each object', write: inStyle({ order: shuffled(createRandom(7)) }) },
];

/** Bodies of these points in each shape, and the task that takes them. */
export const shapedBodies = (bodies: number, points: number, nowMs: number) => {
  const random = createRandom(20_261_122);
  const all = Array.from(
    { length: bodies },
    (): Body => ({ data_id: dataId, access_token: token, data: makePoints(random, points, nowMs) }),
  );
  return shapes().map(({ shape, layout = 'wide', isKeyed = false, write }) => ({
    shape,
    items: bodies * points * (layout === 'narrow' ? 2 : 1),
    task: taskOf(layout, isKeyed, nowMs),
    written: all.map(write),
    spent: 0,
  }));
};

/** The size of one read from a socket. */
const chunkBytes = 65_536;

/** Processes a body like a receiver whose directory has its credential. */
export const decodeAndEncode = (body: Buffer, task: PushTask): void => {
  const watch = new HeadWatch(() => new Promise<never>(() => {}), task.elementsMax);
  for (let at = 0; at < body.length && watch.pair === undefined; at += chunkBytes)
    watch.see(body.subarray(at, at + chunkBytes));
  const push = encodePush(body, task);
  if (push.kind !== 'encoded' || push.encoded.accepted !== push.points)
    throw new Error('a point of the bench was not kept');
};

const columns = (names: readonly string[]): Map<string, string> => new Map(names.map((name) => [name, name]));

const taskOf = (layout: Layout, isKeyed: boolean, arrivedAt: number): PushTask => ({
  pair: { dataId, token },
  table: {
    tableId: `2_mon_time_series_${dataId}.__default__`,
    layout,
    metrics: columns(['cpu_load', 'memory_usage']),
    dimensions: columns(['module', 'location', 'host', 'mount']),
  },
  caps: { metricsMax: 512, dimensionsMax: 64 },
  policy: defaultTimePolicy,
  arrivedAt,
  base: countedBase(1_500_000, 0),
  isKeyed,
  namesAreFinal: false,
  pointsMax: 50_000,
  elementsMax: 4_000_000,
});

/** CPU µs of this thread. */
const cpuOf = (run: () => void): number => {
  const before = process.threadCpuUsage();
  run();
  const { user, system } = process.threadCpuUsage(before);
  return user + system;
};

/**
 * CPU of decoding and encoding per point (of a narrow table: per row), the shapes in turn. The clock of CPU may tick every 4 ms.
 */
export const measureShapes = () => {
  const all = shapedBodies(bodiesCount, pointsPerBody, Date.now());
  for (let round = -warmUps; round < roundsCount; round++)
    for (const each of all) {
      const microseconds = cpuOf(() => {
        for (const body of each.written) decodeAndEncode(body, each.task);
      });
      if (round >= 0) each.spent += microseconds;
    }
  const rows = all.map(({ shape, items, task, written, spent }) => ({
    shape,
    layout: task.table.layout,
    bytes_per_point: Math.round(
      written.reduce((sum, { length }) => sum + length, 0) / (bodiesCount * pointsPerBody),
    ),
    cpu_microseconds_per_point: spent / roundsCount / items,
  }));
  const wide = rows.filter(({ layout }) => layout === 'wide');
  const cheapest = Math.min(...wide.map((row) => row.cpu_microseconds_per_point));
  return rows.map((row) => ({
    ...row,
    cpu_microseconds_per_point: Number(row.cpu_microseconds_per_point.toFixed(2)),
    times_cheapest: Number((row.cpu_microseconds_per_point / cheapest).toFixed(2)),
  }));
};
