import type { Levels } from '../../wire/otlp/levels.ts';
import { ProtobufReader } from '../../wire/otlp/protobuf-reader.ts';
import { type ReadState, withReadState } from '../../wire/otlp/read-state.ts';
import { type NotedTokens, noteToken } from '../../wire/otlp/resource-row.ts';
import { defaultTokenKeys, type TokenKeys } from '../../wire/otlp/token-keys.ts';
import {
  type BodyTokens,
  defaultItemLimits,
  type EncodedItems,
  type ItemsContext,
  type ItemsReader,
  MalformedBody,
} from '../../wire/otlp/types.ts';
import { ItemEncoder } from './item-encoder.ts';
import type { ItemRules } from './item-rules.ts';

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

const encode = (rules: ItemRules, bytes: Uint8Array, context: ItemsContext): EncodedItems => {
  const { tokenKeys = defaultTokenKeys } = context;
  return withReadState(bytes, context.limits, tokenKeys, (state) => {
    const encoder = new ItemEncoder(state, context, rules);
    try {
      const reader = new ProtobufReader(state, encoder, rules.levels, rules.protobufReader);
      try {
        reader.readRequest();
      } catch (error) {
        if (!(error instanceof MalformedBody) || reader.lookLike === '') throw error;
        throw new MalformedBody(`${error.message}; ${reader.lookLike}`, error.field);
      }
      const misplaced = [...reader.misplacedFields, ...state.unknownInGroups];
      const encoded = encoder.finish(reader.unknownFields, misplaced);
      // Items of another signal may be groups without items here: nothing would be said about them.
      if (encoded.items === 0 && reader.lookLike !== '')
        throw new MalformedBody(`the body has no ${rules.levels.names.itemsText}; ${reader.lookLike}`);
      return encoded;
    } finally {
      encoder.release();
    }
  });
};

/** The tokens before the place of an error count: the other reader of the body will refuse it. */
const readTokens = (levels: Levels, state: ReadState, tokens: NotedTokens): void => {
  try {
    new ProtobufReader(
      state,
      { resource: () => noteToken(state, tokens, levels), item: () => {} },
      levels,
    ).readRequest();
  } catch (error) {
    if (!(error instanceof MalformedBody)) throw error;
    tokens.add(undefined);
  }
};

const collectTokens = (levels: Levels, bytes: Uint8Array, tokenKeys: TokenKeys): BodyTokens => {
  if (!tokenKeys.mayBeIn(asBuffer(bytes))) return [undefined];
  const tokens: NotedTokens = new Set();
  withReadState(bytes, defaultItemLimits, tokenKeys, (state) => readTokens(levels, state, tokens));
  return [...tokens];
};

/** A signal of OTLP in protobuf. */
export const protobufReaderOf = (rules: ItemRules): ItemsReader => ({
  encode: (bytes, context) => encode(rules, bytes, context),
  collectTokens: (bytes, tokenKeys = defaultTokenKeys) => collectTokens(rules.levels, bytes, tokenKeys),
});
