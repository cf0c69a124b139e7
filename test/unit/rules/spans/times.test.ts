import { describe, expect, it } from 'vitest';
import { validateSpanTime } from '../../../../src/model/span-time.ts';
import type { OtlpAttribute, OtlpSpan } from '../../../support/otlp/protobuf.ts';
import {
  arrivedAt,
  contextWith,
  encodeJson,
  encodeProtobuf,
  goodSpan,
  nanosAt,
  onlyRow,
  owner,
  requestOf,
} from '../../../support/otlp/trace-source.ts';

const text = (key: string, value: string): OtlpAttribute => ({ key, value: { stringValue: value } });

const encodings = [
  ['JSON', encodeJson],
  ['protobuf', encodeProtobuf],
] as const;

describe('a span with an invalid time', () => {
  const late: OtlpSpan = {
    ...goodSpan,
    startTimeUnixNano: nanosAt(-1),
    endTimeUnixNano: nanosAt(-2),
    parentSpanId: '00f067aa0ba902b7',
    traceState: 'a=b',
    attributes: [{ key: 'n', value: { intValue: '5' } }, text('s', 'x')],
    events: [{ timeUnixNano: nanosAt(0), name: 'e', attributes: [text('a', 'b')] }],
    links: [{ traceId: goodSpan.traceId, spanId: goodSpan.spanId }],
    status: { code: 2, message: 'm' },
  };

  it.each(encodings)('travels as a separate request, and fails again by the same rule (%s)', (_, encode) => {
    const encoded = encode(requestOf<OtlpSpan>(goodSpan, late));
    expect(encoded).toMatchObject({ accepted: 1, deferred: new Map([['end_before_start', 1]]) });
    const [deferred] = encoded.runs[0]?.deferred ?? [];
    expect(deferred).toMatchObject({ appId: 12, bizId: 2, policy: owner.policy, ordinals: [1] });
    const { resource, scope, span } = JSON.parse(deferred?.texts[0] ?? '');
    expect(validateSpanTime(span.startTimeUnixNano, span.endTimeUnixNano, arrivedAt, owner.policy)).toBe(
      'end_before_start',
    );
    // Mended, it would be the row that it should have been.
    const mended = {
      resourceSpans: [
        { resource, scopeSpans: [{ scope, spans: [{ ...span, endTimeUnixNano: nanosAt(9) }] }] },
      ],
    };
    expect(onlyRow(encodeJson(mended))).toEqual(
      onlyRow(encode(requestOf({ ...late, endTimeUnixNano: nanosAt(9) }))),
    );
  });

  it('is found by its windows, which travel with it', () => {
    const policy = { aheadMsMax: 1000, ageMsMax: 2000, ttlSeconds: 86_400 };
    const encoded = encodeJson(
      requestOf(
        goodSpan,
        { ...goodSpan, startTimeUnixNano: nanosAt(-3000) },
        { ...goodSpan, endTimeUnixNano: nanosAt(1001) },
      ),
      contextWith({ resolve: () => ({ ...owner, policy }) }),
    );
    expect(Object.fromEntries(encoded.deferred)).toEqual({
      timestamp_too_old: 1,
      timestamp_too_far_ahead: 1,
    });
    expect(encoded.runs[0]?.deferred).toMatchObject([{ policy, ordinals: [1, 2] }]);
    expect(encoded.examples.map(({ field }) => field)).toEqual(['startTimeUnixNano', 'endTimeUnixNano']);
  });
});
