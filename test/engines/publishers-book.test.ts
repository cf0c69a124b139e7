import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { requestOf, second, spanAt } from '../support/otlp/trace-cases.ts';
import {
  bookRows,
  messagesOf,
  publishersBookIn,
  standing,
  storedIn,
  storedRows,
} from '../support/outcomes/books.ts';
import { bodyOf } from '../support/push/stack.ts';
import {
  type Application,
  type Report,
  type RoleProcess,
  type Stack,
  startStack,
} from '../support/stack/stack.ts';
import { limitStream } from '../support/stack/stream-limits.ts';
import { untilPaused } from '../support/stack/until-paused.ts';
import { until } from '../support/until.ts';

let stack: Stack;
let bus: Bus;

beforeAll(async () => {
  // Nothing takes from the streams, so that they still hold what the book speaks of.
  stack = await startStack({ transfer: 0 });
  bus = await connectBus(stack.engines.nats.url, 'test');
});
afterAll(async () => {
  await bus?.close();
  await stack?.stop();
});

const ingress = (): RoleProcess => {
  const [role] = stack.ingress;
  if (role === undefined) throw new Error('there is no ingress');
  return role;
};

/** A new life, behind a kill of the one before where that still runs. */
const startAgain = async (): Promise<void> => {
  await ingress().kill();
  ingress().start();
  await ingress().ready();
};

type Answer = { readonly status: number; readonly text: string };

const post = async (
  port: string,
  path: string,
  headers: Record<string, string>,
  body: string,
): Promise<Answer> => {
  const answer = await fetch(`http://127.0.0.1:${ingress().ports[port]}${path}`, {
    method: 'POST',
    headers,
    body,
  });
  return { status: answer.status, text: await answer.text() };
};

const push = (report: Report, points: readonly unknown[], key?: string): Promise<Answer> =>
  post('push', '/v2/push/', key === undefined ? {} : { 'Idempotency-Key': key }, bodyOf(report, points));

const exportSpans = ({ token }: Application, spans: readonly unknown[]): Promise<Answer> =>
  post(
    'otlp',
    '/v1/traces',
    { 'Content-Type': 'application/json', 'X-MON-TOKEN': token },
    JSON.stringify(requestOf(spans)),
  );

const now = Date.now();
const good = (value: number) => ({ metrics: { a: value }, timestamp: now });
const dropped = { metrics: {}, timestamp: now };
const deferred = { metrics: { a: 1 }, timestamp: 'none' };
const spanOf = (number: number) => spanAt(BigInt(now) * 1_000_000n - second, number);
const timeless = { ...spanOf(7), startTimeUnixNano: '0', endTimeUnixNano: '0' };

const itemsOf = (rows: ReturnType<typeof bookRows>, owner: number): number =>
  rows.reduce((sum, [, of, , items]) => sum + (of === owner ? items : 0), 0);

/** Life of the newest message of METRICS. */
const lifeNow = async (): Promise<number> => (await storedIn(bus, 'METRICS')).at(-1)?.place.life ?? 0;

it('LEDGER holds, by owner and minute, exactly what was acknowledged, and an orderly stop ends the life', async () => {
  const [one, other] = [await stack.createReport('book one'), await stack.createReport('book other')];
  const [app, otherApp] = [await stack.createApplication('one'), await stack.createApplication('other')];
  const answers = await Promise.all([
    ...Array.from({ length: 40 }, (_, index) => push(index % 3 === 0 ? other : one, [good(index)])),
    push(one, [good(1), dropped, deferred, good(2)], 'named'),
    // More than one message.
    push(
      one,
      Array.from({ length: 50_000 }, (_, index) => good(index)),
    ),
    exportSpans(app, [spanOf(1), spanOf(2), timeless]),
    exportSpans(otherApp, [spanOf(3), { ...spanOf(4), traceId: 'none' }]),
  ]);
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  // Repeats count nowhere, refused requests neither.
  expect((await push(one, [good(1), dropped, deferred, good(2)], 'named')).status).toBe(200);
  expect((await exportSpans(app, [spanOf(1), spanOf(2), timeless])).status).toBe(200);
  expect((await push(other, [])).status).toBe(400);
  const life = await lifeNow();
  expect(await ingress().stop()).toBe(0);

  const { lines, doubtful, versions } = await publishersBookIn(bus);
  const [points, spans] = [bookRows(lines, 'METRICS', life), bookRows(lines, 'TRACES', life)];
  expect([one, other].map(({ data_source }) => itemsOf(points, data_source.mon_data_id))).toEqual([
    26 + 4 + 50_000,
    14,
  ]);
  expect([app, otherApp].map(({ app_id }) => itemsOf(spans, app_id))).toEqual([3, 2]);
  const kept = await messagesOf(bus, 'METRICS');
  expect(kept.some(({ header }) => header('Nats-Batch-Sequence') === '2')).toBe(true);
  const streams = { METRICS: await storedIn(bus, 'METRICS'), TRACES: await storedIn(bus, 'TRACES') };
  expect(points).toEqual(storedRows(streams.METRICS, life));
  expect(spans).toEqual(storedRows(streams.TRACES, life));
  expect(doubtful).toEqual([]);
  expect(versions).toEqual(new Set(['2']));
  const last = standing(lines).filter((line) => line.life === life);
  expect(last.every(({ ended }) => ended === 1)).toBe(true);
  // The repeat of each has a serial too, behind all others.
  for (const stream of ['METRICS', 'TRACES'] as const) {
    const closed = last.filter((line) => line.stream === stream).map((line) => line.closed);
    expect(new Set(closed)).toEqual(new Set([streams[stream].length + 1]));
  }
  const drops = last
    .filter(({ data_id }) => data_id === one.data_source.mon_data_id)
    .map((line) => line.dropped);
  expect(drops.filter((by) => Object.keys(by).length > 0)).toEqual([{ metrics_empty: 1 }]);
});

