import { ProtobufReader } from './protobuf-reader.ts';
import { holdsToken, tokenSink } from './resource-row.ts';
import { withReadState } from './span-slots.ts';
import { TraceEncoder } from './trace-encoder.ts';
import { defaultTraceLimits, type EncodedTraces, type TraceReader, type TracesContext } from './types.ts';

const encodeTraces = (bytes: Uint8Array, context: TracesContext): EncodedTraces =>
  withReadState(bytes, context.limits, (state) => {
    const encoder = new TraceEncoder(state, context);
    try {
      const reader = new ProtobufReader(state, encoder, true);
      reader.readRequest();
      return encoder.finish(reader.unknownFields, reader.misplacedFields);
    } finally {
      encoder.release();
    }
  });

const collectTokens = (bytes: Uint8Array): string[] => {
  if (!holdsToken(bytes)) return [];
  const tokens = new Set<string>();
  withReadState(bytes, defaultTraceLimits, (state) =>
    new ProtobufReader(state, tokenSink(state, tokens), false).readRequest(),
  );
  return [...tokens];
};

/** OTLP in protobuf. */
export const protobufTraces: TraceReader = { encodeTraces, collectTokens };
