import { ProtobufReader } from '../../wire/otlp/protobuf-reader.ts';
import { noteToken } from '../../wire/otlp/resource-row.ts';
import { type ReadState, withReadState } from '../../wire/otlp/span-slots.ts';
import { defaultTokenKeys, type TokenKeys } from '../../wire/otlp/token-keys.ts';
import {
  defaultItemLimits,
  type EncodedItems,
  type ItemsContext,
  type ItemsReader,
  MalformedBody,
} from '../../wire/otlp/types.ts';
import { TraceEncoder } from './trace-encoder.ts';

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

const encode = (bytes: Uint8Array, context: ItemsContext): EncodedItems => {
  const { tokenKeys = defaultTokenKeys } = context;
  return withReadState(bytes, context.limits, tokenKeys, tokenKeys.mayBeIn(asBuffer(bytes)), (state) => {
    const encoder = new TraceEncoder(state, context);
    try {
      const reader = new ProtobufReader(state, encoder, true);
      reader.readRequest();
      return encoder.finish(reader.unknownFields, reader.misplacedFields);
    } finally {
      encoder.release();
    }
  });
};

/** The tokens before the place of an error count: the other reader of the body will refuse it. */
const readTokens = (state: ReadState, tokens: Set<string>): void => {
  try {
    new ProtobufReader(
      state,
      { resource: () => noteToken(state, tokens), span: () => {} },
      false,
    ).readRequest();
  } catch (error) {
    if (!(error instanceof MalformedBody)) throw error;
  }
};

const collectTokens = (bytes: Uint8Array, tokenKeys: TokenKeys = defaultTokenKeys): string[] => {
  if (!tokenKeys.mayBeIn(asBuffer(bytes))) return [];
  const tokens = new Set<string>();
  withReadState(bytes, defaultItemLimits, tokenKeys, true, (state) => readTokens(state, tokens));
  return [...tokens];
};

/** OTLP in protobuf. */
export const protobufTraces: ItemsReader = { encode, collectTokens };
