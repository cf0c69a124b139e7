import { isUtf8 } from 'node:buffer';
import { JsonReader } from './json-reader.ts';
import { withoutRepeats } from './json-repeats.ts';
import { RepeatedKey } from './json-value.ts';
import { holdsToken, tokenSink } from './resource-row.ts';
import { withReadState } from './span-slots.ts';
import { TraceEncoder } from './trace-encoder.ts';
import {
  defaultTraceLimits,
  type EncodedTraces,
  type Leniency,
  MalformedBody,
  type TraceReader,
  type TracesContext,
} from './types.ts';

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/**
 * Calls `read` with the body, and once more with a body without repeated names where it meets some. What it cannot make sense of
 * may be such a name's earlier value, which does not count.
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
    if (!(error instanceof RepeatedKey || error instanceof MalformedBody)) throw error;
    const settled = withoutRepeats(body);
    if (settled === undefined) throw error;
    return read(settled, [...forgiven, 'duplicate_key']);
  }
};

const encodeTraces = (bytes: Uint8Array, context: TracesContext): EncodedTraces =>
  readJson(bytes, (body, forgiven) =>
    withReadState(body, context.limits, (state) => {
      for (const kind of forgiven) state.forgive(kind);
      const encoder = new TraceEncoder(state, context);
      try {
        const reader = new JsonReader(state, encoder, true);
        reader.readRequest();
        return encoder.finish(reader.unknownKeys, reader.misplacedKeys);
      } finally {
        encoder.release();
      }
    }),
  );

const collectTokens = (bytes: Uint8Array): string[] => {
  // The name may also be written with escapes of its characters.
  if (!holdsToken(bytes) && !asBuffer(bytes).includes('\\u')) return [];
  return readJson(bytes, (body) => {
    const tokens = new Set<string>();
    withReadState(body, defaultTraceLimits, (state) =>
      new JsonReader(state, tokenSink(state, tokens), false).readRequest(),
    );
    return [...tokens];
  });
};

/** OTLP in JSON, read leniently (design section 5). */
export const jsonTraces: TraceReader = { encodeTraces, collectTokens };
