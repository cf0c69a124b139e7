import type { ApplicationNow, OwnerState, Owners, SourceNow } from '../directory/owners.ts';
import { Fault } from '../model/fault.ts';
import { type ApplicationPipeline, isOfApplications, pipelineOfStream } from '../model/signals.ts';
import { daySeconds } from '../model/time.ts';
import type { ItemPlace } from '../model/uid.ts';
import { encodeDeferredDataPoint } from '../rules/data-points/deferred-data-point.ts';
import { encodeDeferredRecord } from '../rules/logs/deferred-record.ts';
import { encodeDeferredPoint } from '../rules/points/deferred-point.ts';
import type { Run } from '../rules/points/encoded-points.ts';
import { encodeDeferredSpan } from '../rules/spans/deferred-span.ts';
import type { BlockPart } from '../wire/blocks-envelope.ts';
import type { Part } from '../wire/metrics-envelope.ts';
import { followsFromRun, toldDays } from '../wire/part-days.ts';
import { arrivedAtOf, type Letter } from './dead-letter.ts';
import type { LetterRows } from './redrive-message.ts';

/** How an item is encoded: for good, or to find out whether it can be. */
export type EncodeOptions = {
  /** New names get their columns. Without it nothing is written, and rows with new names are of no use. */
  readonly isForGood: boolean;
  /** A redrive of it was begun: its rows may be on their way, so that whether its owner is enabled no longer counts. */
  readonly isBegun: boolean;
};

/**
 * The rows of a dead letter that holds an item as received: with the uids that the receiver would have given it, the
 * same at each call. Permanent Fault `not_redrivable`, with the reason, if the item makes no rows now.
 */
export type EncodeReceivedItem = (letter: Letter, options: EncodeOptions) => Promise<LetterRows>;

export type ReceivedItemDependencies = {
  readonly owners: Owners;
  /** The retention of a signal's table, which bounds the times that ClickHouse can hold; undefined: for ever. */
  readonly retentionDays: { readonly [pipeline in ApplicationPipeline]?: number | undefined };
};

/** Whether the bytes are an item as it was received, and no rows yet. */
export const isReceivedItem = ({ header }: Letter): boolean => header.reason === 'deferred_item_valid';

const placePattern = /^(\d{1,20})\+(\d{1,10})$/;

const fault = ({ sequence }: Letter, why: string): Fault =>
  new Fault('permanent', 'not_redrivable', `dead letter ${sequence} ${why}`);

const placeOf = (letter: Letter): ItemPlace => {
  const [, base, ordinal] = placePattern.exec(letter.header.uid ?? '') ?? [];
  if (base === undefined) throw fault(letter, 'does not name its item: look at it, then purge it');
  return { base, ordinal: Number(ordinal) };
};

const itemOf = (letter: Letter): unknown => {
  try {
    return JSON.parse(letter.bytes.toString('utf8'));
  } catch {
    throw fault(letter, 'is not JSON: look at it, then purge it');
  }
};

const reasons: Readonly<Record<Exclude<OwnerState, 'enabled'>, readonly [ofSource: string, remedy: string]>> =
  {
    disabled: ['is disabled', 'enable it and redrive again, or purge the dead letter'],
    deleted: ['is deleted', 'purge the dead letter'],
    purged: ['is purged', 'purge the dead letter'],
  };

const checkState = (letter: Letter, owner: string, state: OwnerState, reason: string): void => {
  if (state === 'enabled') return;
  const [is, remedy] = reasons[state];
  throw fault(letter, `cannot be stored (${reason}): ${owner} ${is}; ${remedy}`);
};

const checkDropped = (letter: Letter, dropped: { reason: string; detail: string }): never => {
  const detail = dropped.detail === '' ? '' : `: ${dropped.detail}`;
  const why = `is invalid under the rules of this version (${dropped.reason})${detail}`;
  throw fault(
    letter,
    `${why}; see tidemark explain ${dropped.reason}; purge the dead letter if the rule stays`,
  );
};

const pointRows = (letter: Letter, { source }: SourceNow) => {
  const encoded = encodeDeferredPoint(
    itemOf(letter),
    placeOf(letter),
    source,
    source.rules,
    arrivedAtOf(letter),
  );
  return encoded.kind === 'dropped' ? checkDropped(letter, encoded) : encoded;
};

