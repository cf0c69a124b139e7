import { IncomingMessage } from 'node:http';
import { BlockList, Socket } from 'node:net';
import { expect, it } from 'vitest';
import { newSender } from '../../../src/ingress/line.ts';
import { keptByApplication } from '../../../src/ingress/otlp/kept.ts';
import { createUsageRecorder } from '../../../src/ingress/usage-recorder.ts';
import type { UsageBook } from '../../../src/outcomes/usage-book.ts';

const body = (wireBytes: number, inflatedBytes: number) => ({
  bytes: Buffer.alloc(inflatedBytes),
  wireBytes,
  reserve: () => true,
  release: () => {},
});

it('divides the bytes of an export by the items of its applications, and no byte is lost or counted twice', () => {
  const added: Parameters<UsageBook['add']>[] = [];
  const recorder = createUsageRecorder('traces', { add: (...one) => added.push(one) }, new BlockList());
  const request = new IncomingMessage(new Socket());
  request.headers['user-agent'] = 'otel-go/1.2 (linux)';
  const owners = new Map([
    [1, 1],
    [2, 1],
    [3, 5],
  ]);
  recorder.accepted(newSender(request), body(100, 1_001), owners, 60_000, '');
  expect(added.map(([, owner, , wireBytes, inflatedBytes]) => [owner, wireBytes, inflatedBytes])).toEqual([
    [1, 14, 143],
    [2, 14, 143],
    [3, 72, 715],
  ]);
  expect(added[0]?.[5]).toMatchObject({ sdk: 'otel-go/1.2' });
});

it('knows the client behind a trusted proxy by each request, without one by its connection', () => {
  const senders: string[] = [];
  const proxies = new BlockList();
  proxies.addAddress('10.0.0.1');
  const recorder = createUsageRecorder('metrics', { add: (...one) => senders.push(one[5].address) }, proxies);
  for (const from of ['10.0.0.1', '10.0.0.2']) {
    const socket = new Socket();
    Object.defineProperty(socket, 'remoteAddress', { value: from });
    for (const client of ['192.0.2.1', '192.0.2.2']) {
      const request = new IncomingMessage(socket);
      request.headers['x-forwarded-for'] = client;
      recorder.acceptedOf(newSender(request), body(1, 1), 7, 60_000, '');
    }
  }
  expect(senders).toEqual(['192.0.2.1', '192.0.2.2', '10.0.0.2', '10.0.0.2']);
});

it('counts for an application the spans that go on, not those that the receiver dropped', () => {
  const run = (appId: number, rows: number, ordinals: number[]) => ({
    parts: [
      { ...{ appId, bizId: 2, day: 1, rows, ordinals: 0 }, timeMin: '', timeMax: '', block: Buffer.alloc(0) },
    ],
    deferred: [
      { appId, bizId: 2, policy: { aheadMsMax: undefined, ageMsMax: undefined }, ordinals, texts: [] },
    ],
  });
  expect([...keptByApplication([run(1, 3, [7]), run(2, 1, []), run(1, 2, [])])]).toEqual([
    [1, 6],
    [2, 1],
  ]);
});
