import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectGrpc } from '../support/grpc/client.ts';
import {
  callFields,
  callFrames,
  flags,
  frame,
  literal,
  preface,
  reset,
  settings,
  streamOf,
  types,
  windowUpdate,
} from '../support/grpc/frames.ts';
import {
  answersIn,
  exchange,
  openRaw,
  type RawAnswer,
  type RawConnection,
} from '../support/http/raw-client.ts';
import { traceExportPath } from '../support/otlp/export-paths.ts';
import { type Stack, startStack } from '../support/stack/stack.ts';
import { otherFormsOf } from '../support/targets.ts';
import { waitFor } from '../support/wait.ts';

/** Connections that are held to fill the room must all be there before the first of them is too slow. */
const headersTimeoutMs = 10_000;
const stallTimeoutMs = 3000;
const requestTimeoutMs = 12_000;
const addressConnectionsMax = 40;
const connectionsMax = 60;

let stack: Stack;
const bodies = { push: '', otlp: '{}' };
let otlpToken = '';
beforeAll(async () => {
  stack = await startStack({
    env: {
      TIDEMARK_INGRESS_HEADERS_TIMEOUT_MS: String(headersTimeoutMs),
      TIDEMARK_INGRESS_STALL_TIMEOUT_MS: String(stallTimeoutMs),
      TIDEMARK_INGRESS_REQUEST_TIMEOUT_MS: String(requestTimeoutMs),
      TIDEMARK_INGRESS_IDLE_TIMEOUT_MS: '200',
      TIDEMARK_INGRESS_ADDRESS_CONNECTIONS_MAX: String(addressConnectionsMax),
      TIDEMARK_INGRESS_CONNECTIONS_MAX: String(connectionsMax),
    },
  });
  const { mon_data_id: dataId, token } = (await stack.createReport('hostile')).data_source;
  bodies.push = JSON.stringify({ data_id: dataId, access_token: token, data: [{ metrics: { load: 1 } }] });
  otlpToken = (await stack.createApplication('hostile')).token;
  for (const name of ['push', 'otlp'] as const) {
    await waitFor('the records to be known', 60_000, async () => {
      const [answer] = answersIn(await exchange(portOf(name), good(name, 'Connection: close\r\n')));
      return answer?.status === 200;
    });
  }
});
afterAll(() => stack?.stop());

type Name = 'push' | 'otlp';

const portOf = (name: Name): number => stack.ingress[0]?.ports[name] ?? 0;
const paths = { push: '/v2/push/', otlp: '/v1/traces' };

/** Request line and fields of a request, without an end. */
const head = (name: Name, fields = 'Host: a\r\n', version = '1.1', target = paths[name]): string =>
  `POST ${target} HTTP/${version}\r\nContent-Type: application/json\r\nX-MON-TOKEN: ${otlpToken}\r\n${fields}`;

const good = (name: Name, fields = ''): string =>
  `${head(name)}${fields}Content-Length: ${bodies[name].length}\r\n\r\n${bodies[name]}`;

/** A figure of ingress, summed over what has these labels. */
const figure = async (metric: string, labels: string): Promise<number> =>
  ((await stack.ingress[0]?.metrics()) ?? '')
    .split('\n')
    .filter((line) => line.startsWith(`${metric}{`) && line.includes(labels))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);

const endedOf = (name: Name, reason: string): Promise<number> =>
  figure('tidemark_ingress_connections_ended_total', `receiver="${name}",reason="${reason}"`);

/** Runs it, and answers by how much the count of this reason has grown. */
const growth = async (name: Name, reason: string, act: () => Promise<unknown>): Promise<number> => {
  const before = await endedOf(name, reason);
  await act();
  return (await endedOf(name, reason)) - before;
};

const expectRefusal = (name: Name, answer: RawAnswer | undefined, status: number, reason: string): void => {
  expect([answer?.status, answer?.headers['content-type']]).toEqual([status, 'application/json']);
  const body: unknown = JSON.parse(answer?.body ?? '');
  if (name === 'otlp')
    expect(body).toEqual({ code: status === 503 ? 14 : 3, message: expect.stringMatching(/\w/) });
  else expect(body).toEqual({ code: String(status), result: 'false', message: expect.any(String), reason });
};

const many = (count: number, make: (stream: number) => Buffer): Buffer =>
  Buffer.concat([preface, settings(), ...Array.from({ length: count }, (_, index) => make(streamOf(index)))]);
const callHead = (stream: number): Buffer => frame(types.headers, flags.endHeaders, stream, callFields());

