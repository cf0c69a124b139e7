import { z } from 'zod';
import { ItemEncoder } from '../src/rules/items/item-encoder.ts';
import { spanRules } from '../src/rules/spans/span-rules.ts';
import { ByteSource } from '../src/wire/native/bytes.ts';
import { itemSizes } from '../src/wire/otlp/any-value.ts';
import { copyLowerHex, notHex } from '../src/wire/otlp/json-hex.ts';
import { setTimeOfDigits } from '../src/wire/otlp/json-numbers.ts';
import { type ReadState, withReadState } from '../src/wire/otlp/read-state.ts';
import type { AttributeSlots, TimeSlot } from '../src/wire/otlp/slots.ts';
import { idPlaces } from '../src/wire/otlp/span-slots.ts';
import { defaultTokenKeys } from '../src/wire/otlp/token-keys.ts';
import { type EncodedItems, type ItemsContext, MalformedBody } from '../src/wire/otlp/types.ts';

/** The shapes that an exporter writes: the walk validates nothing, so it is as fast as objects allow. */
type Value = {
  readonly stringValue?: string;
  readonly intValue?: string | number;
  readonly doubleValue?: number;
  readonly boolValue?: boolean;
};
type Attributes = readonly { readonly key: string; readonly value: Value }[];
type Span = {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly traceState?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes?: Attributes;
  readonly status?: { readonly code?: number; readonly message?: string };
};
type Request = {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: Attributes };
    readonly scopeSpans: readonly {
      readonly scope: { readonly name: string; readonly version: string };
      readonly spans: readonly Span[];
    }[];
  }[];
};

/** Trusts the shape: the cost of a validation would count against the walk. */
const requestSchema = z.custom<Request>((value) => typeof value === 'object' && value !== null);

const shortMax = 24;

/** Texts as bytes one after the other, in the encoder's form; a repeated text keeps its first place. */
class Texts {
  private buffer = Buffer.allocUnsafeSlow(256 * 1024);
  source = new ByteSource(this.buffer);
  private at = 0;
  private readonly places = new Map<string, number>();
  start = 0;
  end = 0;

  begin(bytes: number): void {
    this.at = 0;
    this.places.clear();
    if (this.buffer.length >= 2 * bytes) return;
    this.buffer = Buffer.allocUnsafeSlow(4 * bytes);
    this.source = new ByteSource(this.buffer);
  }

  add(text: string): void {
    const { buffer } = this;
    const start = this.at;
    this.start = start;
    if (text.length > shortMax) {
      this.at = this.end = start + buffer.write(text, start);
      return;
    }
    for (let index = 0; index < text.length; index++) {
      const code = text.charCodeAt(index);
      if (code >= 0x80) {
        this.at = this.end = start + buffer.write(text, start);
        return;
      }
      buffer[start + index] = code;
    }
    this.at = this.end = start + text.length;
  }

  /** For keys: they are few, and V8 has hashed them already. */
  addKnown(text: string): void {
    const known = this.places.get(text);
    if (known === undefined) {
      this.add(text);
      this.places.set(text, this.start);
    } else {
      this.start = known;
      this.end = known + text.length;
    }
  }
}

const texts = new Texts();

const valueText = (value: Value): string => {
  if (value.stringValue !== undefined) return value.stringValue;
  if (value.intValue !== undefined) return String(value.intValue);
  return String(value.doubleValue ?? value.boolValue ?? '');
};

const fillAttributes = (list: AttributeSlots, attributes: Attributes): number => {
  let size = 0;
  for (const { key, value } of attributes) {
    texts.addKnown(key);
    const { start, end } = texts;
    texts.add(valueText(value));
    list.add(start, end, texts.start, texts.end);
    size += itemSizes.entry + end - start + texts.end - texts.start;
  }
  return size;
};

const fillTime = (time: TimeSlot, text: string): void => {
  texts.add(text);
  time.textStart = texts.start;
  time.textEnd = texts.end;
  setTimeOfDigits(time, texts.source, texts.start, texts.end);
};

const fillId = (text: string, ids: ByteSource, place: number, length: number): void => {
  texts.add(text);
  if (text.length !== length || copyLowerHex(texts.source, texts.start, length, ids, place) === notHex)
    throw new MalformedBody('the walk of the bench takes ids in lower case alone');
};

const fillSpan = ({ span: slots }: ReadState, span: Span): void => {
  slots.clear();
  fillId(span.traceId, slots.ids, idPlaces.trace, 32);
  fillId(span.spanId, slots.ids, idPlaces.span, 16);
  slots.hasParent = span.parentSpanId !== undefined && span.parentSpanId !== '';
  if (slots.hasParent) fillId(span.parentSpanId ?? '', slots.ids, idPlaces.parent, 16);
  texts.add(span.traceState ?? '');
  slots.stateStart = texts.start;
  slots.stateEnd = texts.end;
  slots.size = texts.end - texts.start;
  texts.add(span.name);
  slots.nameStart = texts.start;
  slots.nameEnd = texts.end;
  slots.size += texts.end - texts.start;
  slots.kind = span.kind;
  slots.statusCode = span.status?.code ?? 0;
  texts.add(span.status?.message ?? '');
  slots.messageStart = texts.start;
  slots.messageEnd = texts.end;
  slots.size += texts.end - texts.start;
  fillTime(slots.start, span.startTimeUnixNano);
  fillTime(slots.end, span.endTimeUnixNano);
  if (span.attributes !== undefined) slots.size += fillAttributes(slots.attributes, span.attributes);
};

/**
 * `JSON.parse` and a walk over its objects into the same slots, with the same encoder behind: the alternative that the reader of
 * JSON has to beat.
 */
export const walkedTraces = (bytes: Buffer, context: ItemsContext): EncodedItems => {
  return withReadState(bytes, context.limits, defaultTokenKeys, (state) => {
    const encoder = new ItemEncoder(state, context, spanRules);
    const { owner } = state;
    texts.begin(bytes.length);
    state.body = texts.source;
    const request = requestSchema.parse(JSON.parse(bytes.toString('utf8')));
    for (const { resource, scopeSpans } of request.resourceSpans) {
      owner.clearResource();
      owner.resourceSize = fillAttributes(owner.resource, resource.attributes);
      encoder.resource();
      for (const { scope, spans } of scopeSpans) {
        owner.clearScope();
        texts.add(scope.name);
        owner.scopeNameStart = texts.start;
        owner.scopeNameEnd = texts.end;
        owner.scopeSize = texts.end - texts.start;
        texts.add(scope.version);
        owner.scopeVersionStart = texts.start;
        owner.scopeVersionEnd = texts.end;
        owner.scopeSize += texts.end - texts.start;
        for (const span of spans) {
          fillSpan(state, span);
          encoder.item();
        }
      }
    }
    const encoded = encoder.finish([], []);
    encoder.release();
    return encoded;
  });
};
