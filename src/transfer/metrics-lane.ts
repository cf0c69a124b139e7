import { bytesIdentity } from '../dead-letters/dead-letters.ts';
import type { Purges } from '../directory/purges.ts';
import { messageOf } from '../model/fault.ts';
import { messageKeyOf } from '../outcomes/outcome-rows.ts';
import { addOutcome, addReceiverDrops, storedOutcome } from '../outcomes/tally.ts';
import type { AppliedCheck, Unapplied } from '../stores/questdb/applied.ts';
import {
  isUnclassifiedAnswer,
  type QuestdbWriter,
  scopeOfAnswer,
  unclassifiedStatus,
} from '../stores/questdb/writer.ts';
import { decodeEnvelope, type MetricsEnvelope, type Part } from '../wire/envelope.ts';
import { uidOfRow } from '../wire/line-protocol.ts';
import { drop, type HeldMessage, judgeDeferred, type PassedItem, rowsOf } from './held-message.ts';
import type { Judged, Lane, SetAside, Written } from './lane.ts';
import { type TableFailure, type TablePlan, type TableTroubles, unavailablePart } from './table-troubles.ts';
import { type BatchResult, type RefusedRow, writeBatch } from './write-batch.ts';

const timePattern = / (\d+)\n?$/;
/** Longer than a time and the line feed. */
const timeLengthMax = 32;

/** What the row alone is, as a part: its uid is its base, for a part of several requests names only the first one's. */
const partOfRow = (part: Part, row: Uint8Array, text: string, uid: string, points: number): Part => {
  const time = Number(timePattern.exec(text.slice(-timeLengthMax))?.[1] ?? part.timeMin);
  return {
    ...part,
    rows: 1,
    points,
    base: uid,
    first: 0,
    last: 0,
    timeMin: time,
    timeMax: time,
    bytes: row.length,
  };
};

/**
 * The text of a row in a narrow table without what differs between the rows of one point: the metric's name, its value and the uid.
 * Tags are escaped, so what begins these three stands nowhere before them; the uid is the last field.
 */
const pointOf = (text: string): string => {
  const metric = text.indexOf(',metric=');
  const tags = text.indexOf(',', metric + 1);
  const value = text.indexOf(' value=', tags);
  const fields = text.indexOf(',', value);
  const uid = text.lastIndexOf(',uid=');
  const time = text.indexOf(' ', uid);
  if (metric === -1 || tags === -1 || value === -1 || uid < fields || time === -1) return text;
  return `${text.slice(0, metric)}${text.slice(tags, value)}${text.slice(fields, uid)}${text.slice(time)}`;
};

/** Refused rows of one message for the dead letters; in a narrow table the first row of a point stands for the point. */
const refusedRows = (rows: readonly RefusedRow[]): SetAside[] => {
  const points = new Set<string>();
  return rows.map(({ part, row, why }) => {
    const text = Buffer.from(row).toString('utf8');
    const uid = uidOfRow(text);
    const point = part.layout === 'narrow' ? pointOf(text) : undefined;
    const items = point !== undefined && points.has(point) ? 0 : 1;
    if (point !== undefined) points.add(point);
    return {
      reason: 'row_refused',
      why,
      bytes: row,
      identity: uid ?? bytesIdentity(row),
      items,
      place: { dataId: part.dataId, table: part.table, ...(uid === undefined ? {} : { uid }) },
      ...(uid === undefined ? {} : { uid: BigInt(uid), part: partOfRow(part, row, text, uid, items) }),
    };
  });
};

const purgedOf = (batch: readonly HeldMessage[], purges: Pick<Purges, 'has'>): Set<number> => {
  const purged = new Set<number>();
  for (const { envelope } of batch) {
    for (const { dataId } of [...envelope.header.parts, ...envelope.header.deferred]) {
      if (purges.has(dataId)) purged.add(dataId);
    }
  }
  return purged;
};

