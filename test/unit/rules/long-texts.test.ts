import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { showBytes } from '../../../src/dead-letters/preview.ts';
import { parseTrustedProxies } from '../../../src/http/client-address.ts';
import { isNormalTarget } from '../../../src/http/request-target.ts';
import { newSender } from '../../../src/ingress/line.ts';
import { outcomeMessage } from '../../../src/ingress/otlp/outcome-message.ts';
import { readerRefusal } from '../../../src/ingress/otlp/refusal.ts';
import { partialReply } from '../../../src/ingress/otlp/reply.ts';
import { recordItems, sampleItems, sampleRefusedOtlp } from '../../../src/ingress/otlp/samples.ts';
import { otlpSignals } from '../../../src/ingress/otlp/signals.ts';
import { encodePush } from '../../../src/ingress/push/encode.ts';
import { samplePoints, sampleRefusedPush } from '../../../src/ingress/push/samples.ts';
import { createRefusalRecorder } from '../../../src/ingress/refusal-recorder.ts';
import { Refused, refusalOf } from '../../../src/ingress/refused.ts';
import { createSenderNames } from '../../../src/ingress/sender.ts';
import { redact } from '../../../src/metadata/audit/entry.ts';
import { parseInput, toProblem } from '../../../src/metadata/problem.ts';
import { listQuerySchema } from '../../../src/metadata/records/listing.ts';
import {
  dataSourceRequestSchema,
  reportRequestSchema,
  resultTableRequestSchema,
} from '../../../src/metadata/records/requests.ts';
import { dataIdOfTableId } from '../../../src/metadata/records/values.ts';
import { maskDocument } from '../../../src/metadata/refresh/document.ts';
import { millisOfText } from '../../../src/model/span-time.ts';
import { bearerToken, patternTextMax } from '../../../src/model/text-forms.ts';
import { createRedaction } from '../../../src/outcomes/redaction.ts';
import { createRefusals } from '../../../src/outcomes/refusals.ts';
import { createSamples } from '../../../src/outcomes/samples.ts';
import { jsonTraces } from '../../../src/rules/spans/json-traces.ts';
import { protobufTraces } from '../../../src/rules/spans/protobuf-traces.ts';
import { quoteIdentifier } from '../../../src/stores/questdb/sql.ts';
import { readBrokenTable, readRefusal } from '../../../src/stores/questdb/writer.ts';
import { createIngressMetrics } from '../../../src/telemetry/ingress-metrics.ts';
import { looksLikeToken } from '../../../src/transfer/samples.ts';
import { escapeTag, quoteText, uidOfRow } from '../../../src/wire/line-protocol.ts';
import { MalformedBody } from '../../../src/wire/otlp/types.ts';
import { isBase64, isDecimalNumber } from '../../../src/wire/otlp/value-forms.ts';
import { encodeOtlpProtobuf } from '../../support/otlp/protobuf.ts';
import { contextWith, goodSpan, requestOf } from '../../support/otlp/trace-source.ts';
import { longestLookedThrough } from '../../support/patterns.ts';
import { always, trickyText } from '../../support/properties.ts';
import { contextWith as pushContextWith, sourceWith } from '../../support/push/source.ts';

/** What makes an expression without a bound go on, over and over, and ends so that it fails. */
const hostile: readonly (readonly [string, (length: number) => string])[] = [
  ['letters, a blank and an ellipsis', (length) => `${'a'.repeat(length)} …`],
  ['letters and an ellipsis', (length) => `${'a'.repeat(length)}…`],
  ['digits', (length) => '1'.repeat(length)],
  ['digits and a letter', (length) => `${'1'.repeat(length)}x`],
  ['hexadecimal digits', (length) => '0123456789abcdef'.repeat(length / 16)],
  ['names of secrets', (length) => 'token'.repeat(length / 5)],
  ['a name of a secret and blanks', (length) => `token${' '.repeat(length)}`],
  ['schemes', (length) => 'bearer '.repeat(length / 7)],
  ['quotes', (length) => '"'.repeat(length)],
  ['backslashes', (length) => '\\'.repeat(length)],
  ['blanks', (length) => ' '.repeat(length)],
  ['line protocol', (length) => ' a="\\"'.repeat(length / 6)],
  ['got', (length) => 'got "'.repeat(length / 5)],
  ['dots', (length) => '.'.repeat(length)],
  ['equals signs', (length) => '='.repeat(length)],
  ['ellipses', (length) => '…'.repeat(length)],
];

