import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectBus } from '../../src/bus/connection.ts';
import { contentTypes, encode, encodings, partialOf, sendRaw, statusOf } from '../support/otlp-client.ts';
import type { OtlpAttribute, OtlpRequest } from '../support/otlp-protobuf.ts';
import { compressors, encodings as contentEncodings } from '../support/push-replies.ts';
import type { Application } from '../support/stack.ts';
import {
  rejectedCases,
  requestOf,
  second,
  spanAt,
  timeCases,
  wholeRequest,
  wholeRow,
} from '../support/trace-cases.ts';
import { spanAgeSecondsMax, startTraceStack, type TraceStack } from '../support/trace-stack.ts';
import { waitFor } from '../support/wait.ts';

let on: TraceStack;
beforeAll(async () => {
  on = await startTraceStack();
});
afterAll(() => on?.stop());

const now = BigInt(Date.now()) * 1_000_000n + 123_456n;

const text = (key: string, stringValue: string): OtlpAttribute => ({ key, value: { stringValue } });
const tokenOf = ({ token }: Application): OtlpAttribute => text('mon.data.token', token);
const noToken = text('mon.data.token', '0'.repeat(32));

const namesOf = async (application: Application): Promise<unknown[]> =>
  (await on.storedSpans(application)).map((row) => row['SpanName']).toSorted();

const droppedInTransfer = (reason: string): Promise<number> =>
  on.counter('transfer', 'tidemark_transfer_items_dropped_total', { pipeline: 'traces', reason });
const droppedAtReceiver = (reason: string): Promise<number> =>
  on.counter('ingress', 'tidemark_ingress_items_dropped_total', { pipeline: 'traces', reason });

/** Resources with a span each, named by its index. */
const resourcesOf = (...resources: (readonly OtlpAttribute[])[]): OtlpRequest => ({
  resourceSpans: resources.map((attributes, index) => ({
    resource: { attributes: [...attributes] },
    scopeSpans: [{ spans: [spanAt(now, index)] }],
  })),
});

const disabled = async (): Promise<Application> => {
  const application = await on.application();
  expect((await on.post(application.token, 'json', {})).status).toBe(200);
  const path = `/api/v1/applications/${application.app_id}/disable`;
  expect((await on.stack.api('POST', path, {})).status).toBe(200);
  await waitFor(
    'the application is refused',
    2000,
    async () => (await on.post(application.token, 'json', {})).status === 403,
  );
  return application;
};

