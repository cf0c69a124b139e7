import { cutSections, decodeFrame, isCount, isObject } from './frame.ts';
import { isDecimal, isMessageKey, type MessageKey } from './message-key.ts';
import { isRedrive, type Redrive } from './redrive.ts';

// What the messages of both signals have in common. A signal adds its parts, and the name of the id that its items belong to.

/** Items whose time failed at the receiver: a JSON array in the section, judged again in transfer with these very values. */
export type Deferred<Owner extends string, Policy> = Readonly<Record<Owner, number>> & {
  readonly arrivedAt: number;
  readonly policy: Policy;
  readonly base: string;
  readonly ordinals: readonly number[];
  readonly bytes: number;
};

/** Items of one owner that were dropped at the receiver, by reason. */
export type Outcomes<Owner extends string> = Readonly<Record<Owner, number>> & {
  readonly dropped: Readonly<Record<string, number>>;
};

/** What a message says of its sections; they follow in the order of parts, then of deferred groups. */
export type Header<Kind extends string, Owner extends string, Part, Policy> = {
  readonly version: number;
  readonly kind: Kind;
  /** Arrival of the first request in the message, ms since the epoch. */
  readonly arrivedAt: number;
  /** Key of this message's outcome record. Absent in messages of earlier versions. */
  readonly key?: MessageKey;
  readonly parts: readonly Part[];
  readonly deferred: readonly Deferred<Owner, Policy>[];
  readonly outcomes: readonly Outcomes<Owner>[];
  /** Of a message from the dead letters. */
  readonly redrive?: Redrive;
};

/** A decoded message; the sections are views of the payload, not copies. */
export type Envelope<H> = {
  readonly header: H;
  readonly partBytes: readonly Uint8Array[];
  readonly deferredBytes: readonly Uint8Array[];
};

/** What reading a payload can come to: an envelope, one that a newer program wrote, or bytes that are no envelope. */
export type ReadResult<E> =
  | { readonly kind: 'envelope'; readonly envelope: E }
  | { readonly kind: 'newer'; readonly version: number }
  | { readonly kind: 'unreadable'; readonly why: string };

/** The items of a deferred section: a JSON array of this length; undefined for anything else. */
export const readDeferredItems = (section: Uint8Array | undefined, count: number): unknown[] | undefined => {
  try {
    const items: unknown = JSON.parse(Buffer.from(section ?? []).toString('utf8'));
    return Array.isArray(items) && items.length === count ? items : undefined;
  } catch {
    return undefined;
  }
};

const isListOf = (isOne: (value: unknown) => boolean, value: unknown): boolean =>
  Array.isArray(value) && value.every(isOne);

const isDeferred = (owner: string, value: unknown): boolean =>
  isObject(value) &&
  isCount(value[owner]) &&
  isCount(value['arrivedAt']) &&
  isObject(value['policy']) &&
  isDecimal(value['base']) &&
  isListOf(isCount, value['ordinals']) &&
  isCount(value['bytes']);

const isOutcomes = (owner: string, value: unknown): boolean =>
  isObject(value) &&
  isCount(value[owner]) &&
  isObject(value['dropped']) &&
  Object.values(value['dropped']).every(isCount);

const isListed = (values: readonly unknown[], value: unknown): boolean => values.includes(value);

type Sized = { readonly bytes: number };
type AnyHeader = { kind: string; parts: readonly Sized[]; deferred: readonly Sized[] };

/**
 * Reads the payloads of a signal's stream; never throws (see decodeFrame). `owner` names the id that items belong to; `isPart` and
 * `hasRest` judge what only this signal has.
 */
export const envelopeReader = <H extends Readonly<AnyHeader>>(
  kinds: readonly H['kind'][],
  owner: string,
  isPart: (value: unknown) => boolean,
  hasRest: (header: Readonly<Record<string, unknown>>) => boolean = () => true,
) => {
  const isHeader = (value: unknown): value is H =>
    isObject(value) &&
    isListed(kinds, value['kind']) &&
    isCount(value['arrivedAt']) &&
    (value['key'] === undefined || isMessageKey(value['key'])) &&
    isListOf(isPart, value['parts']) &&
    isListOf((each) => isDeferred(owner, each), value['deferred']) &&
    isListOf((each) => isOutcomes(owner, each), value['outcomes']) &&
    (value['redrive'] === undefined || isRedrive(value['redrive'])) &&
    hasRest(value);
  return (payload: Uint8Array, versionInHeader: number | undefined): ReadResult<Envelope<H>> => {
    const frame = decodeFrame(payload, versionInHeader);
    if (frame.kind !== 'frame') return frame;
    const { header, body } = frame;
    if (!isHeader(header)) return { kind: 'unreadable', why: 'the header does not match version 1' };
    const lengths = [...header.parts, ...header.deferred].map((section) => section.bytes);
    const sections = cutSections(body, lengths);
    if (sections === undefined)
      return {
        kind: 'unreadable',
        why: 'the lengths of the sections do not match the length of the message',
      };
    const partBytes = sections.splice(0, header.parts.length);
    return { kind: 'envelope', envelope: { header, partBytes, deferredBytes: sections } };
  };
};
