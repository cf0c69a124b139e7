import { z } from 'zod';
import { Fault } from '../model/fault.ts';
import { epochUids, identityBit } from '../model/uid.ts';
import { type Clickhouse, database } from '../stores/clickhouse/client.ts';
import { readArrivedRows } from './application-rows.ts';
import type { Owner } from './difference.ts';
import type { StoreTargets } from './owner-stores.ts';
import {
  type PointsTable,
  readDistinctPointSlices,
  readDistinctPoints,
  readPointDays,
} from './point-rows.ts';
import { readSettledMinutes, readSettledSlices } from './settled-days.ts';
import type { UidRange, UidSlices } from './uid-slices.ts';

/** An owner with rows without a record on these event days, and the minutes (Unix seconds) in which items of it seem lost. */
export type SourcesAsked = {
  readonly owner: Owner;
  readonly days: readonly number[];
  readonly minutes: readonly number[];
};

/**
 * Distinct rows that no record names, by where they come from: of points the epoch of the receiver, of all other items the minute of their
 * arrival. A copy of a recorded row comes from nowhere.
 */
export type RowSources = {
  /** Of points with counted uids, by epoch. */
  readonly epochs: ReadonlyMap<number, number>;
  /** Those of these epochs that name a life; others are later ones of a life, or unused. */
  readonly lives: ReadonlySet<number>;
  /** Points of requests with an identity: their uids do not name a receiver. */
  readonly hashed: number;
  /** Of items of an application by minute of arrival, Unix seconds. */
  readonly minutes: ReadonlyMap<number, number>;
};

/** Of an owner without such rows. */
export const noSources: RowSources = { epochs: new Map(), lives: new Set(), hashed: 0, minutes: new Map() };

/** The uids of requests with an identity, as far as both stores can compare. */
const hashedUids: UidRange = { from: identityBit, until: 2n * identityBit - 1n };

const lifeRow = z.object({ life: z.coerce.number() });

const readLivesAmong = async (clickhouse: Clickhouse, epochs: readonly number[]): Promise<Set<number>> => {
  if (epochs.length === 0) return new Set();
  const found = await clickhouse.rows(
    lifeRow,
    `SELECT DISTINCT life FROM ${database}.ingest_published WHERE life IN {epochs:Array(UInt32)}`,
    { params: { epochs } },
  );
  return new Set(found.map(({ life }) => life));
};

const sumOf = (slices: UidSlices): number => slices.values().reduce((sum, { rows }) => sum + rows, 0);

/** Rows of a day without a record. The records are read first: what comes in between is a row too many at most. */
const readPointsOfDay = async (
  clickhouse: Clickhouse,
  table: PointsTable,
  day: number,
): Promise<{ readonly epochs: Map<number, number>; readonly hashed: number }> => {
  const settledIn = (without: readonly UidRange[]): Promise<UidSlices> =>
    readSettledSlices(clickhouse, 'metrics', table.dataId, { day, without, sliceSize: epochUids });
  const ofEpochs = { day, without: [hashedUids] };
  const [named, all] = [await settledIn(ofEpochs.without), sumOf(await settledIn([]))];
  const { rows } = (await readPointDays(table, [day])).days.get(day) ?? { rows: 0 };
  const asked = { ...ofEpochs, slices: undefined, sliceSize: epochUids, rows };
  const stored = await readDistinctPointSlices(table, asked);
  const hashed = (await readDistinctPoints(table, day, rows)).rows - sumOf(stored);
  const epochs = new Map<number, number>();
  for (const [epoch, found] of stored) {
    const beyond = found.rows - (named.get(epoch)?.rows ?? 0);
    if (beyond > 0) epochs.set(epoch, beyond);
  }
  return { epochs, hashed: Math.max(0, hashed - (all - sumOf(named))) };
};

const readPointSources = async (
  clickhouse: Clickhouse,
  table: PointsTable,
  days: readonly number[],
): Promise<RowSources> => {
  const epochs = new Map<number, number>();
  let hashed = 0;
  for (const day of days) {
    const ofDay = await readPointsOfDay(clickhouse, table, day);
    for (const [epoch, rows] of ofDay.epochs) epochs.set(epoch, rows + (epochs.get(epoch) ?? 0));
    hashed += ofDay.hashed;
  }
  const lives = await readLivesAmong(clickhouse, [...epochs.keys()]);
  return { ...noSources, epochs, lives, hashed };
};

/**
 * Where rows without a record come from. Throws the Faults of ClickHouse; a QuestDB that does not answer has none: its rows explain
 * nothing until it does.
 */
export const readRowSources = async (
  { clickhouse, points }: Pick<StoreTargets, 'clickhouse' | 'points'>,
  { owner, days, minutes }: SourcesAsked,
): Promise<RowSources> => {
  const { pipeline, dataId, appId } = owner;
  if (pipeline === 'metrics') {
    const table = points.find((each) => each.dataId === dataId);
    if (table === undefined) return noSources;
    try {
      return await readPointSources(clickhouse, table, days);
    } catch (error) {
      if (error instanceof Fault && error.kind !== 'internal') return noSources;
      throw error;
    }
  }
  const named = await readSettledMinutes(clickhouse, pipeline, appId, days, minutes);
  const stored = await readArrivedRows(clickhouse, pipeline, appId, days, minutes);
  const beyond = [...stored].map(([minute, rows]) => [minute, rows - (named.get(minute) ?? 0)] as const);
  return { ...noSources, minutes: new Map(beyond.filter(([, rows]) => rows > 0)) };
};

/** Gives each row of these sources to one loss. */
export type SourcedRows = {
  /**
   * Takes at most `most` rows that can be of messages of these lives in this minute. Of rows whose uids do not name a receiver,
   * at most `hashedMost`.
   */
  take(from: { lives: ReadonlySet<number>; minute: number; hashedMost: number }, most: number): number;
};

/** By the sources of one owner. */
export const sourcedRows = (sources: RowSources): SourcedRows => {
  const epochs = new Map(sources.epochs);
  const minutes = new Map(sources.minutes);
  let { hashed } = sources;
  return {
    take: ({ lives, minute, hashedMost }, most) => {
      let left = most;
      const takeOf = (rows: Map<number, number>, key: number): void => {
        const there = rows.get(key) ?? 0;
        const taken = Math.min(left, there);
        rows.set(key, there - taken);
        left -= taken;
      };
      takeOf(minutes, minute);
      const first = Math.min(...lives);
      for (const epoch of epochs.keys())
        if (lives.has(epoch) || (epoch > first && !sources.lives.has(epoch))) takeOf(epochs, epoch);
      const ofHashes = Math.min(left, hashed, hashedMost);
      hashed -= ofHashes;
      return most - left + ofHashes;
    },
  };
};