/** Each ends its connection; the unit tests of the receiver over gRPC have them all. */
const grpcFloods: readonly Buffer[] = [
  many(3000, (stream) => Buffer.concat([callHead(stream), reset(stream)])),
  many(3000, (stream) => Buffer.concat([callFrames(stream), windowUpdate(stream, 0)])),
  many(2000, () => settings()),
  many(2000, () => frame(types.ping, 0, 0, Buffer.alloc(8))),
  // No fault of a client: it ends the connection itself.
  Buffer.concat([many(150, (stream) => callFrames(stream)), frame(types.goaway, 0, 0, Buffer.alloc(8))]),
  Buffer.concat([
    many(1, (stream) => frame(types.headers, 0, stream, callFields())),
    ...Array.from({ length: 2000 }, () => frame(types.continuation, 0, 1, literal('x', 'y'.repeat(100)))),
  ]),
];

const noSpans = Buffer.alloc(0);

const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n';
const chunked = 'Host: a\r\nTransfer-Encoding: chunked\r\n';

type Shape = {
  readonly what: string;
  readonly bytes: (name: Name) => string;
  readonly status?: number;
  readonly reason?: string;
};

// A proxy may see other borders between requests than this server: one answer, and the connection ends.
const shapes: Shape[] = [
  {
    what: 'Content-Length and Transfer-Encoding',
    bytes: (n) => `${head(n)}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
  },
  {
    what: 'Transfer-Encoding and Content-Length',
    bytes: (n) => `${head(n, chunked)}Content-Length: 4\r\n\r\n0\r\n\r\n${smuggled}`,
  },
  {
    what: 'two lengths',
    bytes: (n) => `${head(n)}Content-Length: 2\r\nContent-Length: 0\r\n\r\n${smuggled}`,
  },
  { what: 'a list of lengths', bytes: (n) => `${head(n)}Content-Length: 0, 0\r\n\r\n${smuggled}` },
  { what: 'a length with a sign', bytes: (n) => `${head(n)}Content-Length: +0\r\n\r\n${smuggled}` },
  { what: 'a length in hexadecimal', bytes: (n) => `${head(n)}Content-Length: 0x0\r\n\r\n${smuggled}` },
  {
    what: 'a length beyond 64 bits',
    bytes: (n) => `${head(n)}Content-Length: 99999999999999999999999\r\n\r\n`,
  },
  { what: 'a blank before the colon', bytes: (n) => `${head(n)}Content-Length : 0\r\n\r\n${smuggled}` },
  { what: 'a folded field', bytes: (n) => `${head(n)}X: a\r\n Content-Length: 0\r\n\r\n${smuggled}` },
  {
    what: 'line feeds alone',
    bytes: (n) => `${head(n)}Content-Length: 0\r\n\r\n${smuggled}`.replaceAll('\r', ''),
  },
  { what: 'NUL in a field', bytes: (n) => `${head(n)}X: a\0b\r\nContent-Length: 0\r\n\r\n` },
  {
    what: 'an unknown transfer coding',
    bytes: (n) => `${head(n)}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${smuggled}`,
  },
  {
    what: 'chunked not last',
    bytes: (n) => `${head(n)}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${smuggled}`,
  },
  {
    what: 'two transfer codings',
    bytes: (n) => `${head(n, chunked)}Transfer-Encoding: identity\r\n\r\n0\r\n\r\n${smuggled}`,
  },
  { what: 'a chunk size that is no number', bytes: (n) => `${head(n, chunked)}\r\nzz\r\n${smuggled}` },
  {
    what: 'a chunk size beyond 64 bits',
    bytes: (n) => `${head(n, chunked)}\r\n1fffffffffffffffff\r\n${smuggled}`,
  },
  {
    what: 'a chunk longer than its size',
    bytes: (n) => `${head(n, chunked)}\r\n2\r\n{}}\r\n0\r\n\r\n${smuggled}`,
  },
  {
    what: 'chunk extensions of 20 KB',
    bytes: (n) => `${head(n, chunked)}\r\n2;${'x'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n`,
  },
  {
    what: 'trailers of 20 KB',
    bytes: (n) => `${head(n, chunked)}\r\n2\r\n{}\r\n0\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`,
    status: 431,
    reason: 'header_too_large',
  },
  {
    what: 'a field of 20 KB',
    bytes: (n) => `${head(n)}X: ${'x'.repeat(20_000)}\r\n\r\n`,
    status: 431,
    reason: 'header_too_large',
  },
  {
    what: 'six thousand fields',
    bytes: (n) => `${head(n)}${'abc:de\r\n'.repeat(6000)}\r\n`,
    status: 431,
    reason: 'header_too_large',
  },
  {
    what: 'a target of 20 KB',
    bytes: () => `POST /${'x'.repeat(20_000)} HTTP/1.1\r\n`,
    status: 431,
    reason: 'header_too_large',
  },
  { what: 'a hello of TLS', bytes: () => `\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03${'x'.repeat(200)}` },
  { what: 'CONNECT', bytes: () => 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n' },
  { what: 'no HTTP at all', bytes: () => 'hello\r\n\r\n' },
];

describe.each(['push', 'otlp'] as const)('the %s receiver', (name) => {
  it.each(shapes)(
    'answers $what once, in its own form, and ends the connection',
    async ({ bytes, status = 400, reason = 'malformed' }) => {
      let text = '';
      const grown = await growth(name, reason, async () => {
        text = await exchange(portOf(name), bytes(name));
      });
      const answers = answersIn(text);
      expectRefusal(name, answers[0], status, 'protocol_error');
      expect([answers.length, answers[0]?.headers['connection'], grown]).toEqual([1, 'close', 1]);
    },
  );

  it('answers a client that ends its side in its body once, as aborted, and counts one request', async () => {
    const labels = `receiver="${name}"`;
    const refused = (reason = ''): Promise<number> =>
      figure('tidemark_ingress_requests_refused_total', labels + reason);
    const counts = async (): Promise<number[]> => [
      await refused(),
      await refused(',reason="aborted"'),
      await figure('tidemark_ingress_requests_total', `${labels},status="400"`),
    ];
    const before = await counts();
    let text = '';
    const grown = await growth(name, 'reset', async () => {
      const connection = await openRaw(portOf(name));
      connection.socket.end(good(name).slice(0, -1));
      text = await connection.ended;
    });
    const answers = answersIn(text);
    expect([answers.length, answers[0]?.status, grown]).toEqual([1, 400, 1]);
    expect(answers[0]?.body).toContain('the connection ended before the body was complete');
    if (name === 'push') expectRefusal(name, answers[0], 400, 'aborted');
    expect((await counts()).map((count, index) => count - (before[index] ?? 0))).toEqual([1, 1, 1]);
  });

  it('tells a client of HTTP/2, as of gRPC, in its own frames what to send, and counts it', async () => {
    const settings = '\0\0\0\x04\0\0\0\0\0';
    let text = '';
    const grown = await growth(name, 'http2', async () => {
      text = await exchange(portOf(name), `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${settings}`);
    });
    expect(grown).toBe(1);
    expect(text.startsWith(settings)).toBe(true);
    // GOAWAY with HTTP_1_1_REQUIRED: no stream was opened.
    expect(text.slice(12, 26)).toBe('\x07\0\0\0\0\0\0\0\0\0\0\0\0\x0d');
    expect(text.slice(26)).toMatch(/^this port takes HTTP\/1\.1, not HTTP\/2 or gRPC: .*HTTP/);
  });

  it.each([
    ['two Host fields', 'Host: b\r\nContent-Length: 0\r\n\r\n'],
    ['a transfer coding before chunked', 'Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n'],
  ])('refuses %s', async (_, rest) => {
    const answers = answersIn(await exchange(portOf(name), `${head(name)}${rest}${smuggled}`));
    expectRefusal(name, answers[0], 400, 'protocol_error');
    expect(answers).toHaveLength(1);
  });

  // An access list by path in front would be passed round. The parser refuses some of these itself.
  it.each(otherFormsOf(name === 'push' ? '/v2/push/' : '/v1/traces'))(
    'takes no request by another form of its path: %s',
    async (target) => {
      const text = good(name, 'Connection: close\r\n').replace(paths[name], () => target);
      const [answer] = answersIn(await exchange(portOf(name), text));
      expect([400, 404]).toContain(answer?.status);
      if (answer?.status === 404)
        expect(answer.body).toContain(name === 'push' ? 'path_unknown' : 'unknown path');
    },
  );

  it.each([
    ['in absolute form', (text: string) => text.replace(' /', ' http://elsewhere/')],
    [
      'of HTTP/1.0 without Host',
      (text: string) => text.replace('HTTP/1.1', 'HTTP/1.0').replace('Host: a\r\n', ''),
    ],
    [
      'in chunks with extensions and trailers',
      (text: string) => {
        const [fields = '', body = ''] = text.split('\r\n\r\n');
        const size = body.length.toString(16);
        return `${fields.replace(/Content-Length: \d+/, 'Transfer-Encoding: chunked')}\r\n\r\n${size};a=b\r\n${body}\r\n0\r\nX-T: 1\r\n\r\n`;
      },
    ],
    [
      'that asks to upgrade',
      (text: string) => text.replace('Connection: close', 'Connection: close, Upgrade\r\nUpgrade: h2c'),
    ],
  ])('takes a request %s', async (_, change) => {
    const [answer] = answersIn(await exchange(portOf(name), change(good(name, 'Connection: close\r\n'))));
    expect(answer?.status).toBe(200);
  });

  // The request is stored: its sender must get the answer.
  it('answers a client that ended its side after the request', async () => {
    const connection = await openRaw(portOf(name));
    connection.socket.end(good(name));
    expect(answersIn(await connection.ended).map(({ status }) => status)).toEqual([200]);
  });

  // A 400 ahead of its turn would be taken for the answer to a request that was stored.
  it('answers the requests before malformed bytes first', async () => {
    const answers = answersIn(await exchange(portOf(name), `${good(name).repeat(3)}\0\r\n\r\n`));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 400]);
  });

  it('sends 100 Continue when it reads the body, and refuses without a body when it does not', async () => {
    const wanted = await openRaw(portOf(name));
    wanted.send(good(name, 'Connection: close\r\nExpect: 100-continue\r\n').split('{')[0] ?? '');
    await wanted.until('HTTP/1.1 100 Continue\r\n\r\n');
    wanted.send(bodies[name]);
    expect(answersIn(await wanted.ended).map(({ status }) => status)).toEqual([100, 200]);
    const refused = await exchange(
      portOf(name),
      `${head(name)}Expect: 100-continue\r\nContent-Length: 99999999\r\n\r\n`,
    );
    expect(answersIn(refused).map(({ status }) => status)).toEqual([413]);
  });

  it('frees the memory of a connection that was reset in mid-body', async () => {
    const connection = await openRaw(portOf(name));
    connection.send(`${head(name)}Content-Length: 9000000\r\n\r\n`);
    connection.send(Buffer.alloc(4_000_000, ' '));
    await waitFor(
      'the bytes to be held',
      60_000,
      async () => (await figure('tidemark_ingress_bytes_in_flight', '')) > 3_000_000,
    );
    connection.socket.resetAndDestroy();
    await waitFor(
      'them to be given back',
      60_000,
      async () => (await figure('tidemark_ingress_bytes_in_flight', '')) === 0,
    );
  });

  it('answers 408 to a slow client, and an exporter 503 for a slow body, and ends the connection, each within its time', async () => {
    const dribble = async (bytes: string, every: number, more = 'x'): Promise<string> => {
      const connection = await openRaw(portOf(name));
      connection.send(bytes);
      const timer = setInterval(() => connection.send(more), every);
      const text = await connection.ended;
      clearInterval(timer);
      return text;
    };
    const before = await Promise.all(
      ['header_timeout', 'request_timeout', 'stalled', 'idle'].map((reason) => endedOf(name, reason)),
    );
    const texts = await Promise.all([
      exchange(portOf(name), ''),
      dribble('POST /', 200),
      dribble(`${head(name)}Content-Length: 1000\r\n\r\n`, 200, ' '),
      exchange(portOf(name), `${head(name)}Content-Length: 1000\r\n\r\n{`),
      exchange(portOf(name), good(name)),
    ]);
    const answers = texts.map((text) => answersIn(text));
    const ofBody = name === 'otlp' ? 503 : 408;
    expect(answers.map((all) => all.map(({ status }) => status))).toEqual([
      [408],
      [408],
      [ofBody],
      [ofBody],
      [200],
    ]);
    for (const [index, [answer]] of answers.slice(0, 4).entries())
      expectRefusal(name, answer, index < 2 ? 408 : ofBody, 'protocol_error');
    const after = await Promise.all(
      ['header_timeout', 'request_timeout', 'stalled', 'idle'].map((reason) => endedOf(name, reason)),
    );
    expect(after.map((count, index) => count - (before[index] ?? 0))).toEqual([2, 1, 1, 1]);
  });

  it('takes no more connections than its limits, and answers 503 in its own form', async () => {
    const holders: RawConnection[] = [];
    const hold = async (from: string, count: number): Promise<void> => {
      const opened = await Promise.all(Array.from({ length: count }, () => openRaw(portOf(name), { from })));
      holders.push(...opened);
    };
    const refusedFrom = async (from: string): Promise<void> => {
      const [answer, ...more] = answersIn(await exchange(portOf(name), good(name), { from }));
      expectRefusal(name, answer, 503, 'not_stored');
      expect([answer?.headers['retry-after'], answer?.headers['connection'], more]).toEqual([
        expect.stringMatching(/^[1-5]$/),
        'close',
        [],
      ]);
    };
    try {
      const ofOne = await growth(name, 'address_connections_max', async () => {
        await hold('127.0.0.2', addressConnectionsMax);
        await refusedFrom('127.0.0.2');
      });
      const [beside] = answersIn(await exchange(portOf(name), good(name, 'Connection: close\r\n')));
      const ofAll = await growth(name, 'connections_max', async () => {
        await hold('127.0.0.3', connectionsMax - addressConnectionsMax);
        await refusedFrom('127.0.0.4');
      });
      expect([ofOne, beside?.status, ofAll]).toEqual([1, 200, 1]);
    } finally {
      for (const { destroy } of holders) destroy();
    }
    await waitFor('a request to be taken again', 60_000, async () => {
      const [answer] = answersIn(await exchange(portOf(name), good(name, 'Connection: close\r\n')));
      return answer?.status === 200;
    });
  });
});

it('a client that sends thousands of requests without waiting for an answer is cut behind those to the first of them', async () => {
  let text = '';
  const flood = async (): Promise<void> => {
    text = await exchange(portOf('push'), good('push').repeat(5000));
  };
  expect(await growth('push', 'pipelined', flood)).toBe(1);
  const answers = answersIn(text);
  expect(answers.length).toBeGreaterThanOrEqual(128);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
});

// Unread answers fill the kernel's buffers first, then the process.
it('a client that never reads its answers is cut once they pile up', async () => {
  const data = Array.from({ length: 20 }, () => ({ metrics: { [`${'x'.repeat(90)}-`]: 1 } }));
  const body = JSON.stringify({ ...JSON.parse(bodies.push), data });
  const batch = `${head('push')}Content-Length: ${body.length}\r\n\r\n${body}`.repeat(100);
  const cut = async (): Promise<number> =>
    (await endedOf('push', 'stalled')) + (await endedOf('push', 'request_timeout'));
  const before = await cut();
  const connection = await openRaw(portOf('push'));
  connection.socket.pause();
  const requests = (): Promise<number> => figure('tidemark_ingress_requests_total', 'receiver="push"');
  let isCut = false;
  for (let round = 0; round < 200 && !isCut; round++) {
    const due = (await requests()) + 100;
    connection.send(batch);
    await waitFor('answers, or the end', 4 * stallTimeoutMs, async () => {
      isCut = (await cut()) > before;
      return isCut || (await requests()) >= due;
    });
  }
  connection.destroy();
  expect(isCut).toBe(true);
});

// Each round of a flood is a connection that the receiver has to close, or a call that it has to refuse.
it('connections over gRPC that flood delay no calls of others for long, and hold no memory', async () => {
  const port = stack.ingress[0]?.ports['grpc'] ?? 0;
  const kilobytes = (): number =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${stack.ingress[0]?.pid}/status`, 'utf8'))?.[1]);
  const before = kilobytes();
  let isOver = false;
  const calling = (async () => {
    const times: number[] = [];
    const codes = new Set<number | undefined>();
    const client = await connectGrpc(`http://127.0.0.1:${port}`);
    while (!isOver) {
      const began = performance.now();
      const { code } = await client.call(traceExportPath, noSpans, {
        metadata: { 'x-mon-token': otlpToken },
      });
      codes.add(code);
      times.push(performance.now() - began);
    }
    client.close();
    return { codes, longestMs: Math.max(...times) };
  })();
  const flood = async (bytes: Buffer): Promise<void> => {
    for (let round = 0; round < 4; round++) {
      const raw = await openRaw(port);
      raw.send(bytes);
      await raw.ended;
    }
  };
  await Promise.all([...grpcFloods, ...grpcFloods].map(flood));
  isOver = true;
  const { codes, longestMs } = await calling;
  expect(codes).toEqual(new Set([0]));
  expect(longestMs).toBeLessThan(2000);
  expect(kilobytes() - before).toBeLessThan(200_000);
});

it('nothing is held once they have all gone', async () => {
  await waitFor('no connection and no bytes', 60_000, async () => {
    const open = await figure('tidemark_ingress_connections', '');
    return open === 0 && (await figure('tidemark_ingress_bytes_in_flight', '')) === 0;
  });
  expect(stack.ingress[0]?.lines.filter((line) => line.includes('a defect'))).toEqual([]);
});
