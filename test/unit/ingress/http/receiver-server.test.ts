import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { createConnectionCount } from '../../../../src/http/connections.ts';
import { drain } from '../../../../src/http/limited-server.ts';
import { createBytesInFlight } from '../../../../src/ingress/http/admission.ts';
import { readBody } from '../../../../src/ingress/http/body.ts';
import { createReceiverServer } from '../../../../src/ingress/http/receiver-server.ts';
import { refusedReply } from '../../../../src/ingress/otlp/refusal.ts';
import type { RefusalRecorder } from '../../../../src/ingress/refusal-recorder.ts';
import { Refused } from '../../../../src/ingress/refused.ts';
import { countedBase } from '../../../../src/model/uid.ts';
import { createIngressMetrics } from '../../../../src/telemetry/ingress-metrics.ts';
import { answersIn, openRaw } from '../../../support/http/raw-client.ts';

const limits = {
  headersTimeoutMs: 60_000,
  requestTimeoutMs: 60_000,
  idleTimeoutMs: 60_000,
  stallTimeoutMs: 60_000,
  headerBytesMax: 8_192,
};
const nothing = (): void => {};
const recorder: RefusalRecorder = {
  ...{ refused: nothing, refusedConnection: nothing, refusedItems: nothing },
  ...{ repeated: nothing, lost: nothing, sample: nothing },
  wants: () => false,
  wantsRefused: () => false,
};

const bodyLimits = { bodyBytesMax: 2 ** 20, inflatedBytesMax: 2 ** 20, inflateRatioMax: 600 };

/**
 * A receiver that refuses every request once `until` has settled: by its result, or before it reads the body. `refused` gets what the
 * server refuses by itself.
 */
const startRefusing = async (
  until: (request: IncomingMessage) => Promise<Refused | undefined>,
  refused: RefusalRecorder['refused'] = nothing,
) => {
  const refuse = (refused: Refused) => refusedReply('json', refused);
  const handle = async (request: IncomingMessage) => {
    return refuse((await until(request)) ?? new Refused('content_type_unsupported'));
  };
  const server = createReceiverServer(
    {
      ...{
        name: 'otlp',
        refuse,
        headers: {},
        http2Remedy: '',
        retries408: false,
        defect: new Refused('internal'),
      },
      routes: [{ paths: ['/v1/traces'], wrongMethod: '', handle, recorder }],
    },
    {
      ...{ limits, tls: undefined, metrics: createIngressMetrics() },
      inFlight: { inPace: () => new Set() },
      bases: { isReady: true, boot: 1, take: () => countedBase(1, 0) },
      connections: createConnectionCount({
        ...{ connectionsMax: 0, addressConnectionsMax: 0 },
        isExempt: () => false,
      }),
    },
    { ...recorder, refused },
    nothing,
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => server.closeAllConnections());
  const address = server.address();
  return { server, port: typeof address === 'object' && address !== null ? address.port : 0 };
};

const waiting = (fields = ''): string =>
  `POST /v1/traces HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n${fields}\r\n`;

/** Half of the time for which the receiver reads the rest of a refused body. */
const soonMs = 5_000;

// Such a client sends its body after an answer, so nothing of it is on its way.
it('a client that waits for 100 Continue has its refusal at once, also where the connection closes', {
  timeout: soonMs,
}, async () => {
  const { port } = await startRefusing(async () => undefined);
  const client = await openRaw(port);
  client.send(waiting('Connection: close\r\n'));
  expect(answersIn(await client.ended)).toMatchObject([{ status: 415, headers: { connection: 'close' } }]);
});

it('a client that waits for 100 Continue has its refusal at once, also while the receiver drains', {
  timeout: soonMs,
}, async () => {
  const begun = Promise.withResolvers<void>();
  const draining = Promise.withResolvers<undefined>();
  const { server, port } = await startRefusing(() => {
    begun.resolve();
    return draining.promise;
  });
  const client = await openRaw(port);
  client.send(waiting());
  await begun.promise;
  const drained = drain(server, 1_000);
  draining.resolve(undefined);
  expect(answersIn(await client.ended)).toMatchObject([{ status: 415, headers: { connection: 'close' } }]);
  await drained;
});

// A close in mid-body would cost it the answer.
it('a client that sends its body without waiting for 100 Continue is answered after it', async () => {
  const seen: IncomingMessage[] = [];
  const { port } = await startRefusing(async (request) => {
    seen.push(request);
    return undefined;
  });
  const client = await openRaw(port);
  client.send(`${waiting('Connection: close\r\n')}${'x'.repeat(999)}`);
  await expect.poll(() => seen.length).toBe(1);
  // By the answer to another one, this one would have been answered, too.
  const other = await openRaw(port);
  other.send(waiting('Connection: close\r\n'));
  await other.ended;
  client.send('x');
  expect(answersIn(await client.ended)).toMatchObject([{ status: 415 }]);
  expect(seen[0]?.complete).toBe(true);
});

// As while the receiver looks up its token: a refusal of the server's own would be a second one.
it('a body that its client gave up before the receiver asks for it is refused where it is asked for, alone', async () => {
  const bodies: unknown[] = [];
  const gone = Promise.withResolvers<void>();
  const refused: string[] = [];
  const { server, port } = await startRefusing(
    async (request) => {
      await gone.promise;
      bodies.push(await readBody(request, bodyLimits, createBytesInFlight(2 ** 30, nothing)));
      return undefined;
    },
    (reason) => refused.push(reason),
  );
  server.on('clientError', () => gone.resolve());
  const client = await openRaw(port);
  client.socket.end('POST /v1/traces HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n{');
  await client.ended;
  await expect.poll(() => bodies).toEqual([{ reason: 'aborted', detail: expect.any(String) }]);
  expect(refused).toEqual([]);
});

// A client that sends a byte every few seconds would keep the stop of the receiver waiting for the whole time of a request.
it('a body that still arrives some time after the drain began is answered 503, and its connection ends', async () => {
  const begun = Promise.withResolvers<void>();
  const { server, port } = await startRefusing(async (request) => {
    begun.resolve();
    const inFlight = createBytesInFlight(2 ** 30, nothing);
    const body = await readBody(request, bodyLimits, inFlight);
    return body instanceof Refused ? body : undefined;
  });
  const client = await openRaw(port);
  client.send('POST /v1/traces HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n{');
  await begun.promise;
  await drain(server, 0, { laggardsMs: 600_000, allMs: 100 });
  const [answer] = answersIn(await client.ended);
  expect(answer).toMatchObject({ status: 503, headers: { connection: 'close', 'retry-after': '1' } });
  expect(answer?.body).toContain('the receiver stops');
});
