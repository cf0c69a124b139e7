import { z } from 'zod';
import { isOfApplications, ownerConditions, pipelines } from '../model/signals.ts';
import type { Clickhouse } from '../stores/clickhouse/client.ts';
import type { SampleRow } from './rows.ts';

/** An example as people and programs read it. `at` is Unix seconds to the millisecond. */
export type Drop = Omit<SampleRow, 'at' | 'boot' | 'seq'> & { readonly at: number };

/** Which examples. Times are Unix seconds. */
export type DropFilter = {
  readonly dataId?: number | undefined;
  readonly appId?: number | undefined;
  readonly reason?: string | undefined;
  readonly since?: number | undefined;
  readonly until?: number | undefined;
};

/** Where a page ended: the next one begins behind this row. */
export type DropPlace = { readonly atMs: number; readonly boot: number; readonly seq: number };

export type DropPage = { readonly items: Drop[]; readonly next: DropPlace | undefined };

const texts = {
  pipeline: z.enum(pipelines),
  stage: z.string(),
  reason: z.string(),
  field: z.string(),
  value: z.string(),
  detail: z.string(),
  payload: z.string(),
  /** Earlier programs write none. */
  request: z.string().default(''),
  sender: z.string(),
  sdk: z.string(),
};
const numbers = {
  data_id: z.coerce.number(),
  app_id: z.coerce.number(),
  ordinal: z.coerce.number(),
  boot: z.coerce.number(),
  seq: z.coerce.number(),
};

const storedDrop = z.object({ atMs: z.coerce.number(), ...texts, ...numbers });
const publishedDrop = z.object({ at: z.string(), ...texts, ...numbers });

type Stored = z.output<typeof storedDrop>;

const dropOf = ({ atMs, boot: _boot, seq: _seq, ...rest }: Stored): Drop => ({ at: atMs / 1000, ...rest });

const conditions = {
  ...ownerConditions,
  reason: 'reason = {reason:String}',
  since: 'at >= fromUnixTimestamp64Milli(1000 * {since:Int64})',
  until: 'at <= fromUnixTimestamp64Milli(1000 * {until:Int64})',
} as const satisfies Record<keyof DropFilter, string>;

const names = ['dataId', 'appId', 'reason', 'since', 'until'] as const satisfies (keyof DropFilter)[];

/** Examples that are kept, newest first; `isOnePerReason`: the newest of each reason. Throws the Faults of the ClickHouse client. */
export const readDrops = async (
  clickhouse: Clickhouse,
  filter: DropFilter,
  limit: number,
  after: DropPlace | undefined,
  isOnePerReason = false,
): Promise<DropPage> => {
  const asked = names.filter((name) => filter[name] !== undefined);
  const where = asked.map((name): string => conditions[name]);
  if (after !== undefined) {
    where.push('(at, boot, seq) < (fromUnixTimestamp64Milli({atMs:Int64}), {boot:UInt32}, {seq:UInt64})');
  }
  const params = { ...Object.fromEntries(asked.map((name) => [name, filter[name]])), ...after };
  const rows = await clickhouse.rows(
    storedDrop,
    `SELECT toUnixTimestamp64Milli(at) AS atMs, ${Object.keys(texts).join(', ')}, ${Object.keys(numbers).join(', ')}
     FROM otel.ingest_samples FINAL ${where.length === 0 ? '' : `WHERE ${where.join(' AND ')}`}
     ORDER BY at DESC, boot DESC, seq DESC ${isOnePerReason ? 'LIMIT 1 BY reason ' : ''}LIMIT ${limit + 1}`,
    { params },
  );
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const isMore = rows.length > limit && last !== undefined;
  return {
    items: page.map(dropOf),
    next: isMore ? { atMs: last.atMs, boot: last.boot, seq: last.seq } : undefined,
  };
};

const parseLine = (line: string): Drop | undefined => {
  try {
    const { at, ...row } = publishedDrop.parse(JSON.parse(line));
    return dropOf({ ...row, atMs: Date.parse(`${at.replace(' ', 'T')}Z`) });
  } catch {
    return undefined;
  }
};

/** Whether the filter is for this sample; its times have no effect. */
export const isOfFilter = (drop: Drop, { dataId, appId, reason }: DropFilter): boolean =>
  (dataId === undefined || (!isOfApplications(drop.pipeline) && drop.data_id === dataId)) &&
  (appId === undefined || (isOfApplications(drop.pipeline) && drop.app_id === appId)) &&
  (reason === undefined || drop.reason === reason);

/** The samples of a message of LEDGER that match the filter (its times have no effect); malformed lines are skipped. */
export const dropsIn = (payload: Uint8Array, filter: DropFilter): Drop[] =>
  Buffer.from(payload)
    .toString('utf8')
    .split('\n')
    .flatMap((line) => (line === '' ? [] : (parseLine(line) ?? [])))
    .filter((drop) => isOfFilter(drop, filter));