it('a killed ingress leaves a life without an end, of which at most the last flush is missing; the next one has its own', async () => {
  await startAgain();
  const report = await stack.createReport('book killed');
  const dataId = report.data_source.mon_data_id;
  const written = async (items: number): Promise<void> => {
    await until(`a line of ${items} items`, async () => {
      const { lines } = await publishersBookIn(bus);
      return (
        standing(lines)
          .filter((line) => line.data_id === dataId)
          .reduce((sum, line) => sum + line.items, 0) === items
      );
    });
  };
  for (let count = 0; count < 10; count++) expect((await push(report, [good(count)])).status).toBe(200);
  await written(10);
  const killed = await lifeNow();
  expect((await push(report, [good(10), good(11)])).status).toBe(200);
  await startAgain();
  expect((await push(report, [good(12)])).status).toBe(200);
  const life = await lifeNow();
  expect(life).toBeGreaterThan(killed);
  expect(await ingress().stop()).toBe(0);

  const { lines } = await publishersBookIn(bus);
  const stored = await storedIn(bus, 'METRICS');
  const ofKilled = standing(lines).filter((line) => line.life === killed);
  expect(ofKilled.some(({ ended }) => ended === 1)).toBe(false);
  const closed = Math.max(...ofKilled.map((line) => line.closed));
  expect(bookRows(lines, 'METRICS', killed)).toEqual(
    storedRows(stored, killed, (serial) => serial <= closed),
  );
  expect(bookRows(lines, 'METRICS', life)).toEqual(storedRows(stored, life));
  expect(
    standing(lines)
      .filter((line) => line.life === life)
      .every(({ ended }) => ended === 1),
  ).toBe(true);
});

it('a message without an answer is named by its serial and its key, and counts nowhere; its repeat counts nowhere either', async () => {
  await startAgain();
  const report = await stack.createReport('book doubtful');
  const dataId = report.data_source.mon_data_id;
  expect((await push(report, [good(1)])).status).toBe(200);
  stack.engines.nats.pause();
  await untilPaused(stack.engines.nats.pid ?? 0);
  const told = await push(report, [good(2), good(3)], 'doubtful');
  stack.engines.nats.resume();
  expect([told.status, told.text]).toEqual([503, expect.stringContaining('unconfirmed')]);
  const again = await until('an answer', async () => {
    const answer = await push(report, [good(2), good(3)], 'doubtful');
    return answer.status === 200 && answer;
  });
  expect(again.text).toContain('before');
  const life = await lifeNow();
  expect(await ingress().stop()).toBe(0);
  const { lines, doubtful } = await publishersBookIn(bus);
  const stored = (await storedIn(bus, 'METRICS')).filter(
    ({ place, items }) => place.life === life && items.has(dataId),
  );
  expect(itemsOf(bookRows(lines, 'METRICS', life), dataId)).toBe(1);
  // A repeat that needs several tries on a slow machine is doubtful, too.
  const named = doubtful.map((line) => [line.data_id, line.serial, line.items, line.told].join());
  expect(named).toContain(`${dataId},${stored.at(-1)?.place.serial},2,0`);
  expect(doubtful.every((line) => line.data_id === dataId && line.items === 2)).toBe(true);
});

it('SIGTERM while LEDGER is full ends ingress in order, and the life has no end', async () => {
  await startAgain();
  const report = await stack.createReport('book full');
  const before = (await publishersBookIn(bus)).lines.length;
  await limitStream(bus, 'LEDGER', 1);
  expect((await push(report, [good(1)])).status).toBe(200);
  const life = await lifeNow();
  await until('LEDGER refuses the book', () =>
    ingress().lines.some((line) => line.includes("the publishers' book does not reach LEDGER")),
  );
  const startedAt = performance.now();
  expect(await ingress().stop()).toBe(0);
  expect(performance.now() - startedAt).toBeLessThan(5 * 4_000);
  const { lines } = await publishersBookIn(bus);
  expect(lines.length).toBe(before);
  expect(lines.filter((line) => line.life === life)).toEqual([]);
});