describe('a request of spans', () => {
  it('with everything OTLP has arrives whole, and JSON and protobuf make equal rows', async () => {
    const application = await on.application();
    for (const encoding of encodings) {
      const answer = await on.post(application.token, encoding, wholeRequest(now));
      expect([answer.status, answer.headers['content-type'], answer.bytes.toString('latin1')]).toEqual([
        200,
        contentTypes[encoding],
        encoding === 'json' ? '{}' : '',
      ]);
    }
    const row = { ...wholeRow(now), AppId: String(application.app_id), BizId: '2' };
    expect(await on.storedSpans(application)).toEqual([row, row]);
  });

  // Specification 4.2, rules 1 and 2: what a shell writes with and without nanoseconds.
  it('whose start is a literal N is answered 200 with a warning, that span is dropped in transfer and its neighbours are stored', async () => {
    const application = await on.application();
    const before = await droppedInTransfer('timestamp_not_numeric');
    const spans = [0, 1, 2].map((number) => spanAt(now, number));
    const answer = await on.post(
      application.token,
      'json',
      JSON.stringify(
        requestOf(spans.map((span, at) => (at === 1 ? { ...span, startTimeUnixNano: 'N' } : span))),
      ),
    );
    expect(answer.status).toBe(200);
    expect(partialOf('json', answer)).toEqual({
      rejectedSpans: '0',
      errorMessage: expect.stringContaining('timestamp_not_numeric 1'),
    });
    expect(await namesOf(application)).toEqual(['span 0', 'span 2']);
    expect(await droppedInTransfer('timestamp_not_numeric')).toBe(before + 1);
  });

  it.each(encodings)(
    'with seconds followed by nine zeros is stored to the nanosecond (%s)',
    async (encoding) => {
      const application = await on.application();
      const start = (now / second) * second;
      const span = spanAt(start, 0, { endTimeUnixNano: String(start + second) });
      const answer = await on.post(application.token, encoding, requestOf([span]));
      expect(partialOf(encoding, answer)).toBeUndefined();
      expect(await on.storedSpans(application)).toMatchObject([
        { Timestamp: String(start), Duration: String(second) },
      ]);
    },
  );

  it.each(encodings)('over 150 days is stored whole (%s)', async (encoding) => {
    const application = await on.application();
    const starts = Array.from({ length: 150 }, (_, days) => now - BigInt(days) * 86_400n * second);
    const answer = await on.post(
      application.token,
      encoding,
      requestOf(starts.map((start, number) => spanAt(start, number))),
    );
    expect([answer.status, partialOf(encoding, answer)]).toEqual([200, undefined]);
    const rows = await on.storedSpans(application);
    expect(rows.map((row) => [row['SpanName'], row['Timestamp']])).toEqual(
      starts.map((start, number) => [`span ${number}`, String(start)]),
    );
  });

  it('keeps JSON numbers beyond 2^53 exact, wherever they stand', async () => {
    const application = await on.application();
    const body = `{"resourceSpans":[{"scopeSpans":[{"spans":[{
      "traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","name":"n","kind":1,
      "startTimeUnixNano":${now},"endTimeUnixNano":${now + 1n},
      "events":[{"timeUnixNano":${now + 3n},"name":"e"}],
      "attributes":[
        {"key":"odd","value":{"intValue":9007199254740993}},
        {"key":"most","value":{"intValue":9223372036854775807}},
        {"key":"least","value":{"intValue":-9223372036854775808}},
        {"key":"in an array","value":{"arrayValue":{"values":[{"intValue":9007199254740995}]}}},
        {"key":"in a list","value":{"kvlistValue":{"values":[{"key":"k","value":{"intValue":9007199254740997}}]}}}
      ]}]}]}]}`;
    expect((await on.post(application.token, 'json', body)).status).toBe(200);
    expect(await on.storedSpans(application)).toMatchObject([
      {
        Timestamp: String(now),
        Duration: '1',
        'Events.Timestamp': [String(now + 3n)],
        SpanAttributes: {
          odd: '9007199254740993',
          most: '9223372036854775807',
          least: '-9223372036854775808',
          'in an array': '[9007199254740995]',
          'in a list': '{"k":9007199254740997}',
        },
      },
    ]);
  });

  it.each([
    ['application/json; charset=utf-8', 'application/json'],
    ['Application/JSON', 'application/json'],
    ['application/x-protobuf; messageType="x"', 'application/x-protobuf'],
  ] as const)('of the type %s is answered as %s', async (sent, answered) => {
    const application = await on.application();
    const encoding = answered === 'application/json' ? 'json' : 'protobuf';
    const answer = await on.post(application.token, encoding, wholeRequest(now), { 'content-type': sent });
    expect([answer.status, answer.headers['content-type']]).toEqual([200, answered]);
    expect(partialOf(encoding, answer)).toBeUndefined();
    expect(await on.storedSpans(application)).toHaveLength(1);
  });

  it.each(encodings.flatMap((encoding) => contentEncodings.map((how) => [encoding, how] as const)))(
    'in %s compressed with %s is stored as it was',
    async (encoding, how) => {
      const application = await on.application();
      const plain = encode(encoding, wholeRequest(now));
      const answer = await on.post(application.token, encoding, compressors[how](plain), {
        'content-encoding': how,
      });
      expect([answer.status, partialOf(encoding, answer)]).toEqual([200, undefined]);
      expect(await on.storedSpans(application)).toMatchObject([wholeRow(now)]);
    },
  );
});