/** Tables of the batch but those of purged data ids, with what to do with each. */
const planOf = (
  batch: readonly HeldMessage[],
  purged: ReadonlySet<number>,
  troubles: TableTroubles,
  isOurs: (dataId: number) => boolean,
): Map<string, TablePlan> => {
  const plans = new Map<string, TablePlan>();
  for (const { envelope } of batch) {
    for (const { table, dataId } of envelope.header.parts) {
      if (!purged.has(dataId) && !plans.has(table) && isOurs(dataId)) plans.set(table, troubles.plan(table));
    }
  }
  return plans;
};

/** What the tables of a batch came to: which fail, and why. */
type TriedTables = BatchResult & { readonly failing: ReadonlyMap<string, TableFailure> };
/** With those whose rows are confirmed and not to be seen yet. */
type TableResult = TriedTables & { readonly late: ReadonlyMap<string, string> };

/**
 * Some tables together, then others each by itself: those that were in trouble before, or all, to find the ones that the store
 * refuses for a reason that names no row.
 */
const writeTables = async (
  write: (isWanted: (table: string) => boolean) => Promise<BatchResult>,
  together: ReadonlySet<string>,
  apart: readonly string[],
): Promise<TriedTables> => {
  const first = together.size === 0 ? undefined : await write((table) => together.has(table));
  const refused: RefusedRow[] = [...(first?.refused ?? [])];
  const storedTables = new Set<string>(first?.storedTables);
  const missingTables = new Set<string>(first?.missingTables);
  const brokenTables = new Map<string, string>(first?.brokenTables);
  const failing = new Map<string, TableFailure>();
  for (const each of apart) {
    try {
      const result = await write((table) => table === each);
      refused.push(...result.refused);
      for (const stored of result.storedTables) storedTables.add(stored);
      for (const missing of result.missingTables) missingTables.add(missing);
      for (const [broken, why] of result.brokenTables) brokenTables.set(broken, why);
    } catch (error) {
      if (!isUnclassifiedAnswer(error)) throw error;
      failing.set(each, { kind: 'unknown', scope: scopeOfAnswer(error, each), why: messageOf(error) });
    }
  }
  return { refused, storedTables, missingTables, brokenTables, failing };
};

const passedPoint = ({ owner, base, ordinal, arrivedAt, text }: PassedItem): SetAside => ({
  reason: 'deferred_item_valid',
  why: 'the receiver deferred a point whose time this program finds valid',
  bytes: Buffer.from(text),
  identity: `${base}:${ordinal}`,
  items: 1,
  place: { dataId: owner, uid: `${base}+${ordinal}` },
  uid: BigInt(base) + BigInt(ordinal),
  arrivedAt,
});

const judge = (envelope: MetricsEnvelope, purged: ReadonlySet<number>): Judged => {
  const { header } = envelope;
  const verdicts = judgeDeferred(envelope, purged);
  const { dropped, tally, passed, unreadableItems } = verdicts;
  let kept = 0;
  let rows = 0;
  for (const part of header.parts) {
    if (purged.has(part.dataId)) drop(verdicts, part.dataId, 'data_source_purged', part.points);
    else {
      addOutcome(tally, part.dataId, storedOutcome, part.points);
      kept += part.points;
      rows += part.rows;
    }
  }
  for (const { dataId, dropped: drops } of header.outcomes) addReceiverDrops(tally, dataId, drops);
  return {
    arrivedAt: header.arrivedAt,
    key: messageKeyOf(header),
    kept,
    rows,
    dropped,
    tally,
    passed: passed.map(passedPoint),
    unreadableItems,
    redrive: header.redrive,
  };
};

