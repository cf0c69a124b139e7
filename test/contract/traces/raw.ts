import { connect } from 'node:net';
import { beforeAll, describe, expect, it } from 'vitest';
import { contentTypes, encode, encodings, partialOf, statusOf } from '../../support/otlp/client.ts';
import { requestOf, spanAt } from '../../support/otlp/trace-cases.ts';
import { sharedTraceStack, type TraceStack } from '../../support/otlp/trace-stack.ts';

// What HTTP libraries hide from the other tests: the bytes that really go over the socket.

let on: TraceStack;
let port: number;
let token: string;
beforeAll(async () => {
  on = await sharedTraceStack();
  port = on.stack.ingress[0]?.ports['otlp'] ?? 0;
  ({ token } = await on.application());
});

const now = BigInt(Date.now()) * 1_000_000n;
let numbers = 0;
const newBody = (): Buffer => encode('json', requestOf([spanAt(now, ++numbers)]));

type Raw = {
  readonly status: number;
  readonly version: string;
  readonly headers: Map<string, string>;
  readonly body: string;
};

const parsed = (text: string): Raw => {
  const end = text.indexOf('\r\n\r\n');
  const [first = '', ...lines] = text.slice(0, end).split('\r\n');
  const [version = '', status = ''] = first.split(' ');
  const headers = lines.map((line): [string, string] => {
    const at = line.indexOf(':');
    return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()];
  });
  return { status: Number(status), version, headers: new Map(headers), body: text.slice(end + 4) };
};

const requestText = (first: string, headers: readonly string[], body = ''): string =>
  `${[first, ...headers].join('\r\n')}\r\n\r\n${body}`;

const commonHeaders = (body: Buffer | string): string[] => [
  'Host: collector',
  'Content-Type: application/json',
  `X-MON-TOKEN: ${token}`,
  `Content-Length: ${Buffer.byteLength(body)}`,
];

/** Writes these bytes and answers all that comes back until the server closes. */
const exchange = async (text: string): Promise<string> => {
  const socket = connect(port, '127.0.0.1').setEncoding('latin1');
  socket.write(text);
  let answer = '';
  for await (const chunk of socket) answer += chunk;
  return answer;
};

const sendOne = async (first: string, headers: readonly string[], body = ''): Promise<Raw> =>
  parsed(await exchange(requestText(first, [...headers, 'Connection: close'], body)));

const answerOf = ({ status, body }: Raw) => ({ status, headers: {}, bytes: Buffer.from(body, 'latin1') });

