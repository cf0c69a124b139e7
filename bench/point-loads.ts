import { gzipSync } from 'node:zlib';
import { columnBodies, pushBodies } from './bodies.ts';
import { inTurnOfNow, type Load } from './load.ts';

/** How producers send points. */
export type PointLoad = {
  readonly points: number;
  /** Points are up to so old, ms, in random order. */
  readonly lateMs: number;
  /** Metric columns of the table, of which each point brings two. */
  readonly columns?: number;
  readonly isZipped?: boolean;
  readonly connections: number;
};

/** Of 64,000 hosts that are a target and a dimension. */
export const usualPoints: PointLoad = { points: 1_000, lateMs: 5_000, connections: 8 };

/** Loads that users have. More data ids and more columns are curves (`--only curves`). */
export const pointLoads: Readonly<Record<string, PointLoad>> = {
  'points up to 5 s late, 1000 a request': usualPoints,
  'points up to 60 s late': { ...usualPoints, lateMs: 60_000 },
  'points as gzip': { ...usualPoints, isZipped: true },
  'points of 100 columns': { ...usualPoints, columns: 100 },
  'points, 100 a request': { ...usualPoints, points: 100, connections: 16 },
  'points, 10 a request': { ...usualPoints, points: 10, connections: 64 },
  'points, 1 a request': { ...usualPoints, points: 1, connections: 64 },
};

const pointsOfBodies = 100_000;
const bodiesMax = 256;
const zipLevel = 1;
const zipped = { 'content-encoding': 'gzip' } as const;
const columnsSecondsMax = 5;

/** A row has a place for each column: a table of many fills the disk. */
export const secondsOf = ({ columns }: PointLoad, seconds: number): number =>
  columns === undefined ? seconds : Math.min(seconds, columnsSecondsMax);

/** The requests with each body as gzip, made when it is sent, as producers do: its times or ids are new. */
export const asGzip = <Sent extends Pick<Load, 'headers' | 'nextBody'>>(load: Sent): Sent => ({
  ...load,
  headers: { ...load.headers, ...zipped },
  nextBody: () => gzipSync(load.nextBody(), { level: zipLevel }),
});

/** Requests of this load for one data id, without an address. */
export const pointRequests = (
  { points, lateMs, columns, isZipped = false, connections }: PointLoad,
  dataId: number,
  token: string,
): Omit<Load, 'urls'> => {
  const count = Math.min(bodiesMax, Math.ceil(pointsOfBodies / points));
  const load = {
    headers: {},
    nextBody: inTurnOfNow((nowMs) =>
      columns === undefined
        ? pushBodies(count, points, dataId, token, nowMs, lateMs)
        : columnBodies(points, columns, dataId, token, nowMs),
    ),
    itemsPerBody: points,
    connections,
  };
  return isZipped ? asGzip(load) : load;
};
