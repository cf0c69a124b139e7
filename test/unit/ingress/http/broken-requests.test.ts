import { afterEach, describe, expect, it } from 'vitest';
import type { HttpLimits } from '../../../../src/http/limited-server.ts';
import { answersIn, exchange, openRaw, type RawAnswer } from '../../../support/http/raw-client.ts';
import { doorAppId, doorToken, openOtlpDoor } from '../../../support/otlp/door.ts';
import { waitFor } from '../../../support/wait.ts';

let door: Awaited<ReturnType<typeof openOtlpDoor>>;
let isOpen = false;
const open = async (limits: Partial<HttpLimits> = {}): Promise<void> => {
  door = await openOtlpDoor({ limits });
  isOpen = true;
};
const close = async (): Promise<void> => {
  isOpen = false;
  await door.close();
};
afterEach(async () => {
  if (isOpen) await close();
});

const headOf = (contentType: string, ...fields: string[]): string =>
  ['POST /v1/traces HTTP/1.1', 'Host: a', `Content-Type: ${contentType}`, ...fields, '', ''].join('\r\n');
const head = (...fields: string[]): string => headOf('application/x-protobuf', ...fields);
const token = `X-MON-TOKEN: ${doorToken}`;

const onlyAnswer = (text: string): RawAnswer => {
  const [answer, ...others] = answersIn(text);
  if (answer === undefined || others.length > 0) throw new Error(`not one answer: ${text}`);
  return answer;
};

/** Checks that the request was answered and recorded once, also after its connection has closed. */
const expectOnce = async (
  status: number | string,
  owner: number,
  reason = 'protocol_error',
): Promise<void> => {
  await close();
  expect(door.refused).toEqual([{ reason, owner, items: 0 }]);
  expect(await door.answered()).toEqual({ [status]: 1 });
};

describe('a request whose head was read is refused once, in its own encoding', () => {
  // An exporter drops the items of a request that is answered 408. Counted as a 503, a laptop that sleeps raises the alarm of server errors.
  it('to be sent again, when its body does not arrive in time', async () => {
    await open({ headersTimeoutMs: 200, requestTimeoutMs: 200 });
    const answer = onlyAnswer(await exchange(door.port, `${head(token, 'Content-Length: 100')}\n`));
    expect([answer.status, answer.headers['content-type']]).toEqual([503, 'application/x-protobuf']);
    expect(answer.headers).toMatchObject({
      ...{ connection: 'close', 'x-request-id': expect.any(String), 'retry-after': '1' },
    });
    expect(answer.body).toContain('the body did not arrive in time: the limit is 0.2 s');
    expect(answer.body).not.toContain('malformed');
    await expectOnce('late_body', doorAppId);
  });

  it('to be sent again, when its body stalls', async () => {
    await open({ stallTimeoutMs: 200 });
    const answer = onlyAnswer(await exchange(door.port, `${head(token, 'Content-Length: 100')}\n`));
    expect([answer.status, answer.headers['content-type']]).toEqual([503, 'application/x-protobuf']);
    expect(answer.headers['retry-after']).toBe('1');
    expect(answer.body).toContain('no byte arrived for 0.2 s');
    await expectOnce('late_body', doorAppId);
  });

  it('when a chunk of its body is malformed', async () => {
    await open();
    const connection = await openRaw(door.port);
    connection.send(`${head(token, 'Transfer-Encoding: chunked', 'Expect: 100-continue')}`);
    // The receiver reads the body from here on.
    const before = await connection.until('100 Continue\r\n\r\n');
    connection.send('1\r\n\n\r\nzz\r\n');
    const answer = onlyAnswer((await connection.ended).slice(before.length));
    expect([answer.status, answer.headers['content-type']]).toEqual([400, 'application/x-protobuf']);
    expect(answer.body).toContain('malformed HTTP request: a chunk of the body is malformed');
    await expectOnce(400, doorAppId);
  });

  it.each([
    ['of a named length', 'Content-Length: 100', 'a'],
    ['in chunks', 'Transfer-Encoding: chunked', '5\r\na'],
  ])('as aborted, when its sender ends its side in a body %s', async (_, length, begin) => {
    await open();
    const connection = await openRaw(door.port);
    connection.send(`${head(token, length, 'Expect: 100-continue')}`);
    const before = await connection.until('100 Continue\r\n\r\n');
    connection.socket.end(begin);
    const answer = onlyAnswer((await connection.ended).slice(before.length));
    expect([answer.status, answer.headers['content-type']]).toEqual([400, 'application/x-protobuf']);
    expect(answer.headers).toMatchObject({ connection: 'close', 'x-request-id': expect.any(String) });
    expect(answer.body).toContain('the connection ended before the body was complete');
    expect(answer.body).not.toContain('malformed');
    await expectOnce(400, doorAppId, 'aborted');
    expect(await door.ended()).toEqual({ reset: 1 });
  });

  it('as aborted, when its sender is gone in its body', async () => {
    await open();
    const connection = await openRaw(door.port);
    connection.send(`${head(token, 'Content-Length: 100', 'Expect: 100-continue')}`);
    await connection.until('100 Continue\r\n\r\n');
    connection.destroy();
    await waitFor(
      'the end of the connection',
      10_000,
      async () => Object.keys(await door.ended()).length > 0,
    );
    await expectOnce(400, doorAppId, 'aborted');
    expect(await door.ended()).toEqual({ reset: 1 });
  });

  it('by the line alone, when its sender ends its side before the body is read', async () => {
    await open();
    const text = headOf('text/plain', token, 'Connection: close', 'Content-Length: 100');
    const connection = await openRaw(door.port);
    connection.socket.end(`${text}a`);
    expect(onlyAnswer(await connection.ended).status).toBe(415);
    await expectOnce(415, 0, 'content_type_unsupported');
    expect(await door.ended()).toEqual({ reset: 1 });
  });

  it('after the answers to the requests before it', async () => {
    await open({ headersTimeoutMs: 200, requestTimeoutMs: 200 });
    const empty = head(token, 'Content-Length: 0');
    const text = await exchange(door.port, `${empty}${empty}${head(token, 'Content-Length: 100')}\n`);
    expect(answersIn(text).map(({ status }) => status)).toEqual([200, 200, 503]);
    await close();
    expect(door.refused.map(({ reason }) => reason)).toEqual(['protocol_error']);
  });

  it('when it has two Host fields', async () => {
    await open();
    const text = `${head(token, 'Host: b', 'Content-Length: 0')}${head(token, 'Content-Length: 0')}`;
    const answer = onlyAnswer(await exchange(door.port, text));
    expect([answer.status, answer.headers['content-type']]).toEqual([400, 'application/x-protobuf']);
    expect(answer.body).toContain('malformed HTTP request: Bad Request');
    await expectOnce(400, 0);
  });

  it.each(['gzip, chunked', 'identity, chunked'])(
    'when its body is in another transfer coding than chunks: %s',
    async (coding) => {
      await open();
      const text = `${head(token, `Transfer-Encoding: ${coding}`)}0\r\n\r\n${head(token, 'Content-Length: 0')}`;
      const answer = onlyAnswer(await exchange(door.port, text));
      expect([answer.status, answer.headers['content-type']]).toEqual([400, 'application/x-protobuf']);
      expect(answer.body).toContain('Transfer-Encoding may be chunked alone');
      await expectOnce(400, 0);
    },
  );

  it.each(['Chunked', '\t CHUNKED '])('but not when it is in chunks, as "%s"', async (coding) => {
    await open();
    const text = `${head(token, `Transfer-Encoding: ${coding}`, 'Connection: close')}0\r\n\r\n`;
    expect(onlyAnswer(await exchange(door.port, text)).status).toBe(200);
  });

  it('when its expectation is unknown', async () => {
    await open();
    const fields = ['Expect: a-miracle', 'Content-Length: 0', 'Connection: close'];
    const answer = onlyAnswer(await exchange(door.port, head(token, ...fields)));
    expect([answer.status, answer.headers['content-type']]).toEqual([417, 'application/x-protobuf']);
    expect(answer.body).toContain('the expectation is unknown: send Expect: 100-continue, or no Expect');
    await expectOnce(417, 0);
  });
});

