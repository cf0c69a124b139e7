import assert from 'node:assert/strict';
import { validateLogTime } from '../../../../src/model/log-time.ts';
import type { ItemReason } from '../../../../src/model/reasons.ts';
import { jsonLogs } from '../../../../src/rules/logs/json-logs.ts';
import { protobufLogs } from '../../../../src/rules/logs/protobuf-logs.ts';
import {
  type EncodedItems,
  type ItemsContext,
  type ItemsOwner,
  TooManyItems,
} from '../../../../src/wire/otlp/types.ts';
import { type LogRow, rowsOfLogs } from '../log-source.ts';
import { type Agreement, type Encoding, plain, sorted, verdictOf } from './agreement.ts';
import { logsOfJson } from './log-json.ts';
import type { PlainLogResource, PlainLogScope, PlainLogs, PlainRecord } from './log-model.ts';
import { logsOfProtobuf } from './log-protobuf.ts';
import type { PlainAttribute, PlainFault, PlainId, PlainTime } from './model.ts';
import { heldAttributes, hexOf, isKey, Texts, tokenOf } from './rows.ts';
import { attributesSize, cutsIn, sum, textOf, timeText, withoutSecrets } from './values.ts';

/** A record with all that its row is made of. */
type Item = {
  readonly ordinal: number;
  readonly record: PlainRecord;
  readonly scope: PlainLogScope;
  readonly resource: PlainLogResource;
  readonly owner: ItemsOwner;
};

/** What is to come of a request, record by record. */
type LogTwin = {
  items: number;
  readonly rows: LogRow[];
  readonly rejected: Map<string, number>;
  readonly deferred: Map<string, number>;
  readonly deferredItems: { ordinal: number; item: unknown }[];
  readonly examples: { index: number; reason: string; fields: readonly string[] }[];
  readonly leniencies: ReadonlyMap<string, number>;
  cutValues: number;
};

const order: readonly ItemReason[] = [
  'record_not_object',
  'record_field_invalid',
  'attribute_invalid',
  'too_many_attributes',
];

const runBudget = 2 * 1024 * 1024;

const isNone = (time: PlainTime): boolean => timeText(time) === undefined;

/** The time of its row, as sent. */
const instantOf = ({ time, observed }: PlainRecord): PlainTime => (isNone(time) ? observed : time);

/** Of a time that the table cannot hold: 0. */
const heldTime = (time: PlainTime): bigint => {
  if (typeof time === 'string' && !/^\d{1,40}$/.test(time)) return 0n;
  const nanos = BigInt(time ?? 0);
  return nanos / 1_000_000n < 9_223_372_036_854n ? nanos : 0n;
};

const isWrong = (id: PlainId): boolean => id === 'wrong';

const firstOf = (faults: readonly PlainFault[]) => {
  const reason = order.find((each) => faults.some((fault) => fault.reason === each));
  if (reason === undefined) return undefined;
  return { reason, fields: faults.filter((fault) => fault.reason === reason).map(({ field }) => field) };
};

const overLimit = (list: readonly PlainAttribute[], field: string, most: number): PlainFault[] =>
  list.length > most ? [{ reason: 'too_many_attributes', field }] : [];

const faultOf = (record: PlainRecord, scope: PlainLogScope, resource: PlainLogResource, most: number) => {
  const { severityNumber } = record;
  const isSeverity = severityNumber >= 0 && severityNumber <= 255;
  return (
    firstOf([
      ...record.faults,
      ...(isSeverity ? [] : [{ reason: 'record_field_invalid', field: 'severityNumber' } as const]),
      ...overLimit(withoutSecrets(record.attributes), 'attributes', most),
    ]) ??
    firstOf([...resource.faults, ...overLimit(resource.attributes, 'resource.attributes', most)]) ??
    firstOf([...scope.faults, ...overLimit(withoutSecrets(scope.attributes), 'scope.attributes', most)])
  );
};

const sizeOf = (record: PlainRecord): number =>
  attributesSize([{ key: Buffer.alloc(0), value: record.body }]) -
  16 +
  attributesSize(record.attributes) +
  record.severityText.length +
  record.eventName.length;

const outerSizeOf = (scope: PlainLogScope, resource: PlainLogResource): number =>
  attributesSize(resource.attributes) +
  resource.schema.length +
  attributesSize(scope.attributes) +
  scope.name.length +
  scope.version.length +
  scope.schema.length;

