import { JsonTraceSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import { InMemorySpanExporter, type ReadableSpan } from '@opentelemetry/sdk-trace';
import { beforeAll, describe, expect, it } from 'vitest';
import { jsonTraces } from '../../../../src/rules/spans/json-traces.ts';
import { protobufTraces } from '../../../../src/rules/spans/protobuf-traces.ts';
import { exportWithSdk, rowOfSdk } from '../../../support/otlp/sdk-spans.ts';
import { rowsOfTraces, type SpanRow } from '../../../support/otlp/span-blocks.ts';
import { contextWith, encodeJson } from '../../../support/otlp/trace-source.ts';

const isPairs = (value: unknown): value is [string, string][] =>
  Array.isArray(value) && value.every((pair) => Array.isArray(pair) && pair.length === 2);

/** A row as the SDK's spans are shown: maps as objects, numbers as text. */
const shown = (row: SpanRow): Record<string, unknown> => {
  const { uid, AppId, BizId, ArrivedAt, ...columns } = row;
  return Object.fromEntries(
    Object.entries(columns).map(([name, value]) => {
      if (typeof value === 'bigint') return [name, String(value)];
      if (name.endsWith('s.Timestamp') && Array.isArray(value)) return [name, value.map(String)];
      if (name.includes('.Attributes') && Array.isArray(value))
        return [name, value.map((map) => Object.fromEntries(map))];
      return [name, name.endsWith('Attributes') && isPairs(value) ? Object.fromEntries(value) : value];
    }),
  );
};

/** The SDK of OpenTelemetry and its serializers share no code with Tidemark: the table must hold what they send. */
describe('spans of the OpenTelemetry SDK', () => {
  let spans: ReadableSpan[];
  const context = contextWith({ arrivedAt: Date.now() + 60_000 });

  beforeAll(async () => {
    spans = await exportWithSdk(new InMemorySpanExporter(), 60, 7);
  });

  it.each([
    ['JSON', jsonTraces, JsonTraceSerializer],
    ['protobuf', protobufTraces, ProtobufTraceSerializer],
  ] as const)('become the rows that it held of them (%s)', (_, reader, serializer) => {
    const body = serializer.serializeRequest(spans);
    const encoded = reader.encode(body ?? new Uint8Array(0), context);
    expect(encoded).toMatchObject({
      accepted: 60,
      rejected: new Map(),
      deferred: new Map(),
      leniencies: new Map(),
    });
    const rows = rowsOfTraces(encoded).map(shown);
    expect(rows).toHaveLength(60);
    expect(rows).toEqual(spans.map(rowOfSdk));
  });

  it('come in JSON with numbers that JavaScript prints its own way', () => {
    const [span] = spans;
    if (span === undefined) throw new Error('the SDK made no span');
    const values = {
      large: 2 ** 60,
      larger: 1e21,
      none: Number.NaN,
      infinite: Number.NEGATIVE_INFINITY,
      bytes: Uint8Array.of(1, 2),
    };
    const odd = Object.assign(Object.create(span), { attributes: values });
    const body = JsonTraceSerializer.serializeRequest([odd]);
    const [row] = rowsOfTraces(encodeJson(body, context));
    expect(row?.['SpanAttributes']).toEqual([
      ['large', '1152921504606847000'],
      ['larger', '1000000000000000000000'],
      ['none', ''],
      ['infinite', ''],
      ['bytes', 'AQI='],
    ]);
  });
});
