import type { ItemReason } from '../../../../src/model/reasons.ts';
import type { Leniency } from '../../../../src/wire/otlp/types.ts';

/** Bytes of a text as sent: protobuf does not promise that they are UTF-8. */
export type Text = Buffer;

export const noText: Text = Buffer.alloc(0);

/** AnyValue as an object. `cut` stands for what was nested too deep. */
export type PlainValue =
  | { readonly kind: 'none' | 'cut' }
  | { readonly kind: 'string'; readonly text: Text }
  | { readonly kind: 'bool'; readonly value: boolean }
  | { readonly kind: 'int'; readonly value: bigint }
  | { readonly kind: 'double'; readonly value: number }
  | { readonly kind: 'bytes'; readonly bytes: Buffer }
  | { readonly kind: 'array'; readonly values: readonly PlainValue[] }
  | { readonly kind: 'kvlist'; readonly entries: readonly PlainAttribute[] };

export type PlainAttribute = { readonly key: Text; readonly value: PlainValue };

/** A fault that decoding finds already. */
export type PlainFault = { readonly reason: ItemReason; readonly field: string };

/** As sent: a fixed64, the text of a string, the digits of a whole number, the text of what is no time; undefined for none. */
export type PlainTime = bigint | string | undefined;

/** In hexadecimal when it has the right length and is not all zero; `zero` for the right length of zeros. */
export type PlainId = { readonly hex: string } | 'absent' | 'zero' | 'wrong';

export type PlainEvent = { time: PlainTime; name: Text; attributes: PlainAttribute[] };

export type PlainLink = { traceId: PlainId; spanId: PlainId; traceState: Text; attributes: PlainAttribute[] };

/** Enums as the numbers sent; undefined for one that OTLP does not have. */
export type PlainSpan = {
  readonly faults: PlainFault[];
  traceId: PlainId;
  spanId: PlainId;
  parentSpanId: PlainId;
  traceState: Text;
  name: Text;
  kind: number | undefined;
  start: PlainTime;
  end: PlainTime;
  attributes: PlainAttribute[];
  events: PlainEvent[];
  links: PlainLink[];
  statusCode: number | undefined;
  statusMessage: Text;
};

export type PlainScope = { name: Text; version: Text; spans: PlainSpan[] };

export type PlainResource = {
  readonly faults: PlainFault[];
  attributes: PlainAttribute[];
  scopes: PlainScope[];
};

export type PlainRequest = {
  resources: PlainResource[];
  /** Names of top-level members, or numbers of top-level fields, that are not OTLP's. */
  readonly unknown: Set<string>;
  /** What decoding forgave; the rules add to it. */
  readonly leniencies: Map<Leniency, number>;
};

/** The body is none that this encoding of OTLP has. */
export class NotReadable extends Error {}

/** Arrays and lists in one another that a row holds. */
export const depthMax = 32;

export const spanKinds = ['Unspecified', 'Internal', 'Server', 'Client', 'Producer', 'Consumer'];
export const statusCodes = ['Unset', 'Ok', 'Error'];

export const forgive = (leniencies: Map<Leniency, number>, kind: Leniency, by = 1): void => {
  if (by > 0) leniencies.set(kind, (leniencies.get(kind) ?? 0) + by);
};

export const idOf = (hex: string, bytes: number): PlainId => {
  if (hex === '') return 'absent';
  if (hex.length !== 2 * bytes) return 'wrong';
  return /^0*$/.test(hex) ? 'zero' : { hex };
};

export const emptySpan = (): PlainSpan => ({
  faults: [],
  traceId: 'absent',
  spanId: 'absent',
  parentSpanId: 'absent',
  traceState: noText,
  name: noText,
  kind: 0,
  start: undefined,
  end: undefined,
  attributes: [],
  events: [],
  links: [],
  statusCode: 0,
  statusMessage: noText,
});
