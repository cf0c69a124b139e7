import type { ItemTableName } from '../../../src/model/signals.ts';
import { defaultTimePolicy } from '../../../src/model/time.ts';
import { type BlockPart, encodeBlocksEnvelope } from '../../../src/wire/blocks-envelope.ts';
import { envelopeVersion } from '../../../src/wire/frame.ts';
import { sourceOf } from '../../../src/wire/native/bytes.ts';
import { encodeBlock, LowTextColumn, nameColumn, WordColumn } from '../../../src/wire/native/columns.ts';

/** A data point: its table, its time, ms since 1970, and what identifies it. The tables' other columns have their defaults. */
export type DataPointRow = {
  readonly table: ItemTableName;
  readonly at: number;
  readonly service: string;
  readonly metric: string;
};

type Message = {
  /** The uid of the first data point. */
  readonly base: bigint;
  readonly appId: number;
  readonly arrivedAt: number;
  readonly mayOverlap?: boolean;
  /** Texts of deferred data points, beside the others. */
  readonly deferred?: readonly object[];
};

const dayMs = 86_400_000;

const pushWord = (column: WordColumn, value: bigint): void =>
  column.push(Number(value & 0xffffffffn), Number(value >> 32n));

/** The rows' numbers in the message. */
type Numbered = readonly (readonly [ordinal: number, row: DataPointRow])[];

const blockOf = (numbered: Numbered, { base, appId, arrivedAt }: Message): Buffer => {
  const [services, metrics] = [new LowTextColumn(), new LowTextColumn()];
  const [times, uids] = [new WordColumn('DateTime64(9)'), new WordColumn('UInt64')];
  const [owners, arrivals] = [new WordColumn('Int64'), new WordColumn('DateTime64(3)')];
  for (const [ordinal, { service, metric, at }] of numbered) {
    services.push(sourceOf(service), 0, Buffer.byteLength(service));
    metrics.push(sourceOf(metric), 0, Buffer.byteLength(metric));
    pushWord(times, BigInt(at) * 1_000_000n);
    pushWord(uids, base + BigInt(ordinal));
    pushWord(owners, BigInt(appId));
    pushWord(arrivals, BigInt(arrivedAt));
  }
  const columns = {
    ...{ ServiceName: services, MetricName: metrics, TimeUnix: times },
    ...{ uid: uids, AppId: owners, ArrivedAt: arrivals },
  };
  return encodeBlock(
    Object.entries(columns).map(([name, column]) => nameColumn(name, column)),
    numbered.length,
  );
};

const nobody: Numbered[number] = [0, { table: 'otel_metrics_gauge', at: 0, service: '', metric: '' }];

/** The parts of these data points, by table and day, as the receiver makes them. */
export const dataPointParts = (
  rows: readonly DataPointRow[],
  message: Message,
): { readonly part: BlockPart; readonly block: Buffer }[] => {
  const numbered = rows.map((row, ordinal) => [ordinal, row] as const);
  const groups = Map.groupBy(numbered, ([, { table, at }]) => `${table} ${Math.floor(at / dayMs)}`);
  return [...groups.values()].map((group) => {
    const block = blockOf(group, message);
    const times = group.map(([, { at }]) => at);
    const [[, { table, at }] = nobody] = group;
    const day = Math.floor(at / dayMs);
    const sum = group.reduce((all, [ordinal]) => all + message.base + BigInt(ordinal), 0n);
    const part: BlockPart = {
      ...{ appId: message.appId, bizId: 2, day, rows: group.length, base: String(message.base) },
      ...{ first: 0, last: rows.length - 1, itemTable: table, bytes: block.length },
      days: [[day, group.length, String(BigInt.asUintN(64, sum))]],
      timeMin: `${Math.min(...times)}000000`,
      timeMax: `${Math.max(...times)}000000`,
    };
    return { part, block };
  });
};

/** A message of OTEL_METRICS with these data points, and with deferred ones after them. */
export const dataPointsMessage = (rows: readonly DataPointRow[], message: Message): Buffer => {
  const { base, appId, arrivedAt, mayOverlap = false, deferred = [] } = message;
  const parts = dataPointParts(rows, message);
  const text = Buffer.from(JSON.stringify(deferred));
  const group = {
    ...{ appId, arrivedAt, policy: defaultTimePolicy, base: String(base), bytes: text.length },
    ordinals: deferred.map((_, index) => rows.length + index),
  };
  return encodeBlocksEnvelope(
    {
      ...{ version: envelopeVersion, kind: 'data_points', arrivedAt, outcomes: [] },
      key: { base: String(base), first: 0 },
      ...(mayOverlap ? { mayOverlap } : {}),
      parts: parts.map(({ part }) => part),
      deferred: deferred.length === 0 ? [] : [group],
    },
    [...parts.map(({ block }) => block), ...(deferred.length === 0 ? [] : [text])],
  );
};