const request = (text: string): IncomingMessage => {
  const socket = new Socket();
  Object.defineProperty(socket, 'remoteAddress', { value: '127.0.0.1' });
  const incoming = new IncomingMessage(socket);
  Object.assign(incoming.headers, {
    'user-agent': text,
    'x-forwarded-for': text,
    authorization: `Bearer ${text}`,
    host: text,
  });
  return incoming;
};

const { traces } = otlpSignals;

const recorderOf = (receiver: 'push' | 'otlp') => {
  const clock = { ms: 0 };
  const proxies = parseTrustedProxies('127.0.0.1');
  if ('wrong' in proxies) throw new Error(proxies.wrong);
  const recorder = createRefusalRecorder(receiver, receiver === 'push' ? 'metrics' : 'traces', {
    metrics: createIngressMetrics(),
    refusals: createRefusals({ now: () => clock.ms }),
    samples: createSamples({
      now: () => clock.ms,
      redaction: createRedaction(looksLikeToken),
      onLost: () => {},
    }),
    trustedProxies: proxies.proxies,
  });
  return {
    recorder,
    /** The few samples of a minute are wanted again. */
    next: (): void => {
      clock.ms += 60_000;
    },
  };
};

const push = (text: string): void => {
  const { recorder, next } = recorderOf('push');
  const point = { metrics: { a: 1 }, target: 't', timestamp: 0 };
  const points: unknown[] = [
    { ...point, target: text },
    { ...point, target: `${text}\u0000` },
    { ...point, timestamp: text },
    { ...point, metrics: { a: text } },
    { ...point, metrics: { [text]: 1 } },
    { ...point, metrics: { [`b.${text}`]: text } },
    { ...point, metrics: text },
    { ...point, dimension: { a: text } },
    { ...point, dimension: { a: `${text}\u0000` } },
    { ...point, dimension: { [text]: text } },
    { ...point, dimension: { a: { [text]: text } } },
    { ...point, dimension: text },
    { [text]: text },
    text,
  ];
  for (const layout of ['wide', 'narrow'] as const) {
    for (const data of points) {
      const body = Buffer.from(
        JSON.stringify({ data_id: sourceWith(layout).dataId, access_token: text, data: [data] }),
      );
      const source = sourceWith(layout);
      const { dataId } = source;
      const pair = { dataId, token: text };
      const encoded = encodePush(body, {
        ...pushContextWith(source),
        asBytes: false,
        pair,
        table: source,
        pointsMax: 10,
        elementsMax: 1_000_000,
      });
      if (encoded.kind !== 'encoded') throw new Error(encoded.reason);
      const sender = { ...newSender(request(text)), pair, secrets: [text], items: 1, bytes: body };
      next();
      samplePoints(recorder, { ...sender, owner: dataId }, encoded);
      sampleRefusedPush(recorder, { ...sender, owner: dataId }, new Refused('body_not_json', text));
      sampleRefusedPush(recorder, sender, new Refused('body_not_json', text));
    }
  }
};

const otlpRequests = (text: string): object[] => {
  const values = [
    ...['stringValue', 'boolValue', 'intValue', 'doubleValue', 'bytesValue'].map((kind) => ({
      [kind]: text,
    })),
    { arrayValue: { values: [{ stringValue: text }, { bytesValue: text }] } },
    { kvlistValue: { values: [{ key: text, value: { doubleValue: text } }] } },
  ];
  const spans = [
    ...[
      'traceId',
      'spanId',
      'parentSpanId',
      'name',
      'kind',
      'startTimeUnixNano',
      'endTimeUnixNano',
      'traceState',
    ].map((field) => ({ ...goodSpan, [field]: text })),
    ...values.map((value) => ({ ...goodSpan, attributes: [{ key: 'k', value }] })),
    { ...goodSpan, attributes: [{ key: text, value: { stringValue: text } }] },
    { ...goodSpan, status: { code: text, message: text } },
    { ...goodSpan, events: [{ name: text, timeUnixNano: text }] },
    { ...goodSpan, links: [{ traceId: text, spanId: text }] },
    { ...goodSpan, [text]: text, traceId: text, name: text, attributes: [{ key: text, value: text }] },
    text,
  ];
  const attribute = (key: string) => ({ attributes: [{ key, value: { stringValue: text } }] });
  return [
    ...spans.map((span) => requestOf(span)),
    { resourceSpans: [{ resource: attribute('mon.data.token'), scopeSpans: [{ spans: [goodSpan] }] }] },
    { resourceSpans: [{ resource: attribute('telemetry.sdk.name'), scopeSpans: [{ spans: [text] }] }] },
    { resourceSpans: [{ [text]: text }] },
    { [text]: text },
  ];
};

