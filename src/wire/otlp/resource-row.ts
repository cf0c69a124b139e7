import { type ByteSource, isSame, sourceOf } from '../native/bytes.ts';
import type { Levels } from './levels.ts';
import type { ReadState } from './read-state.ts';
import type { AttributeSlots } from './slots.ts';
import { type ItemsOwner, TooManyTokens } from './types.ts';

const serviceKey = 'service.name';
const hostKey = 'net.host.ip';

const serviceBytes = sourceOf(serviceKey);
const hostBytes = sourceOf(hostKey);
const sdkNameBytes = sourceOf('telemetry.sdk.name');
const sdkLanguageBytes = sourceOf('telemetry.sdk.language');

/** A longer text is not the name of an SDK. */
const sdkLengthMax = 60;

/** Addresses that identify no host. */
const placeholders = new Set(['', '0.0.0.0', '127.0.0.1', '::', '::1']);

const isKey = (state: ReadState, index: number, key: ByteSource): boolean => {
  const { resource } = state.owner;
  const start = resource.keyStarts[index] ?? 0;
  const end = resource.keyEnds[index] ?? 0;
  const size = key.bytes.length;
  if (Math.abs(end - start) !== size) return false;
  return start < 0
    ? isSame(state.scratch.source, ~start, key, 0, size)
    : isSame(state.body, start, key, 0, size);
};

/** Whether an attribute of the current resource holds a write token. */
const isToken = ({ owner, scratch, body, tokenKeys }: ReadState, index: number): boolean => {
  const start = owner.resource.keyStarts[index] ?? 0;
  const end = owner.resource.keyEnds[index] ?? 0;
  return start < 0 ? tokenKeys.has(scratch.source, ~start, ~end) : tokenKeys.has(body, start, end);
};

/** The value of the current resource under this key; undefined when it has none. Of several the last counts. */
const textUnder = (state: ReadState, key: ByteSource): string | undefined => {
  const { resource } = state.owner;
  for (let index = resource.count - 1; index >= 0; index--) {
    if (isKey(state, index, key))
      return state.textAt(resource.valueStarts[index] ?? 0, resource.valueEnds[index] ?? 0);
  }
  return undefined;
};

/**
 * Place of the attribute that holds the write token of the current resource; −1 for none. Of several the last counts.
 */
const tokenIndex = (state: ReadState): number => {
  let index = state.owner.resource.count - 1;
  while (index >= 0 && !isToken(state, index)) index--;
  return index;
};

/** The write token of the current resource; undefined when it has none. */
export const tokenOf = (state: ReadState): string | undefined => {
  const { resource } = state.owner;
  const index = tokenIndex(state);
  return index < 0
    ? undefined
    : state.textAt(resource.valueStarts[index] ?? 0, resource.valueEnds[index] ?? 0);
};

/** The path of that token, for the answer to its sender; empty when there is none. */
export const tokenField = (state: ReadState): string => {
  const { resource } = state.owner;
  const index = tokenIndex(state);
  if (index < 0) return '';
  return `resource.attributes["${state.textAt(resource.keyStarts[index] ?? 0, resource.keyEnds[index] ?? 0)}"]`;
};

/** The SDK of the current resource as `name/language`; empty when it names neither. */
export const sdkOf = (state: ReadState): string => {
  const parts = [textUnder(state, sdkNameBytes), textUnder(state, sdkLanguageBytes)];
  return parts
    .filter((part) => part !== undefined && part !== '')
    .map((part) => part?.slice(0, sdkLengthMax))
    .join('/');
};

/**
 * Empties the part of a list that begins at `from`, because it is over the limit. The last token of a resource stays:
 * it names the application whose outcomes count the rejected items.
 */
export const dropAttributes = (state: ReadState, list: AttributeSlots, from: number): void => {
  let last = list.count - 1;
  list.count = from;
  if (list !== state.owner.resource) return;
  while (last >= from && !isToken(state, last)) last--;
  if (last < from) return;
  const { keyStarts, keyEnds, valueStarts, valueEnds } = list;
  list.add(keyStarts[last] ?? 0, keyEnds[last] ?? 0, valueStarts[last] ?? 0, valueEnds[last] ?? 0);
};

/**
 * Different tokens that one request may name. An unknown one is looked up on the bus, and a body has room for a million; a gateway
 * that gathers the items of a cluster names a token for each application.
 */
export const tokensMax = 256;

/** The tokens of a body; undefined stands for a resource that may have none. */
export type NotedTokens = Set<string | undefined>;

/** Notes the token of the current resource. Throws TooManyTokens. */
export const noteToken = (state: ReadState, tokens: NotedTokens, { names }: Levels): void => {
  tokens.add(tokenOf(state));
  if (tokens.size > tokensMax + Number(tokens.has(undefined)))
    throw new TooManyTokens(
      `the resources of the request have more than ${tokensMax} different tokens: send the ${names.itemsText} of fewer applications per request`,
    );
};

/** The resource as rows hold it: without its tokens, and with `net.host.ip` filled where the application wants that. */
export class ResourceRow {
  readonly attributes: AttributeSlots;
  serviceStart = 0;
  serviceEnd = 0;
  private hostIndex = -1;

  constructor(attributes: AttributeSlots) {
    this.attributes = attributes;
  }

  /** Takes over the current resource. */
  set(state: ReadState, owner: ItemsOwner, clientIp: string): void {
    const { resource } = state.owner;
    this.attributes.count = 0;
    this.serviceStart = this.serviceEnd = 0;
    this.hostIndex = -1;
    for (let index = 0; index < resource.count; index++) {
      if (state.isSecret(resource, index)) continue;
      const valueStart = resource.valueStarts[index] ?? 0;
      const valueEnd = resource.valueEnds[index] ?? 0;
      if (isKey(state, index, serviceBytes)) {
        this.serviceStart = valueStart;
        this.serviceEnd = valueEnd;
      } else if (isKey(state, index, hostBytes)) this.hostIndex = this.attributes.count;
      this.attributes.add(resource.keyStarts[index] ?? 0, resource.keyEnds[index] ?? 0, valueStart, valueEnd);
    }
    if (owner.fillDimensions) this.fillHost(state, clientIp.replace(/^::ffff:/i, ''));
  }

  private fillHost(state: ReadState, clientIp: string): void {
    if (placeholders.has(clientIp)) return;
    const { attributes, hostIndex } = this;
    if (hostIndex >= 0) {
      const present = state.textAt(
        attributes.valueStarts[hostIndex] ?? 0,
        attributes.valueEnds[hostIndex] ?? 0,
      );
      if (!placeholders.has(present)) return;
    }
    const valueStart = state.scratch.add(clientIp);
    const valueEnd = ~state.scratch.length;
    if (hostIndex >= 0) {
      attributes.valueStarts[hostIndex] = valueStart;
      attributes.valueEnds[hostIndex] = valueEnd;
      return;
    }
    const keyStart = state.scratch.add(hostKey);
    attributes.add(keyStart, ~state.scratch.length, valueStart, valueEnd);
  }
}
