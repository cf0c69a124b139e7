import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { announceBody, createPushClient, type PushRequest } from '../../support/push/client.ts';
import { pointsAt } from '../../support/push/point-cases.ts';
import { plainSuccess } from '../../support/push/replies.ts';
import { bodyOf, type PushStack, sharedPushStack } from '../../support/push/stack.ts';
import type { Report } from '../../support/stack/stack.ts';
import { waitFor } from '../../support/wait.ts';

let on: PushStack;
let other: Report;

beforeAll(async () => {
  on = await sharedPushStack();
  other = await on.report();
});

const { good, timestamp } = pointsAt(Date.now());

describe('a point with an invalid time', () => {
  it('does not hold up the others, however many come at once', async () => {
    const own = await on.report();
    await on.push(own, [good]);
    const seconds = { ...good, target: 't'.repeat(300), timestamp: Math.floor(timestamp / 1000) };
    const data = [good, ...Array.from({ length: 2000 }, () => seconds)];
    const answers = await Promise.all(Array.from({ length: 40 }, () => on.push(own, data)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    await on.stack.waitForRows(own.result_table.table_id, 41);
  });
});

describe('a request that is taken', () => {
  const taken: [string, (own: Report) => PushRequest][] = [
    [
      'in gzip of two members',
      (own) => {
        const text = bodyOf(own, [good]);
        return {
          headers: { 'Content-Encoding': 'gzip' },
          body: Buffer.concat([gzipSync(text.slice(0, 9)), gzipSync(text.slice(9))]),
        };
      },
    ],
    [
      'in chunks of a byte',
      (own) => ({ body: [...bodyOf(own, [good])].map((character) => Buffer.from(character)) }),
    ],
  ];

  it.each(taken)('%s is stored, and answered with exactly the bytes of success', async (_, request) => {
    const own = await on.report();
    const answer = await on.send(request(own));
    expect([answer.status, answer.text, answer.headers['content-type']]).toEqual([
      200,
      plainSuccess,
      'application/json',
    ]);
    expect(await on.storedRows(own)).toEqual([{ timestamp, uid: expect.any(String), cpu: 1, target: '' }]);
  });
});

describe('a connection', () => {
  it('is kept after an error in what was read whole', async () => {
    const client = createPushClient(on.port, 1);
    try {
      // Below -1 nothing is taken.
      const own = await on.report({ max_rate: -2 });
      const requests: [PushRequest, number][] = [
        [{ body: bodyOf(other, [good]) }, 200],
        [{ body: '{' }, 400],
        [{ body: bodyOf(other, [good], { access_token: 'x' }) }, 401],
        [{ method: 'PUT', body: 'x'.repeat(100_000) }, 405],
        [{ path: '/', body: 'x' }, 404],
        [{ body: bodyOf(other, [5]) }, 400],
        [{ body: bodyOf(own, [good]) }, 429],
        [
          {
            body: bodyOf(
              other,
              Array.from({ length: 50_001 }, () => 0),
            ),
          },
          413,
        ],
        [{ body: bodyOf(other, [good]) }, 200],
      ];
      const ports = new Set<number | undefined>();
      for (const [request, status] of requests) {
        const answer = await client.send(request);
        expect(answer.status).toBe(status);
        ports.add(answer.localPort);
      }
      expect(ports.size).toBe(1);
    } finally {
      client.close();
    }
  });

  it('that is closed after a body that was not read leaves the next request unharmed', async () => {
    const client = createPushClient(on.port, 1);
    try {
      for (const encoding of ['br', 'gzip', 'zstd']) {
        const refused = await client.send({
          headers: { 'Content-Encoding': encoding },
          body: 'no such thing',
        });
        expect(refused.status).toBeGreaterThanOrEqual(400);
        expect((await client.send({ body: bodyOf(other, [good]) })).text).toBe(plainSuccess);
      }
    } finally {
      client.close();
    }
  });

  it('that ends in the middle of a body stores nothing and gives its room back', async () => {
    const own = await on.report();
    const text = bodyOf(own, [good]);
    const socket = await announceBody(on.port, text.length);
    socket.write(text.slice(0, -1));
    socket.destroy();
    expect(await on.storedRows(own)).toEqual([]);
    const held = async (): Promise<string | undefined> =>
      /^tidemark_ingress_bytes_in_flight\S* (\d+)/m.exec((await on.stack.ingress[0]?.metrics()) ?? '')?.[1];
    await waitFor('no bytes in flight', 60_000, async () => (await held()) === '0');
    await waitFor('the request to be counted', 60_000, async () =>
      /requests_refused_total\{receiver="push",reason="aborted"\S* 1$/m.test(
        (await on.stack.ingress[0]?.metrics()) ?? '',
      ),
    );
  });
});

describe('after all this', () => {
  const counters = async (
    role: { metrics(): Promise<string> } | undefined,
    name: string,
  ): Promise<Record<string, number>> => {
    const text = (await role?.metrics()) ?? '';
    const found = [...text.matchAll(new RegExp(`^${name}\\{([^}]*)\\} (\\d+)`, 'gm'))];
    const byReason: Record<string, number> = {};
    for (const [, labels = '', value] of found) {
      // Counters start at 0 for every reason there is.
      if (!labels.includes('pipeline="metrics"') || value === '0') continue;
      const reason = /reason="(\w+)"/.exec(labels)?.[1] ?? 'all';
      byReason[reason] = (byReason[reason] ?? 0) + Number(value);
    }
    return byReason;
  };

  // Architecture 6.1: in = kept + dropped by reason; what was acknowledged is stored, what was deferred is dropped in transfer.
  it('everything that was acknowledged is stored, and everything deferred is dropped for the same reason', async () => {
    const [ingress, transfer] = [on.stack.ingress[0], on.stack.transfer[0]];
    await waitFor('transfer to have settled everything', 60_000, async () => {
      const accepted = await counters(ingress, 'tidemark_ingress_items_accepted_total');
      const stored = await counters(transfer, 'tidemark_transfer_items_stored_total');
      return accepted['all'] === stored['all'];
    });
    expect(await counters(transfer, 'tidemark_transfer_items_dropped_total')).toEqual(
      await counters(ingress, 'tidemark_ingress_items_deferred_total'),
    );
    expect(await counters(transfer, 'tidemark_transfer_dead_letters_total')).toEqual({});
  });

  it('no answer reports an internal error', () => {
    expect(
      on.stack.ingress.flatMap(({ lines }) => lines.filter((line) => line.includes('"level":50'))),
    ).toEqual([]);
  });
});