const isDigits = (text: string): boolean =>
  [...text].every((character) => character >= '0' && character <= '9');

/** Requests with the text as a number, where it is one. */
const bigNumbers = (text: string): string[] =>
  !isDigits(text)
    ? []
    : ['intValue', 'doubleValue'].map((kind) =>
        JSON.stringify(requestOf({ ...goodSpan, attributes: [{ key: 'k', value: 'here' }] })).replace(
          '"here"',
          `{"${kind}":${text}}`,
        ),
      );

const otlp = (text: string): void => {
  const { recorder, next } = recorderOf('otlp');
  const { nameOf } = createSenderNames(looksLikeToken);
  const bodies = [
    ...otlpRequests(text).map((each) => ({ reader: jsonTraces, bytes: Buffer.from(JSON.stringify(each)) })),
    ...bigNumbers(text).map((each) => ({ reader: jsonTraces, bytes: Buffer.from(each) })),
    {
      reader: protobufTraces,
      bytes: encodeOtlpProtobuf(requestOf({ ...goodSpan, name: text, endTimeUnixNano: '1' })),
    },
    { reader: jsonTraces, bytes: Buffer.from(text) },
    { reader: protobufTraces, bytes: Buffer.from(text) },
  ];
  for (const { reader, bytes } of bodies) {
    const sender = {
      ...newSender(request(text)),
      owner: 12,
      isKnown: true,
      sdk: text,
      secrets: [text],
    };
    next();
    try {
      reader.collectTokens(bytes);
      const encoded = reader.encode(bytes, contextWith());
      sampleItems(recorder, sender, encoded);
      recordItems(recorder, encoded, 0);
      const { rejected, message } = outcomeMessage(traces, encoded);
      partialReply(traces, 'json', rejected, `${message}${text}`);
      nameOf(encoded.sdk, text);
    } catch (error) {
      if (!(error instanceof MalformedBody)) throw error;
      sampleRefusedOtlp(recorder, sender, refusalOf(readerRefusal(traces, error, 'json', bytes)));
    }
    nameOf(text, undefined);
    nameOf('', text);
  }
};

const refusedBy = (check: () => unknown): void => {
  try {
    check();
  } catch (error) {
    toProblem(error);
  }
};

const adminApi = (text: string): void => {
  const fields = [
    'name',
    'desc',
    'description',
    'data_label',
    'space_uid',
    'operator',
    'source_system',
    'scenario',
  ];
  for (const field of fields)
    refusedBy(() => parseInput(reportRequestSchema, { mon_biz_id: 2, name: 'a', [field]: text }));
  for (const data_name of [text, `2_custom_time_series_${text}`])
    refusedBy(() => parseInput(dataSourceRequestSchema, { data_name, custom_label: text }));
  refusedBy(() =>
    parseInput(resultTableRequestSchema, { mon_data_id: 1, table_id: text, table_name_zh: text }),
  );
  refusedBy(() => parseInput(reportRequestSchema, { [text]: text }));
  refusedBy(() => parseInput(listQuerySchema({ biz: 'integer' }), { biz: text, cursor: text }));
  redact({ [text]: text, name: text, token: text, list: [text] });
  maskDocument(text, 4);
  dataIdOfTableId(text);
  bearerToken(`Bearer ${text}`);
  isNormalTarget(`/${text}`);
  refusedBy(() => quoteIdentifier(text));
};

