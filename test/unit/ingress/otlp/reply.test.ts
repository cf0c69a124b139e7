import { describe, expect, it } from 'vitest';
import { bodyHint, shownKey } from '../../../../src/ingress/otlp/hints.ts';
import { readerRefusal, refusedReply } from '../../../../src/ingress/otlp/refusal.ts';
import { partialReply, statusReply } from '../../../../src/ingress/otlp/reply.ts';
import { otlpSignals } from '../../../../src/ingress/otlp/signals.ts';
import { Refused, refusalOf } from '../../../../src/ingress/refused.ts';
import { createSenderNames, senderName } from '../../../../src/ingress/sender.ts';
import { MalformedBody } from '../../../../src/wire/otlp/types.ts';
import { encodings, partialOf, wholeStatusOf } from '../../../support/otlp/client.ts';
import { encodeOtlpProtobuf } from '../../../support/otlp/protobuf.ts';
import { encodeJson, goodSpan, requestOf } from '../../../support/otlp/trace-source.ts';

const { traces, logs, otel_metrics: metrics } = otlpSignals;

const asAnswer = ({ body, status }: { readonly body: Uint8Array | string; readonly status: number }) => ({
  status,
  headers: {},
  bytes: typeof body === 'string' ? Buffer.from(body) : Buffer.from(body),
});

describe.each(encodings)('an answer in %s', (encoding) => {
  it('that is a 400 names the field, as google.rpc.BadRequest does', () => {
    const violations = [{ field: 'resourceSpans', description: 'it is not an array' }];
    expect(wholeStatusOf(encoding, asAnswer(statusReply(encoding, 400, 'no', {}, violations)))).toEqual({
      code: 3,
      message: 'no',
      details: [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: violations }],
    });
  });

  it('that refuses an address for its failures names their limit and the remedy', () => {
    const refused = new Refused('too_many_failures', 'the limit is 20 requests per second');
    const { message } = wholeStatusOf(encoding, asAnswer(refusedReply(encoding, refused)));
    expect(message).toBe(
      'this address sends too many requests without a valid write token: the limit is 20 requests per second; ' +
        'check the token, and wait for the seconds in Retry-After',
    );
  });

  // OTLP/HTTP bounds answers to 4 MiB, and clients read less of them.
  it('is never long, and is never cut within a character', () => {
    const long = '😀'.repeat(5 * 2 ** 20);
    for (const offset of ['', 'x']) {
      const violations = [{ field: 'f', description: long }];
      const refused = asAnswer(statusReply(encoding, 400, offset + long, {}, violations));
      const partial = asAnswer(partialReply(traces, encoding, 1, offset + long));
      for (const { bytes } of [refused, partial]) expect(bytes.length).toBeLessThan(2 ** 18);
      const messages = [
        wholeStatusOf(encoding, refused)['message'],
        partialOf(encoding, partial)?.errorMessage,
      ];
      expect(messages.map((message) => /^x?(😀)+…$/u.test(String(message)))).toEqual([true, true]);
    }
  });
});

const malformedOf = (body: string): MalformedBody => {
  try {
    encodeJson(body);
  } catch (error) {
    if (error instanceof MalformedBody) return error;
  }
  throw new Error('it was read');
};

describe('a body that cannot be read', () => {
  it.each([
    ['{"resourceSpans":5}', 'resourceSpans'],
    ['{"resourceSpans":[{"resource":5}]}', 'resource'],
    ['{"resourceSpans":[{"scopeSpans":{}}]}', 'scopeSpans'],
    ['{"resourceSpans":[{"scopeSpans":[{"scope":{"version":5}}]}]}', 'scope.version'],
    ['{"resourceSpans":[{"scopeSpans":[{"spans":5}]}]}', 'spans'],
    ['{"resourceSpans":[', 'body'],
  ])('%s is refused for its %s', (body, field) => {
    const refused = refusalOf(readerRefusal(traces, malformedOf(body), 'json', Buffer.from(body)));
    expect(wholeStatusOf('json', asAnswer(refusedReply('json', refused)))).toMatchObject({
      code: 3,
      details: [{ fieldViolations: [{ field, description: refused.detail }] }],
    });
  });
});

