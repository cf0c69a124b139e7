import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { jsonTraces } from '../../../../src/rules/spans/json-traces.ts';
import { Scratch } from '../../../../src/wire/otlp/scratch.ts';
import { type Leniency, leniencyKinds, MalformedBody } from '../../../../src/wire/otlp/types.ts';
import { anyRequest } from '../../../support/otlp/requests.ts';
import { rowsOfTraces } from '../../../support/otlp/span-blocks.ts';
import {
  contextWith,
  encodeJson,
  goodSpan,
  nanosAt,
  onlyRow,
  requestOf,
} from '../../../support/otlp/trace-source.ts';
import { always, trickyText } from '../../../support/properties.ts';

const attributes = (values: Record<string, unknown>): unknown =>
  Object.entries(values).map(([key, value]) => ({ key, value }));

const rowWith = (span: Record<string, unknown>) => onlyRow(encodeJson(requestOf({ ...goodSpan, ...span })));

const leniencies = (body: unknown): Partial<Record<Leniency, number>> =>
  Object.fromEntries(encodeJson(body).leniencies);

describe('a JSON body as the specification shows it', () => {
  const body = {
    resourceSpans: [
      {
        resource: {
          attributes: attributes({
            'service.name': { stringValue: 'demo' },
            'net.host.ip': { stringValue: '' },
            'net.host.name': { stringValue: 'host-1' },
            'telemetry.sdk.language': { stringValue: 'shell' },
            'telemetry.sdk.name': { stringValue: 'curl' },
            'telemetry.sdk.version': { stringValue: '1.0' },
          }),
        },
        scopeSpans: [
          {
            scope: { name: 'demo-scope', version: '0.1' },
            spans: [
              {
                ...goodSpan,
                kind: 1,
                startTimeUnixNano: `${nanosAt(0).slice(0, 10)}000000000`,
                status: { code: 1 },
              },
            ],
          },
        ],
      },
    ],
  };

  it('is stored, its seconds followed by nine zeros included', () => {
    const encoded = encodeJson({ ...body, resourceSpans: body.resourceSpans });
    expect(encoded).toMatchObject({ items: 1, accepted: 0, deferred: new Map([['end_before_start', 1]]) });
    const [resourceSpans] = body.resourceSpans;
    const span = { ...resourceSpans?.scopeSpans[0]?.spans[0], endTimeUnixNano: nanosAt(5) };
    const row = onlyRow(
      encodeJson({
        resourceSpans: [{ ...resourceSpans, scopeSpans: [{ scope: { name: 's' }, spans: [span] }] }],
      }),
    );
    expect(row).toMatchObject({
      Timestamp: BigInt(nanosAt(0)),
      ServiceName: 'demo',
      SpanKind: 'Internal',
      StatusCode: 'Ok',
      ScopeName: 's',
      ScopeVersion: '',
      Duration: 5_000_000n,
    });
    expect(row['ResourceAttributes']).toContainEqual(['net.host.ip', '']);
  });

  it('with a literal N for nanoseconds is accepted and deferred, text and all', () => {
    const encoded = encodeJson(requestOf(goodSpan, { ...goodSpan, startTimeUnixNano: '1780315200N' }));
    expect(encoded).toMatchObject({ items: 2, accepted: 1, rejected: new Map() });
    const [run] = encoded.runs;
    expect(run?.deferred).toMatchObject([{ appId: 12, bizId: 2, ordinals: [1] }]);
    expect(JSON.parse(run?.deferred[0]?.texts[0] ?? '')).toMatchObject({
      resource: { attributes: [{ key: 'service.name', value: { stringValue: 'cart' } }] },
      span: { startTimeUnixNano: '1780315200N', endTimeUnixNano: goodSpan.endTimeUnixNano, name: 'GET /' },
    });
    expect(encoded.examples).toEqual([
      {
        index: 1,
        reason: 'timestamp_not_numeric',
        field: 'startTimeUnixNano',
        detail: '',
        got: '"1780315200N"',
      },
    ]);
  });
});

