import { isUtf8 } from 'node:buffer';
import { validateSpanTime } from '../../../../src/model/span-time.ts';
import type { ItemsContext, ItemsOwner } from '../../../../src/wire/otlp/types.ts';
import type { SpanRow } from '../span-blocks.ts';
import {
  type PlainAttribute,
  type PlainId,
  type PlainResource,
  type PlainScope,
  type PlainSpan,
  type PlainTime,
  spanKinds,
  statusCodes,
  type Text,
} from './model.ts';
import { cutsIn, cutText, lastOfEach, sum, textOf, timeText, withoutSecrets } from './values.ts';

/** A span with all that its row is made of. */
export type Item = {
  readonly ordinal: number;
  readonly span: PlainSpan;
  readonly scope: PlainScope;
  readonly resource: PlainResource;
  readonly owner: ItemsOwner;
};

/** Makes texts of a row out of texts as sent, and counts what it does to them. */
export class Texts {
  cutValues = 0;
  repairs = 0;
  repeatedKeys = 0;
  private readonly bytesMax: number;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  text(sent: Text): string {
    const text = cutText(sent, this.bytesMax);
    if (!isUtf8(text)) this.repairs++;
    // What replaces bytes that are not UTF-8 has three bytes.
    const repaired = Buffer.from(text.toString('utf8'));
    const kept = cutText(repaired, this.bytesMax);
    if (text.length < sent.length || kept.length < repaired.length) this.cutValues++;
    return kept.toString('utf8');
  }

  /** Pairs of a Map column: of equal keys the last one stays. A credential is never stored. */
  map(attributes: readonly PlainAttribute[]): [string, string][] {
    const pairs = withoutSecrets(attributes).map(({ key, value }): [string, Text] => [
      this.text(key),
      textOf(value),
    ]);
    const kept = lastOfEach(pairs);
    this.repeatedKeys += pairs.length - kept.length;
    return kept.map(([key, value]) => [key, this.text(value)]);
  }
}

export const isKey = (attribute: PlainAttribute, name: string): boolean =>
  attribute.key.equals(Buffer.from(name));

/** The last `mon.data.token` of a resource. */
export const tokenOf = ({ attributes }: Pick<PlainResource, 'attributes'>): string | undefined => {
  const token = attributes.findLast((attribute) => isKey(attribute, 'mon.data.token'));
  return token === undefined ? undefined : textOf(token.value).toString('utf8');
};

const placeholders = ['', '0.0.0.0', '127.0.0.1', '::', '::1'];

/** The resource that rows hold: without its token, `net.host.ip` filled where the application wants that. */
export const heldAttributes = (
  { attributes }: Pick<PlainResource, 'attributes'>,
  owner: ItemsOwner,
  { clientIp }: ItemsContext,
): PlainAttribute[] => {
  const held = withoutSecrets(attributes);
  const address = clientIp.replace(/^::ffff:/i, '');
  if (!owner.fillDimensions || placeholders.includes(address)) return held;
  const filled: PlainAttribute = {
    key: Buffer.from('net.host.ip'),
    value: { kind: 'string', text: Buffer.from(address) },
  };
  const last = held.findLastIndex((attribute) => isKey(attribute, 'net.host.ip'));
  const present = held[last];
  if (present === undefined) return [...held, filled];
  return placeholders.includes(textOf(present.value).toString('utf8')) ? held.with(last, filled) : held;
};

export const hexOf = (id: PlainId): string => (typeof id === 'string' ? '' : id.hex);

const nanosOf = (time: PlainTime): bigint => BigInt(time ?? 0);

/** An event may lie anywhere in time that the database holds. */
const isEventTime = (time: PlainTime): boolean =>
  validateSpanTime(time, time, 0, { aheadMsMax: undefined, ageMsMax: undefined }) === undefined;

const keptEvents = ({ events }: PlainSpan) => events.filter(({ time }) => isEventTime(time));

const keptLinks = ({ links }: PlainSpan) =>
  links.filter(({ traceId, spanId }) => typeof traceId !== 'string' && typeof spanId !== 'string');