/** `days` of the rows of one point, whose ordinals are counted from its uid. */
const daysOf = ({ first, last, days }: Run, uid: bigint): Pick<Part, 'days'> => {
  if (followsFromRun(first, last, days)) return { days: [] };
  const told = toldDays(
    days.map(({ day, rows, ordinals }) => [day, rows, uid * BigInt(rows) + BigInt(ordinals)]),
  );
  return told === undefined ? {} : { days: told };
};

const encodePoint = async (owners: Owners, letter: Letter, options: EncodeOptions): Promise<LetterRows> => {
  const { dataId = 0 } = letter.header;
  const owner = `data id ${dataId}`;
  const read = async (): Promise<SourceNow> => {
    const found = await owners.source(dataId);
    if (found === undefined)
      throw fault(letter, `has no owner: ${owner} does not exist; purge the dead letter`);
    return found;
  };
  let found = await read();
  if (!options.isBegun)
    checkState(
      letter,
      owner,
      found.state,
      found.state === 'purged' ? 'data_source_purged' : 'data_source_disabled',
    );
  let rows = pointRows(letter, found);
  const { newMetrics, newDimensions } = rows;
  if (options.isForGood && newMetrics.length + newDimensions.length > 0) {
    await owners.register(found.source, newMetrics, newDimensions);
    found = await read();
    rows = pointRows(letter, found);
    // A read may reach a server that does not have the names yet: rows without their columns would go into others.
    if (rows.newMetrics.length + rows.newDimensions.length > 0)
      throw new Fault(
        'transient',
        'kv_behind',
        `the registered names of ${owner} are not readable yet; redrive again in a moment`,
      );
  }
  const { run } = rows;
  const { base, ordinal } = placeOf(letter);
  const bytes = Buffer.from(run.text);
  const part: Part = {
    dataId,
    table: found.source.tableId,
    layout: found.source.layout,
    rows: run.rows,
    points: 1,
    base,
    first: ordinal + run.first,
    last: ordinal + run.last,
    timeMin: run.timeMin,
    timeMax: run.timeMax,
    ...daysOf(run, BigInt(base) + BigInt(ordinal)),
    bytes: bytes.length,
  };
  return { part, bytes };
};

/** How items of applications are encoded. */
const encoders: Readonly<Record<ApplicationPipeline, typeof encodeDeferredSpan>> = {
  traces: encodeDeferredSpan,
  logs: encodeDeferredRecord,
  otel_metrics: encodeDeferredDataPoint,
};

const blockRows = (
  letter: Letter,
  pipeline: ApplicationPipeline,
  { appId, bizId }: ApplicationNow,
  ttlSeconds: number | undefined,
): LetterRows => {
  const place = placeOf(letter);
  const encoded = encoders[pipeline](
    itemOf(letter),
    place,
    { appId, bizId },
    arrivedAtOf(letter),
    ttlSeconds,
  );
  if (encoded.kind === 'dropped') return checkDropped(letter, encoded);
  const { day, itemTable, rows, timeMin, timeMax, block } = encoded.part;
  const { base, ordinal } = place;
  const rest = { timeMin, timeMax, ...(itemTable === undefined ? {} : { itemTable }), bytes: block.length };
  const part: BlockPart = { appId, bizId, day, rows, base, first: ordinal, last: ordinal, ...rest };
  return { part, bytes: block };
};

const encodeItem = async (
  { owners, retentionDays }: ReceivedItemDependencies,
  pipeline: ApplicationPipeline,
  letter: Letter,
  options: EncodeOptions,
): Promise<LetterRows> => {
  const { appId = 0 } = letter.header;
  const owner = `application ${appId}`;
  const found = await owners.application(appId);
  if (found === undefined)
    throw fault(letter, `has no owner: ${owner} does not exist; purge the dead letter`);
  if (!options.isBegun) checkState(letter, owner, found.state, 'application_disabled');
  const days = retentionDays[pipeline];
  return blockRows(letter, pipeline, found, days === undefined ? undefined : days * daySeconds);
};

export const createReceivedItemEncoder =
  (deps: ReceivedItemDependencies): EncodeReceivedItem =>
  (letter, options) => {
    const pipeline = pipelineOfStream(letter.header.stream);
    return pipeline !== undefined && isOfApplications(pipeline)
      ? encodeItem(deps, pipeline, letter, options)
      : encodePoint(deps.owners, letter, options);
  };
