import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { callsMax } from '../../../../src/ingress/grpc/connection.ts';
import { successReply } from '../../../../src/ingress/otlp/reply.ts';
import { type Door, type DoorOptions, openDoor } from '../../../support/grpc/door.ts';
import {
  callFields,
  callFrames,
  type Frame,
  flags,
  frame,
  literal,
  settings,
  streamOf,
  types,
  windowUpdate,
} from '../../../support/grpc/frames.ts';
import { openRawHttp2, type RawHttp2 } from '../../../support/grpc/raw.ts';
import type { RawOptions } from '../../../support/http/raw-client.ts';
import { makeAuthority, makeCertificate } from '../../../support/stack/certificates.ts';
import { waitFor } from '../../../support/wait.ts';

const boundMs = 30_000;
const streamMax = 2 ** 31 - 1;

const opened: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

type Way = { readonly door: DoorOptions; readonly client: RawOptions };

const overTls = (): Way => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-test-'));
  opened.push(() => rmSync(folder, { recursive: true, force: true }));
  const authority = makeAuthority(folder, 'authority');
  const { cert, key } = makeCertificate(folder, 'own', authority);
  return {
    door: { tls: { options: { cert, key }, onChange: () => {} } },
    client: { tls: { ca: authority.cert } },
  };
};

const ways: Readonly<Record<string, () => Way>> = { plain: () => ({ door: {}, client: {} }), TLS: overTls };

const connectRaw = async (door: Door, options: Parameters<typeof openRawHttp2>[1]): Promise<RawHttp2> => {
  const client = await openRawHttp2(door.port, options);
  opened.push(() => client.raw.destroy());
  return client;
};

const isData = ({ type }: Frame): boolean => type === types.data;
const isGoaway = ({ type }: Frame): boolean => type === types.goaway;
/** What each GOAWAY says; Node repeats the last one when it closes. */
const lastStreams = (client: RawHttp2): number[] => [
  ...new Set(
    client
      .frames()
      .filter(isGoaway)
      .map(({ payload }) => payload.readUInt32BE(0)),
  ),
];

const causes = [
  { cause: 'age', options: { ageMsMax: 200 } },
  { cause: 'idleness', options: { limits: { idleTimeoutMs: 200 } } },
  { cause: 'the stop of the receiver', options: {} },
] as const;