describe('on the wire', () => {
  it('a success in JSON is two bytes under the bare type, with its length', async () => {
    const body = newBody().toString();
    const raw = await sendOne('POST /v1/traces HTTP/1.1', commonHeaders(body), body);
    expect([
      raw.status,
      raw.body,
      raw.headers.get('content-type'),
      raw.headers.get('content-length'),
    ]).toEqual([200, '{}', 'application/json', '2']);
  });

  it('a success in protobuf is no bytes, with the length 0', async () => {
    const headers = commonHeaders('').map((line) =>
      line.replace('application/json', 'application/x-protobuf'),
    );
    const raw = await sendOne('POST /v1/traces HTTP/1.1', headers);
    expect([
      raw.status,
      raw.body,
      raw.headers.get('content-type'),
      raw.headers.get('content-length'),
    ]).toEqual([200, '', 'application/x-protobuf', '0']);
  });

  it.each(
    encodings.flatMap((encoding) =>
      ['/', '/v1/trace', '/v1/traces//', '/v1/metric', '/%'].map((path) => ({ encoding, path })),
    ),
  )('$path does not exist and is answered 404 in $encoding, for every method', async ({ encoding, path }) => {
    for (const method of ['GET', 'POST', 'OPTIONS', 'DELETE', 'PATCH']) {
      const raw = await sendOne(`${method} ${path} HTTP/1.1`, [
        'Host: collector',
        `Content-Type: ${contentTypes[encoding]}`,
        'Content-Length: 0',
      ]);
      expect([method, raw.status, raw.headers.get('content-type')]).toEqual([
        method,
        404,
        contentTypes[encoding],
      ]);
      expect(raw.headers.get('access-control-allow-origin')).toBe('*');
      expect(statusOf(encoding, answerOf(raw))).toMatchObject({ code: 5 });
    }
  });

  it.each([
    ['/v1/traces', 405],
    ['/elsewhere', 404],
  ])('HEAD %s is answered %i without a body', async (path, status) => {
    const raw = await sendOne(`HEAD ${path} HTTP/1.1`, ['Host: collector']);
    expect([raw.status, raw.body, raw.headers.get('content-type')]).toEqual([status, '', 'application/json']);
    expect(raw.headers.get('access-control-allow-origin')).toBe('*');
  });

  it.each([[['Host: collector']], [[]]])(
    'HTTP/1.0 is taken and the connection closed after it (%j)',
    async (host) => {
      const body = newBody().toString();
      const [, ...headers] = commonHeaders(body);
      const raw = parsed(
        await exchange(requestText('POST /v1/traces HTTP/1.0', [...host, ...headers], body)),
      );
      expect([raw.status, raw.body, raw.headers.get('connection')]).toEqual([200, '{}', 'close']);
    },
  );

  it('requests one behind the other on one connection are answered in order', async () => {
    const bodies = [newBody().toString(), '{"resourceSpans":5}', newBody().toString()];
    const texts = bodies.map((body, index) =>
      requestText(
        'POST /v1/traces HTTP/1.1',
        [...commonHeaders(body), ...(index === 2 ? ['Connection: close'] : [])],
        body,
      ),
    );
    const text = await exchange(texts.join(''));
    expect([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual([
      '200',
      '400',
      '200',
    ]);
  });

  it('a body in chunks is taken like any other', async () => {
    const body = newBody().toString();
    const half = Math.floor(body.length / 2);
    const chunks = [body.slice(0, half), body.slice(half), '']
      .map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`)
      .join('');
    const headers = [...commonHeaders(body).slice(0, 3), 'Transfer-Encoding: chunked'];
    const raw = await sendOne('POST /v1/traces HTTP/1.1', headers, chunks);
    expect([raw.status, raw.body]).toEqual([200, '{}']);
  });
});

/** Sends a head with Expect: 100-continue, then the body once that came; answers what is received up to the end of the answer. */
const withExpectation = (headers: readonly string[], body: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const interim = 'HTTP/1.1 100 Continue\r\n\r\n';
    let text = '';
    let isSent = false;
    const socket = connect(port, '127.0.0.1').setEncoding('latin1');
    socket.on('error', reject).on('data', (chunk: string) => {
      text += chunk;
      if (!isSent && text.startsWith(interim)) {
        isSent = true;
        socket.write(body);
      }
      const final = parsed(text.replace(interim, ''));
      const isWhole = final.status > 0 && final.body.length === Number(final.headers.get('content-length'));
      if (!isWhole) return;
      socket.destroy();
      resolve(text);
    });
    socket.write(requestText('POST /v1/traces HTTP/1.1', [...headers, 'Expect: 100-continue']));
  });

describe('a client that waits for 100 Continue', () => {
  it('gets 100 Continue, and then its answer', async () => {
    const body = newBody().toString();
    const text = await withExpectation(commonHeaders(body), body);
    expect(text).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
    expect(text.endsWith('\r\n\r\n{}')).toBe(true);
  });

  it('has the answer to a body that is too large before it has sent all of it', async () => {
    const [host = '', type = '', credential = ''] = commonHeaders('');
    const headers = [host, type, credential, `Content-Length: ${2 ** 21}`];
    const text = await withExpectation(headers, 'x'.repeat(2 ** 20));
    const raw = parsed(text.replace('HTTP/1.1 100 Continue\r\n\r\n', ''));
    expect(raw.status).toBe(413);
    expect(statusOf('json', answerOf(raw))).toMatchObject({ code: 3 });
  });
});

describe('a client that disconnects in mid-body', () => {
  it('leaves nothing behind: none of its spans is stored, and the next client is served', async () => {
    const application = await on.application();
    const body = newBody().toString();
    const socket = connect(port, '127.0.0.1');
    const headers = commonHeaders(body).map((line) => line.replace(token, application.token));
    await new Promise((resolve) =>
      socket.write(requestText('POST /v1/traces HTTP/1.1', headers, body.slice(0, -1)), resolve),
    );
    socket.destroy();
    const answer = await on.post(application.token, 'json', body);
    expect([answer.status, partialOf('json', answer)]).toEqual([200, undefined]);
    expect(await on.storedSpans(application)).toHaveLength(1);
  });
});