describe('an attribute value in JSON', () => {
  const cases: [what: string, value: unknown, text: string][] = [
    ['a string', { stringValue: 'x' }, 'x'],
    ['an escaped string', { stringValue: '"\\/\b\f\n\r\t\u0000é😀' }, '"\\/\b\f\n\r\t\u0000é😀'],
    ['true', { boolValue: true }, 'true'],
    ['false', { boolValue: false }, 'false'],
    ['an integer as text', { intValue: '9223372036854775807' }, '9223372036854775807'],
    ['the least integer', { intValue: '-9223372036854775808' }, '-9223372036854775808'],
    ['an integer with zeros in front', { intValue: '007' }, '7'],
    ['minus zero as an integer', { intValue: '-0' }, '0'],
    // The JSON mapping of proto3 takes them, with quotes as without.
    ['an integer with an exponent in text', { intValue: '1e2' }, '100'],
    ['an integer with a zero fraction in text', { intValue: '-5.0' }, '-5'],
    ['a zero', { intValue: 0 }, '0'],
    ['an integer as a number', { intValue: -42 }, '-42'],
    ['a whole number JavaScript prints with an exponent', { intValue: 1e21 }, '1000000000000000000000'],
    ['a double', { doubleValue: 0.1 }, '0.1'],
    ['a whole double', { doubleValue: 3 }, '3'],
    ['a large double', { doubleValue: 1.5e300 }, '1.5e+300'],
    ['a small double', { doubleValue: 1e-7 }, '1e-7'],
    ['a double as text', { doubleValue: '2.50' }, '2.5'],
    ['NaN', { doubleValue: 'NaN' }, 'NaN'],
    ['infinity', { doubleValue: 'Infinity' }, 'Infinity'],
    ['minus infinity', { doubleValue: '-Infinity' }, '-Infinity'],
    ['NaN as JavaScript sends it', { doubleValue: null }, ''],
    ['bytes', { bytesValue: '+/8=' }, '+/8='],
    ['bytes without padding', { bytesValue: '+/8' }, '+/8='],
    ['bytes in the alphabet of URLs', { bytesValue: '-_8=' }, '+/8='],
    ['no bytes', { bytesValue: '' }, ''],
    ['an array', { arrayValue: { values: [{ intValue: 1 }, { stringValue: 'a"' }, {}] } }, '[1,"a\\"",null]'],
    ['an empty array', { arrayValue: {} }, '[]'],
    // The Collector's pdata leaves the whole text empty, and escapes the separators.
    [
      'an array of what JSON has no number for, and of separators of lines',
      {
        arrayValue: {
          values: [
            { doubleValue: 'NaN' },
            { doubleValue: 'Infinity' },
            { doubleValue: '-Infinity' },
            { stringValue: '\u2028\u2029' },
          ],
        },
      },
      '["NaN","Infinity","-Infinity","\u2028\u2029"]',
    ],
    ['an array of null', { arrayValue: { values: null } }, '[]'],
    [
      'a list of keys and values',
      {
        kvlistValue: {
          values: [
            { key: 'b', value: { doubleValue: 'NaN' } },
            { key: 'a' },
            { key: 'b', value: { boolValue: true } },
          ],
        },
      },
      '{"a":null,"b":true}',
    ],
    ['nothing', {}, ''],
    ['null', null, ''],
    ['a kind that does not exist', { dateValue: 'today' }, ''],
    ['two kinds, of which the last counts', { stringValue: 'a', intValue: 5 }, '5'],
    ['two kinds, of which one is null', { stringValue: 'a', intValue: null }, 'a'],
  ];

  it.each(cases)('%s becomes its text', (_, value, text) => {
    expect(rowWith({ attributes: attributes({ k: value }) })['SpanAttributes']).toEqual([['k', text]]);
  });

  it('that is a bare number of 19 digits loses nothing', () => {
    const body = JSON.stringify(requestOf({ ...goodSpan, attributes: attributes({ k: { intValue: 'I' } }) }));
    const row = onlyRow(encodeJson(body.replace('"I"', '9007199254740993123')));
    expect(row['SpanAttributes']).toEqual([['k', '9007199254740993123']]);
  });

  it('that is minus zero keeps its sign, as the ClickHouse exporter writes it', () => {
    const body = JSON.stringify(
      requestOf({ ...goodSpan, attributes: attributes({ k: { doubleValue: 'D' } }) }),
    );
    expect(onlyRow(encodeJson(body.replace('"D"', '-0.0')))['SpanAttributes']).toEqual([['k', '-0']]);
  });

  const wrong: [what: string, value: unknown][] = [
    ['a bare string', 'x'],
    ['a number', 5],
    ['an array', [{ stringValue: 'x' }]],
    ['a string that is a number', { stringValue: 5 }],
    ['a boolean that is text', { boolValue: 'true' }],
    ['an integer with a fraction', { intValue: 1.5 }],
    ['an integer that is no number', { intValue: 'five' }],
    ['an integer with an exponent and a fraction in text', { intValue: '1.25e1' }],
    ['an integer in hexadecimal text', { intValue: '0x10' }],
    ['an integer of a million digits', { intValue: '1'.repeat(1_000_000) }],
    ['a double that is no number', { doubleValue: 'five' }],
    ['a double in hexadecimal', { doubleValue: '0x10' }],
    ['a double beyond the range, as text', { doubleValue: '1e400' }],
    ['a double beyond the range in an array', { arrayValue: { values: [{ doubleValue: '-1e400' }] } }],
    ['bytes that are no base64', { bytesValue: 'a b' }],
    ['bytes of five characters', { bytesValue: 'abcde' }],
    ['an array that is an object', { arrayValue: { values: {} } }],
    ['an array without its wrapping', { arrayValue: [] }],
    ['an array that holds a bare string', { arrayValue: { values: ['x'] } }],
    ['a list that holds a string', { kvlistValue: { values: ['x'] } }],
    ['a list with a number for a key', { kvlistValue: { values: [{ key: 1 }] } }],
  ];

  it.each(wrong)('%s rejects its span alone', (_, value) => {
    const encoded = encodeJson(
      requestOf<object>({ ...goodSpan, attributes: attributes({ k: value }) }, goodSpan),
    );
    expect(encoded).toMatchObject({ accepted: 1, rejected: new Map([['attribute_invalid', 1]]) });
    expect(encoded.examples[0]).toMatchObject({ index: 0, field: 'attributes[0].value' });
    expect(encoded.examples[0]?.detail.length).toBeLessThan(300);
  });

  it('that is a bare number beyond the range of a double rejects its span alone', () => {
    const span = { ...goodSpan, attributes: attributes({ k: { doubleValue: 'D' } }) };
    const encoded = encodeJson(JSON.stringify(requestOf<object>(span, goodSpan)).replace('"D"', '1e400'));
    expect(encoded).toMatchObject({ accepted: 1, rejected: new Map([['attribute_invalid', 1]]) });
    expect(encoded.examples[0]?.detail).toContain('doubleValue cannot be 1e400');
  });

  it('nested deeper than 32 is cut there and counted', () => {
    const nest = (depth: number): unknown =>
      depth === 0 ? { stringValue: 'x' } : { arrayValue: { values: [nest(depth - 1)] } };
    const deepest = encodeJson(requestOf({ ...goodSpan, attributes: attributes({ k: nest(32) }) }));
    expect(deepest.cutValues).toBe(0);
    expect(onlyRow(deepest)['SpanAttributes']).toEqual([['k', `${'['.repeat(32)}"x"${']'.repeat(32)}`]]);
    const deeper = encodeJson(requestOf({ ...goodSpan, attributes: attributes({ k: nest(40) }) }));
    expect(deeper.cutValues).toBe(1);
    expect(onlyRow(deeper)['SpanAttributes']).toEqual([['k', `${'['.repeat(32)}null${']'.repeat(32)}`]]);
  });
});