const rowOf = (
  { ordinal, record, scope, resource, owner }: Item,
  context: ItemsContext,
  texts: Texts,
): LogRow => {
  const service = resource.attributes.findLast((attribute) => isKey(attribute, 'service.name'));
  const instant = BigInt(instantOf(record) ?? 0);
  return {
    Timestamp: instant,
    TimestampTime: instant / 1_000_000_000n,
    TraceId: hexOf(record.traceId),
    SpanId: hexOf(record.spanId),
    TraceFlags: BigInt(record.flags % 256),
    SeverityText: texts.text(record.severityText),
    SeverityNumber: BigInt(record.severityNumber),
    ServiceName: service === undefined ? '' : texts.text(textOf(service.value)),
    Body: texts.text(textOf(record.body)),
    ResourceSchemaUrl: texts.text(resource.schema),
    ResourceAttributes: texts.map(heldAttributes(resource, owner, context)),
    ScopeSchemaUrl: texts.text(scope.schema),
    ScopeName: texts.text(scope.name),
    ScopeVersion: texts.text(scope.version),
    ScopeAttributes: texts.map(scope.attributes),
    LogAttributes: texts.map(record.attributes),
    EventName: texts.text(record.eventName),
    ObservedTimestamp: heldTime(record.observed),
    uid: BigInt(context.base.text) + BigInt(ordinal),
    AppId: BigInt(owner.appId),
    BizId: BigInt(owner.bizId),
    ArrivedAt: BigInt(context.arrivedAt),
  };
};

/** The object that a deferred record travels as. */
const deferredObject = ({ record, scope, resource, owner }: Item, context: ItemsContext): unknown => {
  const texts = new Texts(context.limits.valueBytesMax);
  const attributes = (list: readonly PlainAttribute[]): unknown =>
    withoutSecrets(list).map(({ key, value }) => ({
      key: texts.text(key),
      value: { stringValue: texts.text(textOf(value)) },
    }));
  return {
    resource: { attributes: attributes(heldAttributes(resource, owner, context)) },
    resourceSchemaUrl: texts.text(resource.schema) || undefined,
    scope: {
      name: texts.text(scope.name),
      version: texts.text(scope.version),
      attributes: attributes(scope.attributes),
    },
    scopeSchemaUrl: texts.text(scope.schema) || undefined,
    logRecord: {
      timeUnixNano: timeText(record.time),
      observedTimeUnixNano: timeText(record.observed),
      severityNumber: record.severityNumber,
      severityText: texts.text(record.severityText),
      body: { stringValue: texts.text(textOf(record.body)) },
      attributes: attributes(record.attributes),
      flags: record.flags,
      traceId: hexOf(record.traceId) || undefined,
      spanId: hexOf(record.spanId) || undefined,
      eventName: texts.text(record.eventName),
    },
  };
};

const cutsOf = (list: readonly PlainAttribute[]): number => sum(list, ({ value }) => cutsIn(value));

const count = (map: Map<string, number>, key: string): void => void map.set(key, (map.get(key) ?? 0) + 1);

/** Follows the rules for one record. */
const judge = (
  twin: LogTwin,
  item: Omit<Item, 'owner'>,
  owner: ReturnType<ItemsContext['resolve']>,
  given: ItemsContext,
): void => {
  const { ordinal, record, scope, resource } = item;
  const reject = (reason: string, fields: readonly string[]): void => {
    count(twin.rejected, reason);
    twin.examples.push({ index: ordinal, reason, fields });
  };
  if (typeof owner === 'string') {
    const field = tokenOf(resource) === undefined ? '' : 'resource.attributes["mon.data.token"]';
    return reject(owner === 'invalid' ? 'token_invalid' : 'application_disabled', [field]);
  }
  const context = { ...given, limits: owner.limits ?? given.limits };
  const fault = faultOf(record, scope, resource, context.limits.attributesMax);
  if (fault !== undefined) return reject(fault.reason, fault.fields);
  if (256 + 2 * (sizeOf(record) + outerSizeOf(scope, resource)) > runBudget)
    return reject('item_too_large', ['']);
  const reason = validateLogTime(record.time, record.observed, context.arrivedAt, owner.policy);
  if (reason !== undefined) {
    count(twin.deferred, reason);
    const isObserved = isNone(record.time) && !isNone(record.observed);
    const fields = [isObserved ? 'observedTimeUnixNano' : 'timeUnixNano'];
    twin.examples.push({ index: ordinal, reason, fields });
    twin.deferredItems.push({ ordinal, item: deferredObject({ ...item, owner }, context) });
    return;
  }
  const texts = new Texts(context.limits.valueBytesMax);
  twin.rows.push(rowOf({ ...item, owner }, context, texts));
  const tooDeep = sum([record, scope, resource], ({ attributes }) => cutsOf(attributes));
  twin.cutValues += texts.cutValues + tooDeep + cutsIn(record.body);
};