/** What the tables came to, with what is confirmed and not to be seen: none of that is stored yet. */
const withUnshown = (
  tried: TriedTables,
  known: Pick<TriedTables, 'failing' | 'brokenTables'>,
  ...unshown: readonly Unapplied[]
): TableResult => {
  const failing = new Map([...tried.failing, ...known.failing]);
  for (const { held } of unshown)
    for (const [table, { why, scope }] of held) failing.set(table, { kind: 'held', scope, why });
  const late = new Map(unshown.flatMap((each) => [...each.late]));
  const brokenTables = new Map([
    ...known.brokenTables,
    ...tried.brokenTables,
    ...unshown.flatMap(({ broken }) => [...broken]),
  ]);
  const storedTables = new Set(tried.storedTables);
  for (const table of [...failing.keys(), ...late.keys(), ...brokenTables.keys()]) storedTables.delete(table);
  return { ...tried, storedTables, failing, late, brokenTables };
};

const keyless: TableFailure = {
  kind: 'unsafe',
  scope: 'table',
  why: 'its upsert keys are off: rows could be there twice',
};
const missing: TableFailure = { kind: 'missing', scope: 'table', why: 'the table is not there' };

/** Tries of whole batches that QuestDB answers with something unknown, before each table is written by itself. */
const triesTogetherMax = 2;

export type MetricsLaneEvents = {
  /** QuestDB answered a status with a text that we do not know. */
  readonly onUnclassified: (status: string) => void;
  /** True for a table that may not be written to: what is written twice would be there twice. */
  readonly isUnsafe: (table: string) => boolean;
  /** QuestDB cannot change this table any more. */
  readonly onBroken: (table: string, why: string) => void;
  /** Why a table must not be written to before it is made anew, or undefined. */
  readonly brokenWhy: (table: string) => string | undefined;
  /** Whether the table of a data id lies on the store that this lane writes to; rows of others are left to their lanes. */
  readonly isOurs: (dataId: number) => boolean;
};

/** What becomes of the rows of each table. A table that is gone because its data id was purged meanwhile troubles nobody. */
const fatesOf = (
  tables: ReadonlySet<string>,
  plans: ReadonlyMap<string, TablePlan>,
  result: TableResult,
  troubles: TableTroubles,
): Map<string, TablePlan> => {
  const fates = new Map(plans);
  // The stored ones first: that others take rows shows that the store lives.
  troubles.stored(result.storedTables);
  for (const table of tables) {
    const broken = result.brokenTables.get(table);
    const late = result.late.get(table);
    const failure = result.missingTables.has(table) ? missing : result.failing.get(table);
    if (broken !== undefined) fates.set(table, troubles.broken(table, broken));
    else if (failure !== undefined) fates.set(table, troubles.failed(table, failure));
    else if (late !== undefined) fates.set(table, troubles.late(table, late));
  }
  return fates;
};

/** What became of the batch, table by table. */
const writtenOf = (
  batch: readonly HeldMessage[],
  plans: ReadonlyMap<string, TablePlan>,
  result: TableResult,
  purged: Set<number>,
  purges: Pick<Purges, 'has'>,
  troubles: TableTroubles,
): Written<MetricsEnvelope> => {
  const tables = new Set<string>();
  for (const { envelope } of batch) {
    for (const { table, dataId } of envelope.header.parts) {
      if (result.missingTables.has(table) && !purged.has(dataId) && purges.has(dataId)) purged.add(dataId);
      if (!purged.has(dataId)) tables.add(table);
    }
  }
  const fates = fatesOf(tables, plans, result, troubles);
  const waits = new Map<HeldMessage, string[]>();
  for (const message of batch) {
    const waited = message.envelope.header.parts.flatMap(({ table, dataId }) =>
      !purged.has(dataId) && fates.get(table) === 'wait' ? [table] : [],
    );
    if (waited.length > 0) waits.set(message, waited);
  }
  for (const table of troubles.settle(batch, waits)) fates.set(table, 'set_aside');
  const homeless = new Set<HeldMessage>();
  const setAside = new Map<HeldMessage, SetAside[]>();
  const add = (message: HeldMessage, more: readonly SetAside[]): void => {
    setAside.set(message, [...(setAside.get(message) ?? []), ...more]);
  };
  for (const message of batch) {
    for (const [index, part] of message.envelope.header.parts.entries()) {
      if (purged.has(part.dataId)) continue;
      const fate = fates.get(part.table);
      if (fate === 'wait') homeless.add(message);
      const bytes = message.envelope.partBytes[index];
      if (fate === 'set_aside' && bytes !== undefined)
        add(message, [unavailablePart(part, bytes, troubles.why(part.table) ?? '')]);
    }
  }
  for (const [message, rows] of Map.groupBy(result.refused, (row) => row.message)) {
    const kept = rows.filter(({ part }) => !purged.has(part.dataId) && fates.get(part.table) === 'write');
    if (kept.length > 0) add(message, refusedRows(kept));
  }
  const problem =
    result.storedTables.size === 0 && result.refused.length === 0
      ? ([...result.failing.values()].map(({ why }) => why)[0] ?? [...result.late.values()][0])
      : undefined;
  return { setAside, homeless, purged, ...(problem === undefined ? {} : { problem }) };
};