const letterOf = (text: string) => ({
  sequence: 1,
  at: 1,
  keptAt: 1,
  identity: 'a',
  header: {
    version: 1,
    reason: 'row_refused',
    error: text,
    stream: 'METRICS',
    streamSequence: 1,
    subject: 'metrics.0',
    redrive: 0,
    at: 1,
  },
  bytes: Buffer.from(text),
});

const stores = (text: string): void => {
  escapeTag(text);
  quoteText(text);
  uidOfRow(`t,target=${text} a=1,uid=5i 1\n`);
  millisOfText(text);
  readRefusal(JSON.stringify({ message: `column: ${text}`, line: 1 }));
  readRefusal(`column: ${text}`);
  readBrokenTable(JSON.stringify({ message: `possible corruption in transaction metadata [table=${text}` }));
  for (const shown of [text, JSON.stringify({ [text]: text }), `t,${text}=a a="${text}`])
    showBytes(letterOf(shown));
};

const paths = { push, otlp, 'the admin API': adminApi, 'the stores': stores };

describe('no regular expression reads more than 2 KiB of untrusted text', () => {
  it.each(
    Object.entries(paths).flatMap(([path, run]) =>
      hostile.map(([name, make]) => [path, name, run, make] as const),
    ),
  )('on the path of %s, of %s', (_, __, run, make) => {
    const { length, pattern } = longestLookedThrough(() => run(make(20_000)));
    expect(length, pattern).toBeLessThanOrEqual(patternTextMax);
  });
});

/** Milliseconds of processor time. */
const cost = (run: () => unknown): number => {
  const before = process.threadCpuUsage();
  run();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
};

// Any body of a sender is validated and sampled in a moment: 40 KB of a word and an ellipsis once cost half a minute.
describe('the redaction of an example', () => {
  it.each(hostile)('costs the same for 20 KB and for 16 MB of %s', (_, make) => {
    const { text, json } = createRedaction(looksLikeToken);
    for (const length of [20_000, 16_000_000]) {
      const given = make(length);
      const secrets = [given, 'a'.repeat(5_000), 'token'.repeat(400)];
      // Some of it for making the text one piece. What looks through it all takes minutes.
      const spent = cost(() => {
        text(given, 1024, secrets);
        json({ a: given, [given]: [given, { b: given }] }, 1024, secrets);
      });
      expect(spent, `${length} characters`).toBeLessThan(400);
    }
  });
});

describe('a text that is read by hand', () => {
  const text = trickyText('aZ09+/-_=.eE \\",\n\r');

  it('is base64 where the expression matched', () => {
    always(
      fc.property(fc.oneof(text, fc.base64String()), (given) => {
        const { length } = given.replaceAll('=', '');
        expect(isBase64(given)).toBe(/^[A-Za-z0-9+/_-]*={0,2}$/.test(given) && length % 4 !== 1);
      }),
      2000,
    );
  });

  it('is a number where the expression matched', () => {
    const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map(String);
    always(
      fc.property(fc.oneof(text, number), (given) => {
        expect(isDecimalNumber(given)).toBe(/^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(given));
      }),
      2000,
    );
  });

  it('is escaped in pieces as it is in one', () => {
    always(
      fc.property(fc.array(text, { maxLength: 40 }), fc.integer({ min: 0, max: 5_000 }), (parts, length) => {
        const given = parts.join('x'.repeat(length));
        expect(escapeTag(given)).toBe(given.replace(/[ ,=\\\n\r]/g, '\\$&'));
        expect(quoteText(given)).toBe(`"${given.replace(/["\\]/g, '\\$&')}"`);
      }),
      200,
    );
  });

  it('is masked in a row as the expression did', () => {
    const pattern = /([, ])([^,= \n]*)=("(?:\\.|[^"\\])*"|(?:\\.|[^, \n\\])*)/g;
    const row = fc
      .array(fc.oneof(text, fc.constantFrom('token', 'host', ',', ' ', '=', '="', '"', '\\"', '\\\n', '\\')))
      .map((parts) => `t${parts.join('').toWellFormed().replaceAll('\u0000', '').replaceAll('\uFFFD', '')}`);
    always(
      fc.property(row, (given) => {
        const masked = given.replace(pattern, (all, before: string, name: string) =>
          /token/i.test(name) ? `${before}${name}=********` : all,
        );
        expect(showBytes(letterOf(given)).text).toBe(masked);
      }),
      3000,
    );
  });
});