describe('an empty request', () => {
  const empties = [
    '{}',
    '{"resourceSpans":[]}',
    '{"resourceSpans":null}',
    '{"resourceSpans":[{}]}',
    '{"resourceSpans":[{"resource":{"attributes":[]},"scopeSpans":[]}]}',
    '{"resourceSpans":[{"resource":{},"scopeSpans":[{"scope":{},"spans":[]}]}]}',
  ];

  it.each(empties)('%s is a plain success', async (body) => {
    const answer = await on.post((await on.application()).token, 'json', body);
    expect([answer.status, answer.bytes.toString()]).toEqual([200, '{}']);
  });

  it.each([
    ['no bytes', {}],
    ['an empty resource', { resourceSpans: [{}] }],
    ['an empty scope', { resourceSpans: [{ resource: {}, scopeSpans: [{ scope: {}, spans: [] }] }] }],
  ] as const)('of %s in protobuf is a plain success', async (_, body) => {
    const { token } = await on.application();
    const answer = await on.post(token, 'protobuf', JSON.parse(JSON.stringify(body)));
    expect([answer.status, answer.bytes.length]).toEqual([200, 0]);
  });

  // Senders of another form take a plain success for stored spans.
  it('with unknown keys at its top is warned of them', async () => {
    const { token } = await on.application();
    const answer = await on.post(token, 'json', '{"spans":[{"name":"a"}],"batches":[]}');
    expect(answer.status).toBe(200);
    const partial = partialOf('json', answer);
    expect(partial?.rejectedSpans).toBe('0');
    expect(partial?.errorMessage).toMatch(/spans, batches.*resourceSpans/);
  });

  it('with unknown fields at its top is warned of them in protobuf', async () => {
    const { token } = await on.application();
    const answer = await on.post(token, 'protobuf', Buffer.from([0x3a, 0x01, 0x41]));
    expect(answer.status).toBe(200);
    expect(partialOf('protobuf', answer)).toEqual({
      rejectedSpans: '0',
      errorMessage: expect.stringContaining('7'),
    });
  });

  it('is not warned of when there are spans beside the unknown keys', async () => {
    const application = await on.application();
    const body = JSON.stringify({ ...requestOf([spanAt(now, 0)]), extra: 1 });
    expect((await on.post(application.token, 'json', body)).bytes.toString()).toBe('{}');
    expect(await namesOf(application)).toEqual(['span 0']);
  });
});

describe('a span of bad time', () => {
  const cases = Object.entries(timeCases(now, spanAgeSecondsMax)).flatMap(([reason, list]) =>
    list.flatMap(({ what, start, end, field }) => {
      const one = (encoding: 'json' | 'protobuf') => ({ reason, what, encoding, start, end, field });
      const canBeProtobuf = [start, end].every(
        (time) => time === undefined || (typeof time === 'string' && /^\d{1,20}$/.test(time)),
      );
      return canBeProtobuf ? [one('json'), one('protobuf')] : [one('json')];
    }),
  );

  it.each(cases)(
    '($what in $encoding) is accepted with a warning, dropped in transfer as $reason, and its neighbours are stored',
    async ({ reason, encoding, start, end, field }) => {
      const application = await on.application();
      const counted = await droppedInTransfer(reason);
      const bad = { ...spanAt(now, 1), startTimeUnixNano: start, endTimeUnixNano: end };
      const body = requestOf([spanAt(now, 0), bad, spanAt(now, 2)]);
      const asSent: OtlpRequest = JSON.parse(JSON.stringify(body));
      const answer = await on.post(application.token, encoding, asSent);
      expect(answer.status).toBe(200);
      const partial = partialOf(encoding, answer);
      expect(partial?.rejectedSpans).toBe('0');
      expect(partial?.errorMessage).toContain(`1 of 3 spans were accepted and will be dropped`);
      expect(partial?.errorMessage).toContain(`(${reason} 1)`);
      expect(partial?.errorMessage).toContain(`span 1: ${reason} in ${field}`);
      expect(await namesOf(application)).toEqual(['span 0', 'span 2']);
      expect(await droppedInTransfer(reason)).toBe(counted + 1);
    },
  );

  it('and a bad one only is dropped as well', async () => {
    const application = await on.application();
    const counted = await droppedInTransfer('timestamp_unit_seconds');
    const body = requestOf([spanAt(1_700_000_000n, 0)]);
    expect((await on.post(application.token, 'protobuf', body)).status).toBe(200);
    expect(await on.storedSpans(application)).toEqual([]);
    expect(await droppedInTransfer('timestamp_unit_seconds')).toBe(counted + 1);
  });

  it.each(encodings)('is none at the edges of what is taken (%s)', async (encoding) => {
    const application = await on.application();
    const arrival = BigInt(Date.now()) * 1_000_000n;
    const edges = [
      spanAt(arrival + 3540n * second, 0),
      spanAt(arrival - BigInt(spanAgeSecondsMax - 60) * second, 1),
      spanAt(arrival, 2, { endTimeUnixNano: String(arrival) }),
    ];
    const answer = await on.post(application.token, encoding, requestOf(edges));
    expect(partialOf(encoding, answer)).toBeUndefined();
    expect(await namesOf(application)).toEqual(['span 0', 'span 1', 'span 2']);
  });
});