/**
 * Points: METRICS -> QuestDB. Those of purged data ids are dropped, as of the purges known when the write begins: a write that
 * was begun before may finish. Others in the same message are stored as ever. A table that fails alone waits, then is set aside; one
 * that QuestDB cannot change any more is set aside at once and not written to before it is made anew.
 */
export const createMetricsLane = (
  writer: Pick<QuestdbWriter, 'write' | 'renew'>,
  applied: AppliedCheck,
  purges: Pick<Purges, 'has'>,
  troubles: TableTroubles,
  events: MetricsLaneEvents,
): Lane<MetricsEnvelope> => {
  /** Whole batches in a row that QuestDB answered with something unknown. */
  let failedTogether = 0;
  return {
    pipeline: 'metrics',
    store: 'QuestDB',
    read: decodeEnvelope,
    rowsOf: ({ header }) => rowsOf(header),
    write: async (batch, onWrite) => {
      const purged = purgedOf(batch, purges);
      const plans = planOf(batch, purged, troubles, events.isOurs);
      const due = [...plans].flatMap(([table, plan]) => (plan === 'write' ? [table] : []));
      const unsafe = new Map(due.filter(events.isUnsafe).map((table) => [table, keyless]));
      const failedBefore = failedTogether;
      failedTogether = 0;
      const isApart = (table: string): boolean =>
        failedBefore >= triesTogetherMax || troubles.why(table) !== undefined;
      const broken = new Map<string, string>();
      for (const table of due) {
        const why = events.brokenWhy(table);
        if (why !== undefined) broken.set(table, why);
      }
      const fit = due.filter((table) => !unsafe.has(table) && !broken.has(table));
      const write = (isWanted: (table: string) => boolean): Promise<BatchResult> =>
        writeBatch(
          writer,
          batch,
          onWrite,
          ({ dataId, table }) => purged.has(dataId) || !isWanted(table),
          events.onBroken,
        );
      try {
        const before = await applied.stillUnapplied(fit);
        const tables = fit.filter(
          (table) => !before.late.has(table) && !before.held.has(table) && !before.broken.has(table),
        );
        const result = await writeTables(
          write,
          new Set(tables.filter((table) => !isApart(table))),
          tables.filter(isApart),
        );
        const after = await applied.unapplied(result.storedTables);
        for (const [table, why] of [...before.broken, ...after.broken]) events.onBroken(table, why);
        const told = withUnshown(result, { failing: unsafe, brokenTables: broken }, before, after);
        return writtenOf(batch, plans, told, purged, purges, troubles);
      } catch (error) {
        const status = unclassifiedStatus(error);
        if (status !== undefined) {
          events.onUnclassified(status);
          failedTogether = failedBefore + 1;
        } else troubles.storeFailed();
        throw error;
      }
    },
    judge,
  };
};
