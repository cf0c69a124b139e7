import { encodeBlocksEnvelope } from '../../../src/wire/blocks-envelope.ts';
import { envelopeVersion } from '../../../src/wire/frame.ts';
import {
  encodeBlock,
  LowTextColumn,
  nameColumn,
  TextColumn,
  WordColumn,
} from '../../../src/wire/native/columns.ts';
import { toldDays } from '../../../src/wire/part-days.ts';
import { push } from './native-rows.ts';

const nsPerMs = 1_000_000n;
const dayMs = 86_400_000;

/** A log record: its time, ms since 1970, and what identifies it. */
export type LogRow = { readonly at: number; readonly service: string; readonly body: string };

const pushWord = (column: WordColumn, value: bigint): void =>
  column.push(Number(value & 0xffff_ffffn), Number(value >> 32n));

/** A block of these records; columns that it does not have get their defaults, and ClickHouse casts the others. */
export const logBlock = (
  rows: readonly LogRow[],
  { base, appId, first = 0 }: { base: bigint; appId: number; first?: number },
): Buffer => {
  const [time, seconds] = [new WordColumn('DateTime64(9)'), new WordColumn('DateTime64(9)')];
  const [service, body] = [new LowTextColumn(), new TextColumn()];
  const [uid, app] = [new WordColumn('UInt64'), new WordColumn('Int64')];
  for (const [index, row] of rows.entries()) {
    const ns = BigInt(row.at) * nsPerMs;
    pushWord(time, ns);
    pushWord(seconds, ns);
    push(service, row.service);
    push(body, row.body);
    pushWord(uid, base + BigInt(first + index));
    pushWord(app, BigInt(appId));
  }
  const columns = [
    nameColumn('Timestamp', time),
    nameColumn('TimestampTime', seconds),
    nameColumn('ServiceName', service),
    nameColumn('Body', body),
    nameColumn('uid', uid),
    nameColumn('AppId', app),
  ];
  return encodeBlock(columns, rows.length);
};

/** A message of LOGS with these records, which are all of one day, and deferred ones as the receiver writes them. */
export const logsMessage = (
  rows: readonly LogRow[],
  {
    base,
    appId,
    arrivedAt,
    mayOverlap = false,
    deferred = [],
  }: { base: bigint; appId: number; arrivedAt: number; mayOverlap?: boolean; deferred?: readonly object[] },
): Buffer => {
  const block = logBlock(rows, { base, appId });
  const times = rows.map(({ at }) => BigInt(at) * nsPerMs).toSorted((a, b) => (a < b ? -1 : 1));
  const day = Math.floor((rows[0]?.at ?? 0) / dayMs);
  const last = rows.length - 1;
  const uids = rows.reduce((sum, _, index) => sum + base + BigInt(index), 0n);
  const days = toldDays([[day, rows.length, uids]]);
  const text = Buffer.from(JSON.stringify(deferred));
  const parts = [
    {
      ...{ appId, bizId: 2, day, rows: rows.length, base: String(base), first: 0, last },
      ...{ timeMin: String(times[0] ?? 0n), timeMax: String(times.at(-1) ?? 0n) },
      ...(days === undefined ? {} : { days }),
      bytes: block.length,
    },
  ];
  const group = {
    ...{ appId, base: String(base), ordinals: deferred.map((_, index) => rows.length + index), arrivedAt },
    policy: { aheadMsMax: 3_600_000, ageMsMax: undefined },
    bytes: text.length,
  };
  const held = deferred.length === 0 ? [] : [group];
  return encodeBlocksEnvelope(
    {
      ...{
        version: envelopeVersion,
        kind: 'logs',
        arrivedAt,
        key: { base: String(base), first: 0 },
        outcomes: [],
      },
      ...(mayOverlap ? { mayOverlap } : {}),
      parts: rows.length === 0 ? [] : parts,
      deferred: held,
    },
    [...(rows.length === 0 ? [] : [block]), ...held.map(() => text)],
  );
};
