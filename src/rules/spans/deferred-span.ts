import { exampleText } from '../../model/text-forms.ts';
import { baseAtItem, type ItemPlace } from '../../model/uid.ts';
import { MalformedBody, type SpanOwner, type TracePart } from '../../wire/otlp/types.ts';
import { jsonTraces } from './json-traces.ts';

/** What a span that a receiver put off comes to: a block of one row, or why it makes none. */
export type DeferredSpan =
  | { readonly kind: 'part'; readonly part: TracePart }
  | { readonly kind: 'dropped'; readonly reason: string; readonly detail: string };

/** It was held to its owner's limits when it was received; other ones now would make another row of it. */
const limits = {
  spansMax: 1,
  attributesMax: Number.MAX_SAFE_INTEGER,
  eventsMax: Number.MAX_SAFE_INTEGER,
  linksMax: Number.MAX_SAFE_INTEGER,
  valueBytesMax: Number.MAX_SAFE_INTEGER,
};

const field = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;

/**
 * Encodes one span as a receiver keeps it while it waits for its verdict (the text of DeferredSpans): the row and uid that the
 * receiver would have given it. The windows of time are not asked again, transfer has judged by those of its arrival;
 * `ttlSeconds` bounds what ClickHouse can hold.
 */
export const encodeDeferredSpan = (
  item: unknown,
  place: ItemPlace,
  { appId, bizId }: Pick<SpanOwner, 'appId' | 'bizId'>,
  arrivedAt: number,
  ttlSeconds: number | undefined,
): DeferredSpan => {
  const resourceSpans = [
    {
      resource: field(item, 'resource'),
      scopeSpans: [{ scope: field(item, 'scope'), spans: [field(item, 'span')] }],
    },
  ];
  const policy = { aheadMsMax: undefined, ageMsMax: undefined, ttlSeconds };
  try {
    const { runs, examples } = jsonTraces.encodeTraces(Buffer.from(JSON.stringify({ resourceSpans })), {
      // Its resource is filled already, and holds no token.
      resolve: () => ({ appId, bizId, fillDimensions: false, policy }),
      clientIp: '',
      base: baseAtItem(place),
      arrivedAt,
      limits,
    });
    const part = runs[0]?.parts[0];
    if (part !== undefined) return { kind: 'part', part };
    const [example] = examples;
    const detail = [example?.field, example && exampleText(example)]
      .filter((text) => (text ?? '') !== '')
      .join(': ');
    return { kind: 'dropped', reason: example?.reason ?? 'body_malformed', detail };
  } catch (error) {
    if (!(error instanceof MalformedBody)) throw error;
    return { kind: 'dropped', reason: 'body_malformed', detail: error.message };
  }
};
