import { isDeepStrictEqual } from 'node:util';
import type { Bus } from '../../../src/bus/connection.ts';
import { openKvBucket } from '../../../src/bus/kv.ts';
import { buckets } from '../../../src/directory/keys.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Sees every change of every record as it is stored, by any process. */
export type RecordWitness = {
  /** Changes that no call may ever make. */
  readonly broken: readonly string[];
  /** Every write token that a record has had. */
  readonly tokens: ReadonlySet<string>;
  /** Resolves when this many more records have changed. */
  more(changes: number): Promise<void>;
  stop(): void;
};

const authorship = ['creator', 'create_time'];

/** What of a record stays as it was made. */
const fixed: Readonly<Record<string, readonly string[]>> = {
  report: [
    ...['custom_report_id', 'mon_biz_id', 'name', 'is_split_measurement', 'is_platform', 'mon_data_id'],
    ...['time_series_group_id', 'table_id', ...authorship],
  ],
  data_source: ['mon_data_id', 'data_name', 'space_uid', 'type_label', ...authorship],
  group: [
    ...['mon_data_id', 'mon_biz_id', 'table_id', 'time_series_group_id', 'time_series_group_name'],
    ...['is_split_measurement', ...authorship],
  ],
  table: ['table_id', 'mon_biz_id', 'schema_type', ...authorship],
  application: ['app_id', 'mon_biz_id', 'app_name', ...authorship],
  purge: ['mon_data_id', 'table_id', 'requested_at', 'requested_by'],
};

/** What a state may only move along. */
const order = ['creating', 'active', 'deleted', 'purging', 'purged'];

const withoutModification = ({ last_modify_user: _, last_modify_time: __, ...rest }: Fields): Fields => rest;

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null;

const breaches = (kind: string, before: Fields, after: Fields): string[] => {
  const broken = (fixed[kind] ?? []).filter((field) => !isDeepStrictEqual(before[field], after[field]));
  const wrongs = broken.map((field) => `${field} has changed`);
  for (const flag of ['is_delete', 'is_deleted']) {
    if (before[flag] === true && after[flag] !== true) wrongs.push('deletion is one way');
  }
  if (order.indexOf(String(after['state'])) < order.indexOf(String(before['state'])))
    wrongs.push(`${before['state']} has become ${after['state']}`);
  if (Number(after['last_modify_time']) < Number(before['last_modify_time']))
    wrongs.push('last_modify_time went back');
  // A report is written too when a call changes its records or takes its creation over.
  if (kind !== 'report' && isDeepStrictEqual(withoutModification(before), withoutModification(after)))
    wrongs.push('was written although nothing changed');
  return wrongs;
};

/** Starts to watch, and resolves when the records there are were seen. */
export const startRecordWitness = async (bus: Bus): Promise<RecordWitness> => {
  const broken: string[] = [];
  const tokens = new Set<string>();
  const last = new Map<string, Fields>();
  const waiting = new Set<{ left: number; done: () => void }>();
  const { promise: ready, resolve } = Promise.withResolvers<void>();
  const bucket = await openKvBucket(bus, buckets.records);
  const watch = bucket.watch(
    ({ key, value }) => {
      const kind = key.split('.')[0] ?? '';
      for (const one of waiting) if (--one.left <= 0) one.done();
      if (!(kind in fixed)) return;
      if (!isFields(value)) {
        broken.push(`${key} is gone`);
        return;
      }
      if (typeof value['token'] === 'string') tokens.add(value['token']);
      const before = last.get(key);
      last.set(key, value);
      if (before !== undefined)
        for (const wrong of breaches(kind, before, value)) broken.push(`${key}: ${wrong}`);
    },
    () => resolve(),
  );
  await ready;
  return {
    broken,
    tokens,
    more: (changes) =>
      new Promise((done) => {
        const one = {
          left: changes,
          done: () => {
            waiting.delete(one);
            done();
          },
        };
        waiting.add(one);
        if (changes <= 0) one.done();
      }),
    stop: () => watch.stop(),
  };
};
