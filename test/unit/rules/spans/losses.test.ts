import { describe, expect, it } from 'vitest';
import type { OtlpAttribute, OtlpRequest, OtlpSpan } from '../../../support/otlp/protobuf.ts';
import {
  arrivedAt,
  contextWith,
  encodeJson,
  encodeProtobuf,
  goodSpan,
  nanosAt,
  onlyRow,
  requestOf,
} from '../../../support/otlp/trace-source.ts';

const text = (key: string, value: string): OtlpAttribute => ({ key, value: { stringValue: value } });

const dayMs = 86_400_000;

const encodings = [
  ['JSON', encodeJson],
  ['protobuf', encodeProtobuf],
] as const;

describe('the parts of a kept span that cannot be stored', () => {
  it.each(encodings)('are left out and counted (%s)', (_, encode) => {
    const span: OtlpSpan = {
      ...goodSpan,
      events: [
        { name: 'none' },
        { timeUnixNano: nanosAt(0), name: 'kept', attributes: [text('a', 'b')] },
        { timeUnixNano: String(arrivedAt), name: 'milliseconds', attributes: [text('c', 'd')] },
        { timeUnixNano: nanosAt(-400 * dayMs), name: 'old' },
      ],
      links: [
        { traceId: goodSpan.traceId.slice(2), spanId: goodSpan.spanId, attributes: [text('a', 'b')] },
        { traceId: goodSpan.traceId, spanId: goodSpan.spanId, traceState: 'x=y' },
        { traceId: '0'.repeat(32), spanId: goodSpan.spanId },
      ],
    };
    const encoded = encode(requestOf(span));
    expect(encoded).toMatchObject({ accepted: 1, eventsDropped: 2, linksDropped: 2 });
    expect(onlyRow(encoded)).toMatchObject({
      'Events.Name': ['kept', 'old'],
      'Events.Attributes': [[['a', 'b']], []],
      'Links.TraceState': ['x=y'],
    });
  });

  it.each(encodings)('are cut where a value is too long, never within a character (%s)', (_, encode) => {
    const context = contextWith({ limits: { valueBytesMax: 5 } });
    const span = {
      ...goodSpan,
      name: 'abcdef',
      attributes: [
        text('k', 'ééé'),
        text('l', '12345'),
        text('m', '😀😀'),
        text('n', 'ab😀'),
        text('long key', ''),
      ],
    };
    const encoded = encode({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] }, context);
    expect(onlyRow(encoded)).toMatchObject({
      SpanName: 'abcde',
      SpanAttributes: [
        ['k', 'éé'],
        ['l', '12345'],
        ['m', '😀'],
        ['n', 'ab'],
        ['long ', ''],
      ],
    });
    expect(encoded.cutValues).toBe(5);
  });

  it.each(encodings)('are counted for each row that repeats them (%s)', (_, encode) => {
    const context = contextWith({ limits: { valueBytesMax: 3 } });
    const request: OtlpRequest = {
      resourceSpans: [
        {
          resource: { attributes: [text('k', 'long'), text('k', 'abc')] },
          scopeSpans: [
            {
              scope: { name: 'long', version: 'long' },
              spans: [goodSpan, goodSpan, goodSpan].map((span) => ({ ...span, name: '' })),
            },
          ],
        },
      ],
    };
    // Of two values of one key only the one that is kept counts.
    expect(encode(request, context)).toMatchObject({ accepted: 3, cutValues: 6 });
  });
});