describe('a span that can never be stored', () => {
  const cases = Object.entries(rejectedCases(now)).flatMap(([reason, list]) =>
    list.flatMap(({ what, span, isJsonOnly }) =>
      (isJsonOnly ? (['json'] as const) : encodings).map((encoding) => ({ reason, what, encoding, span })),
    ),
  );

  it.each(cases)(
    '($what, in $encoding) is rejected as $reason and counted, and its neighbours are stored',
    async ({ reason, encoding, span }) => {
      const application = await on.application();
      const counted = await droppedAtReceiver(reason);
      const body: OtlpRequest = JSON.parse(JSON.stringify(requestOf([spanAt(now, 0), span, spanAt(now, 2)])));
      const answer = await on.post(application.token, encoding, body);
      expect(answer.status).toBe(200);
      const partial = partialOf(encoding, answer);
      expect(partial?.rejectedSpans).toBe('1');
      expect(partial?.errorMessage).toContain(`1 of 3 spans rejected (${reason} 1)`);
      expect(partial?.errorMessage).toContain(`span 1: ${reason}`);
      expect(await namesOf(application)).toEqual(['span 0', 'span 2']);
      expect(await droppedAtReceiver(reason)).toBe(counted + 1);
    },
  );

  it.each(encodings)(
    'among others of its kind alone is answered 200 with all of them rejected (%s)',
    async (encoding) => {
      const application = await on.application();
      const spans = [0, 1].map((number) => spanAt(now, number, { traceId: '0'.repeat(32) }));
      const answer = await on.post(application.token, encoding, requestOf(spans));
      expect([answer.status, partialOf(encoding, answer)?.rejectedSpans]).toEqual([200, '2']);
      expect(await on.storedSpans(application)).toEqual([]);
    },
  );

  it.each(encodings)(
    'is rejected with every span of its resource when that has too many attributes (%s)',
    async (encoding) => {
      const application = await on.application();
      const attributes = Array.from({ length: 129 }, (_, index) => text(`k${index}`, 'v'));
      const answer = await on.post(application.token, encoding, resourcesOf([], attributes));
      const partial = partialOf(encoding, answer);
      expect([partial?.rejectedSpans, partial?.errorMessage]).toEqual([
        '1',
        expect.stringContaining('too_many_attributes 1'),
      ]);
      expect(await namesOf(application)).toEqual(['span 0']);
    },
  );

  it.each(encodings)('says so beside the spans that are dropped for their time (%s)', async (encoding) => {
    const application = await on.application();
    const spans = [spanAt(now, 0), spanAt(now, 1, { spanId: '' }), spanAt(1_700_000_000n, 2)];
    const partial = partialOf(encoding, await on.post(application.token, encoding, requestOf(spans)));
    expect(partial?.rejectedSpans).toBe('1');
    expect(partial?.errorMessage).toMatch(/span_id_invalid 1.*timestamp_unit_seconds 1/);
    expect(await namesOf(application)).toEqual(['span 0']);
  });
});

describe('a kept span', () => {
  it.each(encodings)(
    'loses an event of bad time and a link of bad id, and says so (%s)',
    async (encoding) => {
      const application = await on.application();
      const labels = (reason: string) => ({ pipeline: 'traces', reason });
      const name = 'tidemark_ingress_values_dropped_total';
      const counted = [
        await on.counter('ingress', name, labels('event_time_invalid')),
        await on.counter('ingress', name, labels('link_id_invalid')),
      ];
      const span = spanAt(now, 0, {
        events: [
          { timeUnixNano: '17', name: 'bad' },
          { timeUnixNano: String(now), name: 'good' },
        ],
        links: [
          { traceId: '0'.repeat(32), spanId: 'b'.repeat(16) },
          { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) },
        ],
      });
      const answer = await on.post(application.token, encoding, requestOf([span]));
      expect(partialOf(encoding, answer)).toEqual({
        rejectedSpans: '0',
        errorMessage: expect.stringMatching(/1 events.*1 links/),
      });
      expect(await on.storedSpans(application)).toMatchObject([
        { 'Events.Name': ['good'], 'Links.TraceId': ['a'.repeat(32)] },
      ]);
      expect([
        await on.counter('ingress', name, labels('event_time_invalid')),
        await on.counter('ingress', name, labels('link_id_invalid')),
      ]).toEqual(counted.map((count) => count + 1));
    },
  );

  it.each(encodings)('has a value over 64 KiB cut at a character, and says so (%s)', async (encoding) => {
    const application = await on.application();
    const span = spanAt(now, 0, { attributes: [text('long', `${'x'.repeat(65_535)}値`)] });
    const answer = await on.post(application.token, encoding, requestOf([span]));
    expect(partialOf(encoding, answer)).toEqual({
      rejectedSpans: '0',
      errorMessage: expect.stringContaining('1 values cut'),
    });
    expect(await on.storedSpans(application)).toMatchObject([
      { SpanAttributes: { long: 'x'.repeat(65_535) } },
    ]);
  });
});