describe('a hint about a body', () => {
  const protobuf = encodeOtlpProtobuf(requestOf(goodSpan));
  it.each([
    ['JSON', 'protobuf', Buffer.from(' {"resourceSpans":[]}'), 'application/json'],
    ['a list', 'protobuf', Buffer.from('[{}]'), 'application/json'],
    ['a gRPC frame', 'protobuf', Buffer.from([0, 0, 0, 0, 2, 10, 0]), 'gRPC'],
    ['protobuf', 'json', protobuf, 'application/x-protobuf'],
    ['an empty resource of protobuf', 'json', Buffer.from([0x0a, 0x00]), 'application/x-protobuf'],
    ['gzip', 'json', Buffer.from([0x1f, 0x8b, 8]), 'gzip'],
    ['zstd', 'protobuf', Buffer.from([0x28, 0xb5, 0x2f, 0xfd]), 'zstd'],
    ['a byte order mark', 'json', Buffer.from('\ufeff{}'), 'byte order mark'],
    ['UTF-16', 'json', Buffer.from('\ufeff{}', 'utf16le'), 'UTF-16'],
    ['JSON', 'grpc', Buffer.from('{"resourceSpans":[]}'), 'send protobuf, or JSON over HTTP'],
    ['gzip', 'grpc', Buffer.from([0x1f, 0x8b, 8]), 'grpc-encoding: gzip'],
    ["Zipkin's list", 'json', Buffer.from('[{"traceId":"a"}]'), 'Zipkin'],
  ] as const)('recognises %s sent as %s', (_, encoding, body, word) => {
    expect(bodyHint(traces, encoding, body)).toContain(word);
  });

  it.each([
    ['json', '\n{"resourceSpans":[}'],
    ['json', ''],
    ['json', 'hello'],
    ['protobuf', 'hello'],
    ['protobuf', ''],
  ] as const)('is omitted where nothing is known (%s %j)', (encoding, text) => {
    expect(bodyHint(traces, encoding, Buffer.from(text))).toBe('');
  });

  it('names keys of other formats in any spelling, and no others', () => {
    expect(shownKey(traces, 'resource_metrics')).toContain('only traces, not metrics');
    expect(shownKey(traces, 'resourceSpans[].instrumentation_library_spans')).toContain('scopeSpans');
    expect(shownKey(traces, 'resource_metrics')).toContain('send them to /v1/metrics');
    expect(shownKey(metrics, 'resource_logs')).toContain('send them to /v1/logs');
    expect(shownKey(metrics, 'timeseries')).toContain('Prometheus remote write');
    expect(shownKey(metrics, 'resourceMetrics[].instrumentation_library_metrics')).toContain('scopeMetrics');
    expect(shownKey(logs, 'resource_spans')).toContain('send them to /v1/traces');
    expect(shownKey(logs, 'resourceLogs[].log_records')).toContain('scopeLogs');
    expect(shownKey(traces, 'constructor')).toBe('constructor');
    expect(shownKey(traces, 'toString')).toBe('toString');
  });
});

// A label that senders choose freely would let one of them fill the memory of every metrics store.
describe('the name of a sender', () => {
  it.each([
    ['opentelemetry/Python', 'curl/8', 'opentelemetry/python'],
    ['', 'OTel-OTLP-Exporter-Python/1.45.2', 'otel-otlp-exporter-python'],
    ['', 'OTel OTLP Exporter Go/1.47.0 grpc-go/1.75.0', 'otel_otlp_exporter_go'],
    ['', 'curl/8.5.0', 'curl'],
    ['', 'Mozilla/5.0 (X11)', 'mozilla'],
    ['', undefined, 'unknown'],
    ['', '(nothing)', 'unknown'],
    ['a "b"\n{c}', undefined, 'a_b_c_'],
  ])('of SDK %j and User-Agent %j is %s', (sdk, userAgent, name) => {
    expect(createSenderNames(() => false).nameOf(sdk, userAgent)).toBe(name);
  });

  it.each([
    ['OTel OTLP Exporter Go/1.47.0 grpc-go/1.75.0', 'OTel OTLP Exporter Go/1.47.0'],
    ['OTel-OTLP-Exporter-Python/1.45.2', 'OTel-OTLP-Exporter-Python/1.45.2'],
    ['OTel (something)', 'OTel'],
    ['Mozilla/5.0 (X11) like Gecko', 'Mozilla/5.0'],
  ])('in the usage, of User-Agent %j, is %s', (userAgent, name) => {
    expect(senderName('', userAgent)).toBe(name);
  });

  it('is "other" after the first hundred, which keep their names', () => {
    const { nameOf } = createSenderNames(() => false);
    const all = Array.from({ length: 300 }, (_, index) => nameOf(`sdk-${index}/${'x'.repeat(500)}`, ''));
    expect(new Set(all).size).toBe(101);
    expect(all.every((name) => name.length <= 60)).toBe(true);
    expect(all.at(-1)).toBe('other');
    expect(nameOf(`sdk-5/${'x'.repeat(500)}`, '')).toBe(all[5]);
  });
});