describe('a time in JSON', () => {
  const nanos = nanosAt(-5, 678_901);
  const words = { low: Number(BigInt.asIntN(32, BigInt(nanos))), high: Number(BigInt(nanos) >> 32n) };
  const cases: [what: string, raw: string, leniency: Leniency | undefined][] = [
    ['a string of digits', `"${nanos}"`, undefined],
    ['a bare number of 19 digits', nanos, 'number_64'],
    ['a number with an exponent', `${nanos.slice(0, -1)}.${nanos.slice(-1)}00E+1`, 'number_64'],
    ['two halves, the low one signed', JSON.stringify(words), 'low_high'],
    [
      'two halves without sign',
      JSON.stringify({ ...words, low: words.low >>> 0, unsigned: true }),
      'low_high',
    ],
    ['digits behind an escape', `"\\u003${nanos[0]}${nanos.slice(1)}"`, undefined],
  ];

  it.each(cases)('is read exactly from %s', (_, raw, leniency) => {
    const body = JSON.stringify(
      requestOf({ ...goodSpan, startTimeUnixNano: 'T', endTimeUnixNano: nanosAt(0) }),
    );
    const encoded = encodeJson(body.replace('"T"', raw));
    expect(onlyRow(encoded)['Timestamp']).toBe(BigInt(nanos));
    expect([...encoded.leniencies.keys()]).toEqual(leniency === undefined ? [] : [leniency]);
  });

  it.each([
    ['a fraction', '1.5', '1.5'],
    ['a negative number', '-1780315200000000000', '-1780315200000000000'],
    ['true', 'true', 'true'],
    ['an object', '{"low":1}', '{"low":1}'],
    ['an array', '[1]', '[1]'],
    ['an empty string', '""', ''],
    ['a very long string', `"${'9'.repeat(5000)}"`, `${'9'.repeat(40)}…`],
  ])('that is %s is deferred as not numeric', (_, raw, sent) => {
    const body = JSON.stringify(requestOf({ ...goodSpan, startTimeUnixNano: 'T' }));
    const encoded = encodeJson(body.replace('"T"', raw));
    expect(Object.fromEntries(encoded.deferred)).toEqual({ timestamp_not_numeric: 1 });
    const text: unknown = JSON.parse(encoded.runs[0]?.deferred[0]?.texts[0] ?? '');
    expect(text).toMatchObject({ span: { startTimeUnixNano: sent } });
  });
});