const twinOf = ({ resources, leniencies }: PlainLogs, context: ItemsContext): LogTwin => {
  const twin: LogTwin = {
    ...{ items: 0, rows: [], rejected: new Map(), deferred: new Map(), deferredItems: [], examples: [] },
    ...{ leniencies, cutValues: 0 },
  };
  for (const resource of resources) {
    const owner = context.resolve(tokenOf(resource));
    for (const scope of resource.scopes)
      for (const record of scope.records) {
        for (const id of [record.traceId, record.spanId])
          if (isWrong(id))
            leniencies.set('record_id_invalid', (leniencies.get('record_id_invalid') ?? 0) + 1);
        judge(twin, { ordinal: twin.items++, record, scope, resource }, owner, context);
      }
  }
  if (twin.items > context.limits.itemsMax) throw new TooManyItems(twin.items, context.limits.itemsMax);
  return twin;
};

/** The rows of a body in JSON by the plain reader. */
export const plainLogRows = (bytes: Uint8Array, context: ItemsContext): LogRow[] =>
  twinOf(logsOfJson(bytes), context).rows;

/** Counted once a block, and so not by the twin. */
const ofBlocks = new Set(['duplicate_key', 'invalid_utf8']);

const counted = (leniencies: ReadonlyMap<string, number>): [string, number][] =>
  sorted([...leniencies].filter(([kind]) => !ofBlocks.has(kind)));

const shownReader = (encoded: EncodedItems): unknown => ({
  ...{ items: encoded.items, accepted: encoded.accepted, cutValues: encoded.cutValues },
  rejected: sorted(encoded.rejected),
  deferred: sorted(encoded.deferred),
  leniencies: counted(encoded.leniencies),
  rows: rowsOfLogs(encoded),
  deferredItems: encoded.runs
    .flatMap(({ deferred }) =>
      deferred.flatMap(({ ordinals, texts }) =>
        ordinals.map((ordinal, index) => {
          const item: unknown = JSON.parse(texts[index] ?? '');
          return { ordinal, item };
        }),
      ),
    )
    .sort((a, b) => a.ordinal - b.ordinal),
  examples: encoded.examples.map(({ index, reason }) => ({ index, reason })),
});

const shownTwin = (twin: LogTwin): unknown => ({
  ...{ items: twin.items, accepted: twin.rows.length, cutValues: twin.cutValues },
  rejected: sorted(twin.rejected),
  deferred: sorted(twin.deferred),
  leniencies: counted(twin.leniencies),
  rows: twin.rows,
  deferredItems: twin.deferredItems,
  examples: twin.examples.slice(0, 20).map(({ index, reason }) => ({ index, reason })),
});

/**
 * Compares what the reader yields of a body of log records with what a plain one does that shares no code with it; throws where
 * they differ. Runs are not compared: the twin of spans has them, and their encoder is the same.
 */
export const agreeOnLogs = (encoding: Encoding, bytes: Uint8Array, context: ItemsContext): Agreement => {
  const reader = encoding === 'json' ? jsonLogs : protobufLogs;
  const encoded = verdictOf(() => reader.encode(bytes, context));
  const request = verdictOf(() => (encoding === 'json' ? logsOfJson : logsOfProtobuf)(bytes));
  const twin = request.kind === 'read' ? verdictOf(() => twinOf(request.result, context)) : request;
  // The reader stops at the record that is too many, and sees neither what is wrong behind it nor the same name once more.
  const isUnseen = request.kind !== 'read' || request.result.hasRepeats;
  if (encoded.kind === 'too many' && isUnseen) return { kind: 'too many', rows: 0 };
  assert.equal(encoded.kind, twin.kind);
  if (encoded.kind !== 'read' || twin.kind !== 'read' || !('rows' in twin.result))
    return { kind: encoded.kind, rows: 0 };
  assert.deepStrictEqual(plain(shownReader(encoded.result)), plain(shownTwin(twin.result)));
  for (const [index, { field }] of encoded.result.examples.entries()) {
    const allowed: readonly string[] = twin.result.examples[index]?.fields ?? [];
    assert.ok(allowed.includes(field), `example ${index} names ${field}, the twin ${allowed.join(' or ')}`);
  }
  return { kind: 'read', rows: encoded.result.accepted };
};