/** The columns that all rows of one resource repeat. */
export const resourceColumns = ({ resource, owner }: Item, context: ItemsContext, texts: Texts): SpanRow => {
  const service = resource.attributes.findLast((attribute) => isKey(attribute, 'service.name'));
  return {
    ResourceAttributes: texts.map(heldAttributes(resource, owner, context)),
    ServiceName: service === undefined ? '' : texts.text(textOf(service.value)),
  };
};

/** The columns that all rows of one scope repeat. */
export const scopeColumns = ({ scope }: Item, texts: Texts): SpanRow => ({
  ScopeName: texts.text(scope.name),
  ScopeVersion: texts.text(scope.version),
});

/** The columns that belong to the span alone. */
export const ownColumns = ({ ordinal, span, owner }: Item, context: ItemsContext, texts: Texts): SpanRow => {
  const start = nanosOf(span.start);
  const events = keptEvents(span);
  const links = keptLinks(span);
  return {
    Timestamp: start,
    TraceId: hexOf(span.traceId),
    SpanId: hexOf(span.spanId),
    ParentSpanId: hexOf(span.parentSpanId),
    TraceState: texts.text(span.traceState),
    SpanName: texts.text(span.name),
    SpanKind: spanKinds[span.kind ?? 0],
    SpanAttributes: texts.map(span.attributes),
    Duration: nanosOf(span.end) - start,
    StatusCode: statusCodes[span.statusCode ?? 0],
    StatusMessage: texts.text(span.statusMessage),
    'Events.Timestamp': events.map(({ time }) => nanosOf(time)),
    'Events.Name': events.map(({ name }) => texts.text(name)),
    'Events.Attributes': events.map(({ attributes }) => texts.map(attributes)),
    'Links.TraceId': links.map(({ traceId }) => hexOf(traceId)),
    'Links.SpanId': links.map(({ spanId }) => hexOf(spanId)),
    'Links.TraceState': links.map(({ traceState }) => texts.text(traceState)),
    'Links.Attributes': links.map(({ attributes }) => texts.map(attributes)),
    uid: BigInt(context.base.text) + BigInt(ordinal),
    AppId: BigInt(owner.appId),
    BizId: BigInt(owner.bizId),
    ArrivedAt: BigInt(context.arrivedAt),
  };
};

const cutsOf = (attributes: readonly PlainAttribute[]): number =>
  sum(attributes, ({ value }) => cutsIn(value));

/** What a kept span loses beside texts that are too long. */
export const lossesOf = ({ span, resource }: Item) => ({
  tooDeep: sum([span, resource, ...span.events, ...span.links], ({ attributes }) => cutsOf(attributes)),
  events: span.events.length - keptEvents(span).length,
  links: span.links.length - keptLinks(span).length,
});

/** The object that a deferred span travels as. */
export const deferredObject = (item: Item, context: ItemsContext): unknown => {
  const { span, scope, resource, owner } = item;
  const texts = new Texts(context.limits.valueBytesMax);
  const attributes = (list: readonly PlainAttribute[]): unknown =>
    withoutSecrets(list).map(({ key, value }) => ({
      key: texts.text(key),
      value: { stringValue: texts.text(textOf(value)) },
    }));
  const parentSpanId = hexOf(span.parentSpanId);
  return {
    resource: { attributes: attributes(heldAttributes(resource, owner, context)) },
    scope: { name: texts.text(scope.name), version: texts.text(scope.version) },
    span: {
      traceId: hexOf(span.traceId),
      spanId: hexOf(span.spanId),
      parentSpanId: parentSpanId === '' ? undefined : parentSpanId,
      traceState: texts.text(span.traceState),
      name: texts.text(span.name),
      kind: span.kind ?? 0,
      startTimeUnixNano: timeText(span.start),
      endTimeUnixNano: timeText(span.end),
      attributes: attributes(span.attributes),
      events: span.events.map((event) => ({
        timeUnixNano: timeText(event.time),
        name: texts.text(event.name),
        attributes: attributes(event.attributes),
      })),
      links: keptLinks(span).map((link) => ({
        traceId: hexOf(link.traceId),
        spanId: hexOf(link.spanId),
        traceState: texts.text(link.traceState),
        attributes: attributes(link.attributes),
      })),
      status: { code: span.statusCode ?? 0, message: texts.text(span.statusMessage) },
    },
  };
};
