import { isUtf8 } from 'node:buffer';
import { JsonReader } from '../../wire/otlp/json-reader.ts';
import { withoutRepeats } from '../../wire/otlp/json-repeats.ts';
import { JsonTokenReader } from '../../wire/otlp/json-tokens.ts';
import { RepeatedKey } from '../../wire/otlp/json-value.ts';
import type { Levels } from '../../wire/otlp/levels.ts';
import { withReadState } from '../../wire/otlp/read-state.ts';
import type { NotedTokens } from '../../wire/otlp/resource-row.ts';
import { defaultTokenKeys, type TokenKeys } from '../../wire/otlp/token-keys.ts';
import {
  type BodyTokens,
  defaultItemLimits,
  type EncodedItems,
  type ItemsContext,
  type ItemsReader,
  type Leniency,
  MalformedBody,
} from '../../wire/otlp/types.ts';
import { ItemEncoder } from './item-encoder.ts';
import type { ItemRules } from './item-rules.ts';

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/**
 * Calls `read` with the body; where that meets repeated names, calls it again with a body without them. An error may come from a
 * repeated name's earlier value, which does not count.
 */
const readJson = <T>(bytes: Uint8Array, read: (body: Uint8Array, forgiven: readonly Leniency[]) => T): T => {
  const forgiven: Leniency[] = [];
  let body = bytes;
  if (!isUtf8(bytes)) {
    forgiven.push('invalid_utf8');
    body = Buffer.from(asBuffer(bytes).toString('utf8'));
  }
  try {
    return read(body, forgiven);
  } catch (error) {
    if (!(error instanceof MalformedBody)) throw error;
    const settled = withoutRepeats(body);
    if (settled === undefined) throw error;
    return read(settled, [...forgiven, 'duplicate_key']);
  }
};

/** Names may be written with escapes of their characters. */
const mayHoldTokens = (bytes: Uint8Array, tokenKeys: TokenKeys): boolean =>
  tokenKeys.mayBeIn(asBuffer(bytes)) || asBuffer(bytes).includes('\\u');

const encode = (rules: ItemRules, bytes: Uint8Array, context: ItemsContext): EncodedItems => {
  const { tokenKeys = defaultTokenKeys, limits } = context;
  return readJson(bytes, (body, forgiven) =>
    withReadState(body, limits, tokenKeys, (state) => {
      for (const kind of forgiven) state.forgive(kind);
      const encoder = new ItemEncoder(state, context, rules);
      try {
        const reader = new JsonReader(state, encoder, rules.levels, rules.jsonReader);
        reader.readRequest();
        return encoder.finish(reader.unknownKeys, [...reader.misplacedKeys, ...state.unknownInGroups]);
      } finally {
        encoder.release();
      }
    }),
  );
};

/**
 * A body up to this size is read again for its tokens, without repeated names, where an attribute has a name twice. This holds for
 * every sender, known or not.
 */
const settledBytesMax = 256 * 1024;

/** The tokens before the place of an error count: the other reader of the body will refuse it, or settle what is behind it. */
const readTokens = (levels: Levels, body: Uint8Array, tokenKeys: TokenKeys, tokens: NotedTokens): void => {
  try {
    withReadState(body, defaultItemLimits, tokenKeys, (state) =>
      new JsonTokenReader(state, tokens, levels).read(),
    );
  } catch (error) {
    if (!(error instanceof MalformedBody)) throw error;
    const isRead = error instanceof RepeatedKey && body.length <= settledBytesMax;
    const settled = isRead ? settledOf(body) : undefined;
    if (settled === undefined) tokens.add(undefined);
    else readTokens(levels, settled, tokenKeys, tokens);
  }
};

/** The body without repeated names; undefined without any, or for an invalid body. */
const settledOf = (body: Uint8Array): Uint8Array | undefined => {
  try {
    return withoutRepeats(body);
  } catch (error) {
    if (!(error instanceof MalformedBody)) throw error;
    return undefined;
  }
};

const collectTokens = (levels: Levels, bytes: Uint8Array, tokenKeys: TokenKeys): BodyTokens => {
  if (!mayHoldTokens(bytes, tokenKeys)) return [undefined];
  const tokens: NotedTokens = new Set();
  readTokens(levels, bytes, tokenKeys, tokens);
  return [...tokens];
};

/** A signal of OTLP in JSON, read leniently (architecture 4.6). */
export const jsonReaderOf = (rules: ItemRules): ItemsReader => ({
  encode: (bytes, context) => encode(rules, bytes, context),
  collectTokens: (bytes, tokenKeys = defaultTokenKeys) => collectTokens(rules.levels, bytes, tokenKeys),
});