describe('bytes that never become a request are answered in JSON', () => {
  it('with the limit of their time', async () => {
    await open({ headersTimeoutMs: 200, requestTimeoutMs: 500 });
    const answer = onlyAnswer(await exchange(door.port, 'POST /v1/traces HTTP/1.1\r\nHost: a\r\n'));
    expect([answer.status, answer.headers['content-type']]).toEqual([408, 'application/json']);
    expect(answer.body).toContain('the header fields did not arrive in time: the limit is 0.2 s');
    await expectOnce(408, 0);
  });

  it('with the limit of their size', async () => {
    await open({ headerBytesMax: 1000 });
    const answer = onlyAnswer(await exchange(door.port, head(`X-Large: ${'x'.repeat(2000)}`)));
    expect([answer.status, answer.headers['content-type']]).toEqual([431, 'application/json']);
    expect(answer.body).toContain('the header fields are too large: the limit is 1000 bytes');
    await expectOnce(431, 0);
  });
});

it('an unknown method is named, with the method that the receiver takes', async () => {
  await open();
  const answer = onlyAnswer(await exchange(door.port, head('Content-Length: 0').replace('POST', 'FOO')));
  expect(answer.status).toBe(400);
  expect(answer.headers['date']).toBeDefined();
  expect(Math.abs(Date.parse(answer.headers['date'] ?? '') - Date.now())).toBeLessThan(60_000);
  expect(answer.body).toContain('a method that is not known here: send POST');
  await expectOnce(400, 0);
});

// "Bad Request" named nothing, and the client behind the proxy is not at fault.
it.each([
  ['1', 'PROXY TCP4 192.0.2.1 192.0.2.2 1024 4318\r\n'],
  ['2', Buffer.from('\r\n\r\n\0\r\nQUIT\n!\x11\0\x0c\xc0\0\x02\x01\xc0\0\x02\x02\x04\0\x10\xde', 'latin1')],
])('a header of the PROXY protocol, version %s, is named with the remedy', async (_, header) => {
  await open();
  const connection = await openRaw(door.port);
  connection.send(Buffer.concat([Buffer.from(header), Buffer.from(head('Content-Length: 0'))]));
  const answer = onlyAnswer(await connection.ended);
  expect(answer.status).toBe(400);
  expect(answer.body).toContain('a header of the PROXY protocol, which this port does not take');
  await expectOnce(400, 0);
});

// It was called a method that is not known, with the advice to check the Content-Length.
it('a TLS handshake on a port of plain HTTP is named with the remedy', async () => {
  await open();
  const connection = await openRaw(door.port);
  connection.send(Buffer.from('16030100c8010000c40303', 'hex'));
  const answer = onlyAnswer(await connection.ended);
  expect(answer.status).toBe(400);
  expect(answer.body).toContain('this port takes plain HTTP: send to http://');
  expect(answer.body).not.toContain('method');
  await expectOnce(400, 0);
});
