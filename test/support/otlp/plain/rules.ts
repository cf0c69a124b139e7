import type { SpanReason, TimeReason } from '../../../../src/model/reasons.ts';
import { validateSpanTime } from '../../../../src/model/span-time.ts';
import type { ItemLimits, ItemsContext, ItemsOwner } from '../../../../src/wire/otlp/types.ts';
import type { PlainAttribute, PlainFault, PlainResource, PlainSpan } from './model.ts';
import { withoutSecrets } from './values.ts';

export type Verdict =
  | { readonly kind: 'keep' }
  /** `fields` are all that have this fault: which of them is named first depends on the order they were sent in. */
  | { readonly kind: 'reject'; readonly reason: SpanReason; readonly fields: readonly string[] }
  | { readonly kind: 'defer'; readonly reason: TimeReason; readonly fields: readonly string[] };

/** Of several faults the one that stands first here is named. */
const order: readonly SpanReason[] = [
  'span_not_object',
  'trace_id_invalid',
  'span_id_invalid',
  'parent_span_id_invalid',
  'span_field_invalid',
  'attribute_invalid',
  'too_many_attributes',
  'too_many_events',
  'too_many_links',
];

/** What fits into one message (architecture 5.3). */
export const runBudget = 2 * 1024 * 1024;

/** What one request may make: one block a run, application and day. */
export const blocksMax = 2048;

const overLimit = (attributes: readonly PlainAttribute[], field: string, limits: ItemLimits): PlainFault[] =>
  attributes.length > limits.attributesMax ? [{ reason: 'too_many_attributes', field }] : [];

const faultsOf = (span: PlainSpan, limits: ItemLimits): PlainFault[] => {
  const faults = [
    ...span.faults,
    ...overLimit(withoutSecrets(span.attributes), 'attributes', limits),
    ...span.events.flatMap(({ attributes }) =>
      overLimit(withoutSecrets(attributes), 'events[].attributes', limits),
    ),
    ...span.links.flatMap(({ attributes }) =>
      overLimit(withoutSecrets(attributes), 'links[].attributes', limits),
    ),
  ];
  if (typeof span.traceId === 'string') faults.push({ reason: 'trace_id_invalid', field: 'traceId' });
  if (typeof span.spanId === 'string') faults.push({ reason: 'span_id_invalid', field: 'spanId' });
  // No parent is a root, and one of zeros is taken for none.
  if (span.parentSpanId === 'wrong') faults.push({ reason: 'parent_span_id_invalid', field: 'parentSpanId' });
  if (span.events.length > limits.eventsMax) faults.push({ reason: 'too_many_events', field: 'events' });
  if (span.links.length > limits.linksMax) faults.push({ reason: 'too_many_links', field: 'links' });
  return faults;
};

const firstOf = (faults: readonly PlainFault[]): Verdict | undefined => {
  const reason = order.find((each) => faults.some((fault) => fault.reason === each));
  if (reason === undefined) return undefined;
  const fields = faults.filter((fault) => fault.reason === reason).map(({ field }) => field);
  return { kind: 'reject', reason, fields };
};

const ofNobody = (owner: 'invalid' | 'disabled', token: string | undefined): Verdict => ({
  kind: 'reject',
  reason: owner === 'invalid' ? 'token_invalid' : 'application_disabled',
  fields: [token === undefined ? '' : 'resource.attributes["mon.data.token"]'],
});

/** What becomes of one span: by its token, then its own faults, those of its resource, its size, and last its times. */
export const judge = (
  span: PlainSpan,
  resource: PlainResource,
  owner: ItemsOwner | 'invalid' | 'disabled',
  token: string | undefined,
  cost: number,
  { limits, arrivedAt }: ItemsContext,
): Verdict => {
  if (typeof owner === 'string') return ofNobody(owner, token);
  const fault =
    firstOf(faultsOf(span, limits)) ??
    firstOf([...resource.faults, ...overLimit(resource.attributes, 'resource.attributes', limits)]);
  if (fault !== undefined) return fault;
  if (cost > runBudget) return { kind: 'reject', reason: 'item_too_large', fields: [''] };
  const reason = validateSpanTime(span.start, span.end, arrivedAt, owner.policy);
  if (reason === undefined) return { kind: 'keep' };
  const isStart = validateSpanTime(span.start, span.start, arrivedAt, owner.policy) !== undefined;
  return { kind: 'defer', reason, fields: [isStart ? 'startTimeUnixNano' : 'endTimeUnixNano'] };
};