describe('a credential', () => {
  it.each([
    ['X-MON-TOKEN', (token: string) => ({ 'x-mon-token': token })],
    ['Authorization: Bearer', (token: string) => ({ authorization: `Bearer ${token}` })],
    ['Authorization: bearer', (token: string) => ({ authorization: `bearer ${token}` })],
    [
      'X-MON-TOKEN beside another authorization',
      (token: string) => ({ 'x-mon-token': token, authorization: 'Bearer x' }),
    ],
  ] as const)('is taken from %s', async (_, headers) => {
    const application = await on.application();
    const answer = await on.post(undefined, 'json', wholeRequest(now), headers(application.token));
    expect(answer.status).toBe(200);
    expect(await on.storedSpans(application)).toHaveLength(1);
  });

  it.each(encodings)(
    'in mon.data.token wins for its resource, with a header and without (%s)',
    async (encoding) => {
      const [first, other] = [await on.application(), await on.application()];
      const body = resourcesOf([tokenOf(other)], []);
      expect((await on.post(first.token, encoding, body)).status).toBe(200);
      expect([await namesOf(first), await namesOf(other)]).toEqual([['span 1'], ['span 0']]);
      const alone = resourcesOf([text('service.name', 'a'), tokenOf(first)]);
      expect((await on.post(undefined, encoding, alone)).status).toBe(200);
      expect(await namesOf(first)).toEqual(['span 0', 'span 1']);
    },
  );

  // A token in a row, a message or a log is a token that many can read.
  it.each(encodings)('in mon.data.token is in no row, no message and no log line (%s)', async (encoding) => {
    const application = await on.application();
    const body: OtlpRequest = {
      resourceSpans: [
        {
          resource: { attributes: [text('service.name', 'a'), tokenOf(application), text('last', 'z')] },
          scopeSpans: [
            { spans: [spanAt(now, 0), spanAt(1_700_000_000n, 1), spanAt(now, 2, { spanId: '' })] },
          ],
        },
      ],
    };
    for (const transfer of on.stack.transfer) transfer.signal('SIGSTOP');
    const bus = await connectBus(on.stack.engines.nats.url, 'test');
    try {
      expect((await on.post(undefined, encoding, body)).status).toBe(200);
      const { streams } = await bus.manager();
      const message = Buffer.from(
        (await streams.getMessage('TRACES', { last_by_subj: 'traces.0' }))?.data ?? [],
      ).toString('latin1');
      expect(message).toContain('span 0');
      expect(message).toContain('span 1');
      expect(message).not.toContain(application.token);
    } finally {
      for (const transfer of on.stack.transfer) transfer.signal('SIGCONT');
      await bus.close();
    }
    const rows = await on.storedSpans(application);
    expect(rows).toMatchObject([{ ResourceAttributes: { 'service.name': 'a', last: 'z' } }]);
    expect(JSON.stringify(rows)).not.toContain(application.token);
    expect(JSON.stringify(rows)).not.toContain('mon.data.token');
    const lines = [...on.stack.ingress, ...on.stack.transfer].flatMap((role) => role.lines).join('\n');
    expect(lines).not.toContain(application.token);
  });

  it.each(encodings)(
    'that is wrong in one resource rejects its spans as token_invalid and no others (%s)',
    async (encoding) => {
      const application = await on.application();
      const counted = await droppedAtReceiver('token_invalid');
      const answer = await on.post(application.token, encoding, resourcesOf([], [noToken], []));
      expect(answer.status).toBe(200);
      const partial = partialOf(encoding, answer);
      expect(partial?.rejectedSpans).toBe('1');
      expect(partial?.errorMessage).toContain('token_invalid 1');
      expect(partial?.errorMessage).not.toContain('0'.repeat(32));
      expect(await namesOf(application)).toEqual(['span 0', 'span 2']);
      expect(await droppedAtReceiver('token_invalid')).toBe(counted + 1);
    },
  );

  it.each(encodings)(
    'of a disabled application in one resource rejects its spans and no others (%s)',
    async (encoding) => {
      const application = await on.application();
      const off = await disabled();
      const counted = await droppedAtReceiver('application_disabled');
      const answer = await on.post(application.token, encoding, resourcesOf([tokenOf(off)], []));
      expect(answer.status).toBe(200);
      const partial = partialOf(encoding, answer);
      expect(partial?.rejectedSpans).toBe('1');
      expect(partial?.errorMessage).toContain('application_disabled 1');
      expect([await namesOf(application), await namesOf(off)]).toEqual([['span 1'], []]);
      expect(await droppedAtReceiver('application_disabled')).toBe(counted + 1);
    },
  );
});

