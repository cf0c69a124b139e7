import { exampleText } from '../../model/text-forms.ts';
import { baseAtItem, type ItemPlace } from '../../model/uid.ts';
import { type ItemsOwner, type ItemsPart, type ItemsReader, MalformedBody } from '../../wire/otlp/types.ts';

/** The result of a deferred item: a block of one row, or the reason why it has none. */
export type DeferredItem =
  | { readonly kind: 'part'; readonly part: ItemsPart }
  | { readonly kind: 'dropped'; readonly reason: string; readonly detail: string };

/**
 * Encodes one deferred item from its text (DeferredItems): the row and uid that the receiver would have given it. Does not check
 * the windows of time: transfer has checked them against the time of arrival; `ttlSeconds` bounds the times that ClickHouse can
 * hold.
 */
export type EncodeDeferredItem = (
  item: unknown,
  place: ItemPlace,
  owner: Pick<ItemsOwner, 'appId' | 'bizId'>,
  arrivedAt: number,
  ttlSeconds: number | undefined,
) => DeferredItem;

/** The receiver has applied its owner's limits; the limits of today would make another row. */
const limits = {
  itemsMax: 1,
  attributesMax: Number.MAX_SAFE_INTEGER,
  eventsMax: Number.MAX_SAFE_INTEGER,
  linksMax: Number.MAX_SAFE_INTEGER,
  valueBytesMax: Number.MAX_SAFE_INTEGER,
};

/** The member of a JSON value; undefined where it has none. */
export const member = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;

/** `requestOf` makes the signal's request of the item's text. */
export const deferredItemEncoder =
  (reader: ItemsReader, requestOf: (item: unknown) => object): EncodeDeferredItem =>
  (item, place, { appId, bizId }, arrivedAt, ttlSeconds) => {
    const policy = { aheadMsMax: undefined, ageMsMax: undefined, ttlSeconds };
    try {
      const { runs, examples } = reader.encode(Buffer.from(JSON.stringify(requestOf(item))), {
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