describe.each(Object.entries(ways))('over %s', (_, way) => {
  // Exporters that try nothing again would lose what is in it.
  it.each(causes)(
    'a call that its client begins before it has the notice of the end by $cause is answered',
    async ({ options }) => {
      const { door: doorOptions, client: clientOptions } = way();
      const door = await openDoor({ ...doorOptions, ...options });
      const client = await connectRaw(door, clientOptions);
      await client.acknowledgeSettings();
      client.raw.send(callFrames(1));
      await client.answered(1);
      let draining: Promise<void> | undefined;
      if (!('ageMsMax' in options) && !('limits' in options)) draining = door.drain();
      await client.first('GOAWAY', isGoaway);
      client.raw.send(callFrames(3));
      await client.answered(3);
      expect(lastStreams(client)).toEqual([streamMax]);
      await client.acknowledgePing();
      await client.raw.ended;
      expect(lastStreams(client)).toEqual([streamMax, 3]);
      expect(door.seen).toHaveLength(2);
      await (draining ?? door.drain());
    },
  );

  it('a client that never closes its side does not keep its connection', async () => {
    const { door: doorOptions, client: clientOptions } = way();
    const door = await openDoor({ ...doorOptions, limits: { idleTimeoutMs: 200 } });
    const client = await connectRaw(door, clientOptions);
    client.raw.socket.removeAllListeners('end');
    await client.acknowledgeSettings();
    client.raw.send(callFrames(1));
    await client.answered(1);
    await client.acknowledgePing();
    await waitFor('the connection is closed', boundMs, async () => (await door.connections()) === 0);
    await door.drain();
  });

  it('the notice of the end comes after SETTINGS, also where the client has just connected', async () => {
    const { door: doorOptions, client: clientOptions } = way();
    const door = await openDoor(doorOptions);
    const client = await connectRaw(door, { ...clientOptions, first: Buffer.alloc(0) });
    await client.first('SETTINGS', ({ type }) => type === types.settings);
    const draining = door.drain();
    client.raw.send(Buffer.concat([settings(), callFrames(1)]));
    await client.answered(1);
    expect(lastStreams(client)).toEqual([]);
    await client.acknowledgeSettings();
    await client.acknowledgePing();
    await client.raw.ended;
    expect(client.frames()[0]?.type).toBe(types.settings);
    expect(lastStreams(client)).toEqual([streamMax, 1]);
    await draining;
  });

  it('a client that does not answer the notice has its time, and then the end', async () => {
    const { door: doorOptions, client: clientOptions } = way();
    const door = await openDoor(doorOptions);
    const client = await connectRaw(door, clientOptions);
    await client.acknowledgeSettings();
    client.raw.send(callFrames(1));
    await client.answered(1);
    await door.drain({ laggardsMs: 100, allMs: 600_000 });
    await client.raw.ended;
    expect(lastStreams(client)).toEqual([streamMax, 1]);
  });

  // Two writers to a socket that has no room end the process.
  it('the notice does not break what a client has not read', async () => {
    const { door: doorOptions, client: clientOptions } = way();
    const body = Buffer.alloc(2 ** 24, 'x');
    const door = await openDoor({
      ...doorOptions,
      answer: async () => ({ ...successReply('protobuf'), body }),
    });
    const windows = Buffer.concat([settings([4, streamMax]), windowUpdate(0, 2 ** 30)]);
    const client = await connectRaw(door, { ...clientOptions, first: windows });
    await client.acknowledgeSettings();
    const { socket } = client.raw;
    // The answer is one write of the session, far larger than what the kernel takes.
    const begun = new Promise<void>((resolve) => {
      socket.on('data', function pauseOnce() {
        if (!client.frames().some(isData)) return;
        socket.off('data', pauseOnce).pause();
        resolve();
      });
    });
    client.raw.send(callFrames(1));
    await begun;
    const draining = door.drain();
    socket.resume();
    await client.acknowledgePing();
    await client.raw.ended;
    await draining;
    const data = client.frames().filter(isData);
    expect(data.reduce((sum, { payload }) => sum + payload.length, 0)).toBe(body.length + 5);
    expect(lastStreams(client)).toEqual([streamMax, 1]);
  });

  it('answers that come while a client closes its side do not reach it, and harm no other one', async () => {
    const { door: doorOptions, client: clientOptions } = way();
    const waiting: (() => void)[] = [];
    const door = await openDoor({
      ...doorOptions,
      answer: async () => {
        await new Promise<void>((resolve) => waiting.push(resolve));
        return successReply('protobuf');
      },
    });
    const client = await connectRaw(door, clientOptions);
    await client.acknowledgeSettings();
    const calls = Array.from({ length: callsMax }, (_, index) => callFrames(streamOf(index)));
    client.raw.send(Buffer.concat(calls));
    await waitFor('the calls', boundMs, () => waiting.length === callsMax);
    client.raw.socket.end();
    // An answer at each turn of the event loop, before the end of the connection, in the midst of it and after.
    for (const answer of waiting.splice(0)) {
      await new Promise((resolve) => setImmediate(resolve));
      answer();
    }
    await client.raw.ended;
    const other = await connectRaw(door, clientOptions);
    await other.acknowledgeSettings();
    other.raw.send(callFrames(1));
    await waitFor('the call', boundMs, () => waiting.length === 1);
    waiting[0]?.();
    await other.answered(1);
    expect(await door.ended('reset')).toBe(0);
    other.raw.destroy();
    await door.drain();
  });
});

/** As grpc-go sends it when its client closes: with the highest stream id, which is none of a server. */
const farewell = frame(types.goaway, 0, 0, Buffer.from([0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0]));

describe('the last GOAWAY of a client of Go', () => {
  const ofGo = literal('user-agent', 'OTel OTLP Exporter Go/1.47.0 grpc-go/1.77.0');
  const afterCall = async (agent = ofGo): Promise<{ door: Door; client: RawHttp2 }> => {
    const door = await openDoor();
    opened.push(() => door.drain());
    const client = await connectRaw(door, {});
    await client.acknowledgeSettings();
    client.raw.send(callFrames(1, Buffer.concat([callFields(), agent])));
    await client.answered(1);
    return { door, client };
  };

  it('is no fault of the client', async () => {
    const { door, client } = await afterCall();
    client.raw.send(farewell);
    await client.raw.ended;
    expect(await door.ended('malformed')).toBe(0);
  });

  it('counts as malformed from any other client', async () => {
    const { door, client } = await afterCall(literal('user-agent', 'grpc-java-netty/1.70.0'));
    client.raw.send(farewell);
    await client.raw.ended;
    expect(await door.ended('malformed')).toBe(1);
  });

  it('counts as malformed where it cuts a call', async () => {
    const { door, client } = await afterCall();
    const head = frame(types.headers, flags.endHeaders, 3, callFields());
    client.raw.send(Buffer.concat([head, farewell]));
    await client.raw.ended;
    expect(await door.ended('malformed')).toBe(1);
  });

  it('counts as malformed where nothing came before it', async () => {
    const door = await openDoor();
    opened.push(() => door.drain());
    const client = await connectRaw(door, {});
    client.raw.send(farewell);
    await client.raw.ended;
    expect(await door.ended('malformed')).toBe(1);
  });
});