describe('fill_dimensions', () => {
  const proxied = { 'x-forwarded-for': '203.0.113.9' };

  const hostOf = async (application: Application): Promise<unknown> => {
    const [row] = await on.storedSpans(application);
    const attributes: Record<string, string> = JSON.parse(JSON.stringify(row?.['ResourceAttributes'] ?? {}));
    return attributes['net.host.ip'];
  };

  const cases: { what: string; sent: OtlpAttribute[]; headers: Record<string, string>; stored: unknown }[] = [
    { what: 'a missing', sent: [], headers: proxied, stored: '203.0.113.9' },
    { what: 'an empty', sent: [text('net.host.ip', '')], headers: proxied, stored: '203.0.113.9' },
    { what: 'a 0.0.0.0', sent: [text('net.host.ip', '0.0.0.0')], headers: proxied, stored: '203.0.113.9' },
    {
      what: 'a 127.0.0.1',
      sent: [text('net.host.ip', '127.0.0.1')],
      headers: proxied,
      stored: '203.0.113.9',
    },
    { what: 'a real', sent: [text('net.host.ip', '10.1.2.3')], headers: proxied, stored: '10.1.2.3' },
    {
      what: 'an empty (behind two proxies, the first of which is not trusted)',
      sent: [text('net.host.ip', '')],
      headers: { 'x-forwarded-for': '198.51.100.1, 203.0.113.9, 127.0.0.1' },
      stored: '203.0.113.9',
    },
    {
      what: 'an empty (and the client is a placeholder too)',
      sent: [text('net.host.ip', '')],
      headers: {},
      stored: '',
    },
    { what: 'a missing (and the client is a placeholder too)', sent: [], headers: {}, stored: undefined },
  ];

  it.each(encodings.flatMap((encoding) => cases.map((each) => ({ encoding, ...each }))))(
    'makes of $what net.host.ip $stored ($encoding)',
    async ({ encoding, sent, headers, stored }) => {
      const application = await on.application();
      await on.post(application.token, encoding, resourcesOf(sent), headers);
      expect(await hostOf(application)).toBe(stored);
    },
  );

  it.each(encodings)(
    'is off where the application says so, from its creation or later (%s)',
    async (encoding) => {
      const sent = resourcesOf([text('net.host.ip', '')]);
      const off = await on.application({ fill_dimensions: false });
      await on.post(off.token, encoding, sent, proxied);
      expect(await hostOf(off)).toBe('');

      const later = await on.application({ deduplicate: false });
      const path = `/api/v1/applications/${later.app_id}/policy`;
      expect((await on.stack.api('PATCH', path, { fill_dimensions: false })).status).toBe(200);
      await waitFor('the policy to be followed', 5000, async () => {
        await on.post(later.token, encoding, sent, proxied);
        const rows = await on.storedSpans(later);
        return JSON.stringify(rows).includes('"net.host.ip":""');
      });
    },
  );
});