describe('a lenient reader of JSON', () => {
  const snake = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(snake);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [
        key.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`),
        snake(item),
      ]),
    );
  };
  /** Members in the other order: children before what they belong to. */
  const reversed = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(reversed);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value)
        .map(([key, item]) => [key, reversed(item)])
        .reverse(),
    );
  };
  const withNoise = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(withNoise);
    if (typeof value !== 'object' || value === null) return value;
    return {
      unknown: [{ deep: [1, 'x', null, true, { y: -1.5e-3 }] }],
      ...Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withNoise(item)])),
      other: '\\"{[',
    };
  };

  const sameRows = (change: (request: unknown) => unknown): void => {
    always(
      fc.property(anyRequest, (request) => {
        const plain = encodeJson(request);
        const changed = encodeJson(change(request));
        expect(rowsOfTraces(changed)).toEqual(rowsOfTraces(plain));
        expect(changed.rejected).toEqual(plain.rejected);
        expect(changed.runs.map(({ deferred }) => deferred)).toEqual(
          plain.runs.map(({ deferred }) => deferred),
        );
      }),
      150,
    );
  };

  // The C++ exporter sends it; a strict reader would store empty spans without a report.
  it('takes snake_case names for camelCase ones', () => sameRows(snake));
  it('takes members in any order', () => sameRows(reversed));
  it('skips names that OTLP does not have', () => sameRows(withNoise));
  it('takes white space anywhere', () => {
    always(
      fc.property(anyRequest, (request) => {
        const spaced = JSON.stringify(request, undefined, '\t').replaceAll('\n', '\r\n ');
        expect(rowsOfTraces(encodeJson(spaced))).toEqual(rowsOfTraces(encodeJson(request)));
      }),
      150,
    );
  });
  it('takes every character as an escape', () => {
    always(
      fc.property(anyRequest, (request) => {
        const escaped = JSON.stringify(request).replaceAll(/"((?:[^"\\]|\\.)*)"/g, (text) => {
          const units = Array.from({ length: JSON.parse(text).length }, (_, at) =>
            JSON.parse(text).charCodeAt(at),
          );
          return `"${units.map((unit: number) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')}"`;
        });
        expect(rowsOfTraces(encodeJson(escaped))).toEqual(rowsOfTraces(encodeJson(request)));
      }),
      100,
    );
  });

  it('treats null as absent', () => {
    const absent = encodeJson({
      resourceSpans: [{ resource: null, scopeSpans: [{ scope: null, spans: [goodSpan] }] }],
    });
    const nothing = {
      traceState: null,
      parentSpanId: null,
      attributes: null,
      events: null,
      links: null,
      status: null,
    };
    const padded = { ...goodSpan, ...nothing };
    const row = onlyRow(encodeJson({ resourceSpans: [{ scopeSpans: [{ spans: [padded] }] }] }));
    expect(row).toEqual(onlyRow(absent));
    expect(encodeJson({ resourceSpans: null })).toMatchObject({ items: 0, runs: [] });
    expect(rowWith({ kind: null, name: null })).toMatchObject({ SpanKind: 'Unspecified', SpanName: '' });
  });

  it.each([
    ['SPAN_KIND_SERVER', 'STATUS_CODE_ERROR'],
    ['server', 'error'],
    ['2', '2'],
  ])('takes enums by name (%s)', (kind, code) => {
    const body = requestOf({ ...goodSpan, kind, status: { code } });
    expect(onlyRow(encodeJson(body))).toMatchObject({ SpanKind: 'Server', StatusCode: 'Error' });
    expect(leniencies(body)).toEqual({ enum_name: 2 });
  });

  it('takes ids in upper case, and no parent for one of zeros', () => {
    const body = requestOf({
      ...goodSpan,
      traceId: goodSpan.traceId.toUpperCase(),
      spanId: goodSpan.spanId.toUpperCase(),
      parentSpanId: '0'.repeat(16),
    });
    expect(onlyRow(encodeJson(body))).toMatchObject({
      ...{ TraceId: goodSpan.traceId, SpanId: goodSpan.spanId },
      ParentSpanId: '',
    });
  });

  it('takes the last of names that come twice, in either form', () => {
    const text = JSON.stringify(requestOf({ ...goodSpan, name: 'N' }));
    const twice = text
      .replace(
        '"name":"N"',
        '"name":"first","kind":"x","name":"second","kind":3,"trace_state":"a","traceState":"b"',
      )
      .replace('"startTimeUnixNano":"', '"startTimeUnixNano":1,"start_time_unix_nano":"');
    const row = onlyRow(encodeJson(twice.replace('"kind":2,', '')));
    expect(row).toMatchObject({
      SpanName: 'second',
      SpanKind: 'Client',
      TraceState: 'b',
      Timestamp: BigInt(goodSpan.startTimeUnixNano),
    });
    const resources = `{"resourceSpans":[{"resource":{"attributes":[]},"scopeSpans":[{"spans":[${JSON.stringify(goodSpan)}]}],"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"late"}}]}}]}`;
    expect(onlyRow(encodeJson(resources))['ServiceName']).toBe('late');
  });

  it('takes the last value of a repeated name, in its place', () => {
    const rowOf = (value: string) =>
      onlyRow(
        encodeJson(
          JSON.stringify(requestOf({ ...goodSpan, attributes: attributes({ k: 'V' }) })).replace(
            '"V"',
            value,
          ),
        ),
      )['SpanAttributes'];
    expect(rowOf('{"stringValue":"a","intValue":5,"stringValue":"b"}')).toEqual([['k', 'b']]);
    expect(rowOf('{"intValue":1,"int_value":2,"intValue":3}')).toEqual([['k', '3']]);
    // A span whose earlier value is no array is read all the same.
    const text = JSON.stringify(requestOf(goodSpan)).replace('"spans":[', '"spans":5, "spans" : [');
    const encoded = encodeJson(text);
    expect(onlyRow(encoded)['SpanName']).toBe('GET /');
    expect(encoded.leniencies).toEqual(new Map([['duplicate_key', 1]]));
  });

  it('takes names that come twice as deep as others', () => {
    const deep = `"x":${'['.repeat(9000)}${']'.repeat(9000)}`;
    expect(encodeJson(`{"resourceSpans":[],"resourceSpans":[],${deep}}`)).toMatchObject({ items: 0 });
  });

  // A body may be 64 MiB, and three times as long once its wrong bytes are replaced.
  it('takes names that come twice in a body of more than 64 MiB, also within one another', () => {
    const inner = '"n":{"a":1,"a":[2],"b":3},"name":"first","name":"second"';
    const span = JSON.stringify({ ...goodSpan, name: 'N', x: 'X' })
      .replace('"name":"N"', inner)
      .replace('"x":"X"', `"n":{"a":0},"x":"${'x'.repeat(2 ** 26)}"`);
    const body = Buffer.from(`{"x":1,"resourceSpans":[{"scopeSpans":[{"spans":[${span}]}]}],"x":"é"}`);
    const encoded = encodeJson(body);
    expect(onlyRow(encoded)['SpanName']).toBe('second');
    expect(encoded.leniencies).toEqual(new Map([['duplicate_key', 1]]));
  });

  it('keeps numbers exact where it has to settle names that come twice', () => {
    const text = JSON.stringify(requestOf({ ...goodSpan, startTimeUnixNano: 'T', name: 'N' }))
      .replace('"T"', nanosAt(-5, 1))
      .replace('"name":"N"', '"name":"a","name":"b"')
      .replace(goodSpan.endTimeUnixNano, nanosAt(0));
    expect(onlyRow(encodeJson(text))).toMatchObject({ SpanName: 'b', Timestamp: BigInt(nanosAt(-5, 1)) });
  });

  const kinds: [Leniency, string | Uint8Array][] = [
    ['snake_case', JSON.stringify(requestOf({ ...goodSpan, trace_state: 'x' }))],
    ['enum_name', JSON.stringify(requestOf({ ...goodSpan, kind: 'SPAN_KIND_CLIENT' }))],
    ['enum_unknown', JSON.stringify(requestOf({ ...goodSpan, kind: 99 }))],
    [
      'number_64',
      JSON.stringify(requestOf({ ...goodSpan, endTimeUnixNano: 'T' })).replace('"T"', nanosAt(0)),
    ],
    [
      'low_high',
      JSON.stringify(
        requestOf({ ...goodSpan, endTimeUnixNano: { low: 0, high: Number(BigInt(nanosAt(0)) >> 32n) + 1 } }),
      ),
    ],
    [
      'int_out_of_range',
      JSON.stringify(requestOf({ ...goodSpan, attributes: attributes({ k: { intValue: 1e20 } }) })),
    ],
    ['duplicate_key', JSON.stringify(requestOf({ ...goodSpan, attributes: [{ key: 'k' }, { key: 'k' }] }))],
    ['zero_parent_span_id', JSON.stringify(requestOf({ ...goodSpan, parentSpanId: '0'.repeat(16) }))],
    ['invalid_utf8', Buffer.from(JSON.stringify(requestOf({ ...goodSpan, name: '\u00ff' })), 'latin1')],
  ];

  it.each(kinds)('counts %s', (kind, body) => {
    const encoded = encodeJson(body);
    expect(Object.fromEntries(encoded.leniencies)).toEqual({ [kind]: 1 });
    expect(encoded.accepted).toBe(1);
  });

  it('has a case here for every leniency', () => {
    // Of log records alone: logs.test.ts.
    const ofSpans = leniencyKinds.filter(
      (kind) => kind !== 'record_id_invalid' && kind !== 'exemplar_id_invalid',
    );
    expect(kinds.map(([kind]) => kind).toSorted()).toEqual(ofSpans.toSorted());
  });

  it('stores U+FFFD for bytes that are not UTF-8 and for half a character', () => {
    const latin = Buffer.from(JSON.stringify(requestOf({ ...goodSpan, name: 'caf\u00e9' })), 'latin1');
    expect(onlyRow(encodeJson(latin))['SpanName']).toBe('caf\ufffd');
    const half = JSON.stringify(requestOf({ ...goodSpan, name: 'N' })).replace(
      '"N"',
      '"\\ud83d-\\ude00-\\ud83d\\ude00"',
    );
    expect(onlyRow(encodeJson(half))['SpanName']).toBe('\ufffd-\ufffd-😀');
    const edges = half.replace('\\ud83d-', '\\ud800\\udc00\\udbff\\udfff\\ud800\\ud800-');
    expect(onlyRow(encodeJson(edges))['SpanName']).toBe('\u{10000}\u{10ffff}\ufffd\ufffd-\ufffd-😀');
  });
});

describe('a JSON body that is not one of OTLP', () => {
  const malformed: [what: string, body: string][] = [
    ['nothing', ''],
    ['white space', ' \n'],
    ['an array', '[]'],
    ['null', 'null'],
    ['a string', '"x"'],
    ['resourceSpans that are an object', '{"resourceSpans":{}}'],
    ['a resource that is no object', '{"resourceSpans":[{"resource":[]}]}'],
    ['resource spans that are null', '{"resourceSpans":[null]}'],
    ['scopeSpans that are a string', '{"resourceSpans":[{"scopeSpans":"x"}]}'],
    ['spans that are an object', '{"resourceSpans":[{"scopeSpans":[{"spans":{}}]}]}'],
    ['a scope that is a string', '{"resourceSpans":[{"scopeSpans":[{"scope":"x","spans":[]}]}]}'],
    ['a scope with a number for a name', '{"resourceSpans":[{"scopeSpans":[{"scope":{"name":1}}]}]}'],
    ['something after the end', '{}x'],
    ['a second body', '{}{}'],
    ['nested ten thousand deep', `{"x":${'['.repeat(20_000)}`],
    [
      'a name that comes twice and nested ten thousand deep',
      `{"resourceSpans":[],"resourceSpans":[],"x":${'['.repeat(20_000)}${']'.repeat(20_000)}}`,
    ],
    ['a name that comes twice and does not end', '{"resourceSpans":[],"resourceSpans":['],
  ];

  it.each(malformed)('is malformed when it is %s', (_, body) => {
    expect(() => encodeJson(body)).toThrow(MalformedBody);
    // The owner is determined first, and of bytes without an owner nothing more is read.
    expect(jsonTraces.collectTokens(Buffer.from(`${body}\\u`)).filter(Boolean)).toEqual([]);
  });

  it.each([
    ['{}', []],
    ['{"resourceSpans":[]}', []],
    ['{"resourceSpans":[{"scopeSpans":[{"spans":[]}]}]}', []],
    ['{"resource_spans":[],"spans":[1],"resourcespans":{}}', ['spans', 'resourcespans']],
    [`{"${'x'.repeat(200)}":1}`, [`${'x'.repeat(80)}…`]],
  ])('holds no span and names the unknown keys: %s', (body, keys) => {
    expect(encodeJson(body)).toMatchObject({ items: 0, runs: [], unknownTopLevelKeys: keys });
  });

  it('names no unknown keys beside spans', () => {
    expect(encodeJson({ ...requestOf(goodSpan), extra: 1 }).unknownTopLevelKeys).toEqual([]);
  });

  const outcome = (read: () => unknown): 'read' | 'malformed' => {
    try {
      read();
      return 'read';
    } catch (error) {
      if (error instanceof MalformedBody || error instanceof SyntaxError) return 'malformed';
      throw error;
    }
  };

  // Skipped parts must be valid JSON too, and JSON.parse is the reference.
  it('is malformed exactly where JSON.parse refuses it', () => {
    const grammar = trickyText('{}[]:,"\\u0019-+.eEtrufalsn \t\n', 30);
    always(
      fc.property(grammar, (text) => {
        const body = `{"x":${text}}`;
        expect(outcome(() => encodeJson(body))).toBe(outcome(() => JSON.parse(body)));
      }),
      5000,
    );
  });

  it('is malformed wherever it breaks off', () => {
    const span = {
      ...goodSpan,
      attributes: attributes({
        ключ: { stringValue: '\n' },
        b: { arrayValue: { values: [{ intValue: '5' }] } },
      }),
    };
    const body = Buffer.from(JSON.stringify(requestOf(span), undefined, ' '));
    expect(encodeJson(body).accepted).toBe(1);
    for (let length = 0; length < body.length; length++)
      expect(() => encodeJson(body.subarray(0, length))).toThrow(MalformedBody);
  });

  it('is read or malformed, for any bytes', () => {
    const body = Buffer.from(
      JSON.stringify(
        requestOf({ ...goodSpan, attributes: attributes({ a: { stringValue: 'b' } }), status: {} }),
      ),
    );
    always(
      fc.property(fc.nat(body.length - 1), fc.integer({ min: 0, max: 255 }), (at, byte) => {
        const changed = Buffer.from(body);
        changed[at] = byte;
        const result = outcome(() => encodeJson(changed));
        if (outcome(() => JSON.parse(changed.toString('utf8'))) === 'malformed')
          expect(result).toBe('malformed');
      }),
      3000,
    );
  });

  it('does not change the bytes it is given', () => {
    const body = Buffer.from(JSON.stringify(requestOf({ ...goodSpan, name: 'a\n😀' })));
    const copy = Buffer.from(body);
    jsonTraces.encode(body, contextWith());
    expect(body.equals(copy)).toBe(true);
  });
});

describe('a skipped value', () => {
  const around = (value: string): Buffer =>
    Buffer.from(`{"other":${value},"resourceSpans":${JSON.stringify(requestOf(goodSpan).resourceSpans)}}`);
  const accepted = (value: string): number => jsonTraces.encode(around(value), contextWith({})).accepted;
  /** Objects and arrays within one another, in turn. */
  const nested = (depth: number): string => `${'[{"a":'.repeat(depth / 2)}0${'}]'.repeat(depth / 2)}`;

  it('may be nested 10,000 deep, and no deeper', () => {
    expect(accepted(nested(10_000))).toBe(1);
    expect(() => accepted(nested(10_002))).toThrow('nested deeper than the limit of 10000');
  });

  it('has to be closed as it was opened', () => {
    for (const broken of ['[{"a":[0}]]', '{"a":[0]]', '[[0]}'])
      expect(() => accepted(broken)).toThrow(MalformedBody);
    // What was left open has no part in the next.
    expect(() => accepted('[{"a":[')).toThrow(MalformedBody);
    expect(accepted('[{"a":[0,{}]},[[]]]')).toBe(1);
  });
});

describe('an escaped text', () => {
  it('equals the result of JSON, halves of characters aside', () => {
    const plain = 'so much that stands between two escapes that it is copied as one';
    const parts =
      String.raw`\u0041 \u00e9 \u6f22 \ud83d\ude00 \n \" \\ \/ \u007f \u0080 \u07ff \u0800 \uffff`.split(' ');
    const written = parts.flatMap((part) => [part, 'a', part, plain, part, part]).join('');
    const body = JSON.stringify(requestOf({ ...goodSpan, name: 'NAME' })).replace('NAME', written);
    const encoded = jsonTraces.encode(Buffer.from(body), contextWith({}));
    expect(rowsOfTraces(encoded)[0]?.['SpanName']).toBe(JSON.parse(`"${written}"`));
  });

  // Room that was asked for at each escape, and a function for each, made escapes of control characters the costliest texts.
  it.each(['\\n', '\\u0001', '\\"a', '\\ud83d\\ude00'])(
    'takes room once for all of its escapes: %s',
    (part) => {
      const body = JSON.stringify(requestOf({ ...goodSpan, name: 'NAME' })).replace(
        'NAME',
        part.repeat(10_000),
      );
      const reserve = vi.spyOn(Scratch.prototype, 'reserve');
      const encoded = jsonTraces.encode(Buffer.from(body), contextWith({}));
      expect(reserve.mock.calls.length).toBeLessThan(100);
      reserve.mockRestore();
      expect(encoded.accepted).toBe(1);
    },
  );

  it.each(['\\', '\\x', '\\n\\u12g4', '\\u12', '\\n\u0001', '\\n\\'])(
    'is refused where an escape is none: %j',
    (part) => {
      const body = JSON.stringify(requestOf({ ...goodSpan, name: 'NAME' }));
      const [before = ''] = body.split('NAME');
      for (const broken of [body.replace('NAME', part), before + part])
        expect(() => jsonTraces.encode(Buffer.from(broken), contextWith({}))).toThrow(MalformedBody);
    },
  );
});

describe('the tokens of a body', () => {
  it('are listed up to the place where the JSON is malformed, also behind an attribute with a repeated member', () => {
    const token = '{"key":"mon.data.token","value":{"stringValue":"0123456789abcdef0123456789abcdef"}}';
    const resource = (attributes: string) => `{"resource":{"attributes":[${attributes}]}}`;
    const body = `{"resourceSpans":[${resource(token)},${resource('{"key":"a","key":"b"}')},0 0]}`;
    const collected = jsonTraces.collectTokens(Buffer.from(body));
    expect(collected.filter(Boolean)).toEqual(['0123456789abcdef0123456789abcdef']);
  });

  // Its items are of the application of the header, without which two of them could share an identity.
  it.each([
    ['no resource', ''],
    ['null', '"resource":null,'],
    ['an empty one', '"resource":{},'],
    ['no attributes', '"resource":{"attributes":null},'],
    ['none after one with a token', `"resource":{"attributes":[TOKEN]},"resource":null,`],
    ['none after attributes with a token', `"resource":{"attributes":[TOKEN],"attributes":[]},`],
    [
      'no token before an attribute with a repeated member',
      '"resource":{"attributes":[{"key":"a","key":"b"}]},',
    ],
  ])('tell that a resource may have none, of %s', (_, resource) => {
    const token = '{"key":"mon.data.token","value":{"stringValue":"a"}}';
    const entry = `{${resource.replaceAll('TOKEN', token)}"scopeSpans":[]}`;
    const body = `{"resourceSpans":[{"resource":{"attributes":[${token}]}},${entry}]}`;
    expect(new Set(jsonTraces.collectTokens(Buffer.from(body)))).toEqual(new Set(['a', undefined]));
    // Too large to be settled.
    const large = body.replace('{', `{"x":"${'x'.repeat(300_000)}",`);
    expect(new Set(jsonTraces.collectTokens(Buffer.from(large)))).toEqual(new Set(['a', undefined]));
  });
});