describe('a refused request', () => {
  const mebi = 2 ** 20;
  const codes = { 400: 3, 401: 16, 403: 7, 404: 5, 405: 12, 413: 3, 415: 3, 429: 8 } as const;

  type Refusal = {
    what: string;
    status: keyof typeof codes;
    /** How it differs from a request that would be taken. */
    change: (application: Application, encoding: 'json' | 'protobuf') => Promise<Change> | Change;
  };
  type Change = {
    token?: string | undefined;
    method?: 'GET' | 'PUT' | 'DELETE';
    path?: string;
    headers?: Record<string, string>;
    body?: OtlpRequest | Buffer;
  };

  const refusals: Refusal[] = [
    { what: 'no token', status: 401, change: () => ({ token: undefined }) },
    { what: 'a wrong token', status: 401, change: () => ({ token: 'f'.repeat(32) }) },
    {
      what: 'a wrong bearer token',
      status: 401,
      change: () => ({ token: undefined, headers: { authorization: `Bearer ${'f'.repeat(32)}` } }),
    },
    {
      what: 'another scheme of authorization',
      status: 401,
      change: ({ token }) => ({ token: undefined, headers: { authorization: `Basic ${token}` } }),
    },
    {
      what: 'a wrong token in every resource, for it wins',
      status: 401,
      change: () => ({ body: resourcesOf([noToken], [noToken]) }),
    },
    { what: 'an empty body and no token', status: 401, change: () => ({ token: undefined, body: {} }) },
    {
      what: 'a disabled application',
      status: 403,
      change: async () => ({ token: (await disabled()).token }),
    },
    {
      what: 'a disabled application in every resource',
      status: 403,
      change: async () => ({ body: resourcesOf([tokenOf(await disabled())]) }),
    },
    { what: 'another path', status: 404, change: () => ({ path: '/v1/metrics' }) },
    { what: 'a path with a slash at its end', status: 404, change: () => ({ path: '/v1/traces/' }) },
    { what: 'GET', status: 405, change: () => ({ method: 'GET' }) },
    { what: 'PUT', status: 405, change: () => ({ method: 'PUT' }) },
    { what: 'DELETE', status: 405, change: () => ({ method: 'DELETE' }) },
    {
      what: 'more than 64 MiB',
      status: 413,
      change: () => ({ body: Buffer.alloc(64 * mebi + 1, 0x20) }),
    },
    {
      what: 'more than 64 MiB when inflated',
      status: 413,
      change: () => ({
        body: gzipSync(Buffer.alloc(64 * mebi + 1, 0x20)),
        headers: { 'content-encoding': 'gzip' },
      }),
    },
    {
      what: 'more than 50,000 spans',
      status: 413,
      change: () => ({ body: requestOf(Array.from({ length: 50_001 }, () => ({}))) }),
    },
    {
      what: 'an unknown Content-Encoding',
      status: 415,
      change: () => ({ headers: { 'content-encoding': 'br' } }),
    },
    {
      what: 'a body that does not inflate',
      status: 400,
      change: () => ({ headers: { 'content-encoding': 'gzip' } }),
    },
    {
      what: 'a body that ends in the middle',
      status: 400,
      change: (_, encoding) => ({
        body:
          encoding === 'json'
            ? Buffer.from('{"resourceSpans":[{')
            : Buffer.from([0x0a, 0x05, 0x12, 0x09, 0x0a]),
      }),
    },
    {
      what: 'a body of the other encoding',
      status: 400,
      change: (_, encoding) => ({
        body: encoding === 'json' ? Buffer.from([0x0a, 0x00]) : Buffer.from('{"resourceSpans":[]}'),
      }),
    },
    {
      what: 'requests beyond max_rate',
      status: 429,
      change: async () => {
        const { token } = await on.application({ max_rate: 1 });
        expect((await on.post(token, 'json', {})).status).toBe(200);
        return { token };
      },
    },
  ];

  it.each(encodings.flatMap((encoding) => refusals.map((each) => ({ encoding, ...each }))))(
    '($what, $encoding) is answered $status with a google.rpc.Status in its encoding, readable by a browser, and nothing is stored',
    async ({ encoding, status, change }) => {
      const application = await on.application();
      const { token, method, path, headers, body } = {
        token: application.token,
        body: requestOf([spanAt(now, 0)]),
        ...(await change(application, encoding)),
      };

      const bytes = Buffer.isBuffer(body) ? body : encode(encoding, body);
      const answer = await on.client.send({
        ...(method === undefined ? {} : { method }),
        ...(path === undefined ? {} : { path }),
        headers: {
          'content-type': contentTypes[encoding],
          ...(token === undefined ? {} : { 'x-mon-token': token }),
          ...headers,
        },
        ...(method === 'GET' ? {} : { body: bytes }),
      });
      expect([answer.status, answer.headers['content-type']]).toEqual([status, contentTypes[encoding]]);
      expect(statusOf(encoding, answer)).toEqual({
        code: codes[status],
        message: expect.stringMatching(/\w+ \w+/),
      });
      expect(answer.bytes.toString('latin1')).not.toContain(application.token);
      expect(answer.headers['access-control-allow-origin']).toBe('*');
      expect(answer.headers['access-control-expose-headers']).toContain('Retry-After');
      expect(answer.headers['retry-after']).toEqual(status === 429 ? '1' : undefined);
      if (status === 405) expect(answer.headers['allow']).toContain('POST');
      expect(await on.storedSpans(application)).toEqual([]);
    },
  );

  it.each(['text/plain', 'application/grpc', 'multipart/form-data; boundary=x', undefined])(
    'of the type %s is answered 415 in JSON',
    async (contentType) => {
      const { token } = await on.application();
      const answer = await on.client.send({
        headers: {
          'x-mon-token': token,
          ...(contentType === undefined ? {} : { 'content-type': contentType }),
        },
        body: JSON.stringify(wholeRequest(now)),
      });
      expect([answer.status, answer.headers['content-type']]).toEqual([415, 'application/json']);
      expect(statusOf('json', answer)).toEqual({
        code: 3,
        message: expect.stringContaining('application/x-protobuf'),
      });
    },
  );

  it.each([
    '',
    'null',
    '[]',
    '"resourceSpans"',
    '{"resourceSpans":[]} more',
    '{"resourceSpans":{}}',
    '{"resourceSpans":[5]}',
    '{"resourceSpans":[{"scopeSpans":5}]}',
    '{"resourceSpans":[{"scopeSpans":[{"spans":{}}]}]}',
  ])('of the JSON %j is answered 400', async (body) => {
    const answer = await on.post((await on.application()).token, 'json', body);
    expect([answer.status, statusOf('json', answer)]).toEqual([
      400,
      { code: 3, message: expect.any(String) },
    ]);
  });

  // Design section 5: "from whatever layer", also what Node's HTTP refuses itself.
  it.each([
    ['header fields of 20 KB', 431, ['Host: a', `X-Large: ${'x'.repeat(20_000)}`, 'Content-Length: 0']],
    ['a Content-Length that is no number', 400, ['Host: a', 'Content-Length: x']],
    ['no Host', 400, ['Content-Length: 0']],
    ['a Host that is none', 400, ['Host: a b/c', 'Content-Length: 0']],
    ['an unknown expectation', 417, ['Host: a', 'Expect: a-miracle', 'Content-Length: 0']],
  ] as const)(
    '(%s) that is not HTTP is answered %s with a google.rpc.Status, too',
    async (_, status, headers) => {
      const lines = [
        'POST /v1/traces HTTP/1.1',
        'Content-Type: application/json',
        'Connection: close',
        ...headers,
      ];
      const answer = await sendRaw(on.stack.ingress[0]?.ports['otlp'] ?? 0, `${lines.join('\r\n')}\r\n\r\n`);
      const [head = '', body = ''] = answer.split('\r\n\r\n');
      expect(head).toContain(`HTTP/1.1 ${status} `);
      expect(head).toMatch(/^content-type: application\/json$/im);
      expect(JSON.parse(body)).toMatchObject({ message: expect.stringMatching(/\w/) });
    },
  );

  it('within max_rate is told what is left, beyond it when to come again', async () => {
    const { token } = await on.application({ max_rate: 1 });
    const [first, second] = [await on.post(token, 'json', {}), await on.post(token, 'json', {})];
    expect(first.headers).toMatchObject({
      'ratelimit-policy': '"max_rate";q=1;w=1',
      ratelimit: '"max_rate";r=0;t=1',
    });
    expect([second.status, second.headers['retry-after']]).toEqual([429, '1']);
    await waitFor(
      'the request to be taken',
      3000,
      async () => (await on.post(token, 'json', {})).status === 200,
    );
  });
});

describe('a browser', () => {
  it('is allowed by the preflight to send what exporters send', async () => {
    const answer = await on.client.send({
      method: 'OPTIONS',
      headers: {
        origin: 'https://shop.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type,x-mon-token',
      },
    });
    expect([answer.status, answer.bytes.length]).toEqual([204, 0]);
    expect(answer.headers['access-control-allow-origin']).toBe('*');
    expect(answer.headers['access-control-allow-methods']).toContain('POST');
    const allowed = String(answer.headers['access-control-allow-headers']).toLowerCase().split(/, */);
    expect(allowed).toEqual(
      expect.arrayContaining([
        'content-type',
        'content-encoding',
        'authorization',
        'x-mon-token',
        'traceparent',
        'tracestate',
        'baggage',
      ]),
    );
    expect(Number(answer.headers['access-control-max-age'])).toBeGreaterThan(0);
  });

  it.each(encodings)('reads the answer to what was taken, too (%s)', async (encoding) => {
    const { token } = await on.application();
    const answer = await on.post(token, encoding, wholeRequest(now), { origin: 'https://shop.example' });
    expect([answer.status, answer.headers['access-control-allow-origin']]).toEqual([200, '*']);
  });
});
