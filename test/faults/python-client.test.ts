import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { type GatedStack, startGatedStack } from '../support/stack/gated-stack.ts';
import { pubAckOf, second } from '../support/steps.ts';

const points = 2_000;
/** Requests of 20 points: below what the client can send, so that it is refused at times. */
const requestsPerSecond = 20;

let stack: GatedStack;
beforeAll(async () => {
  stack = await startGatedStack();
});
afterAll(() => stack?.stop());

const numbers = z.object({
  stored: z.number(),
  lost: z.number(),
  buffered: z.number(),
  retries: z.number(),
  replays: z.number(),
  replayed: z.number(),
  losses: z.array(z.unknown()),
});

const root = join(import.meta.dirname, '../..');

it('what the Python client pushes is stored once: through a rate limit, a lost answer, and kills of the receiver and of NATS', async () => {
  const { data_source: source, result_table: table } = await stack.createReport('python', {
    max_rate: requestsPerSecond,
  });
  const [ingress] = stack.ingress;
  const url = `http://127.0.0.1:${ingress?.ports['push']}`;
  const script = join(root, 'test/support/python/push_points.py');
  const args = [script, url, String(source.mon_data_id), source.token, String(points)];
  const env = {
    ...process.env,
    PYTHONPATH: join(root, 'clients/python'),
    PYTHONDONTWRITEBYTECODE: '1',
  };
  const gate = stack.gate('ingress-0', 'nats');
  const stored = gate.hold('the confirmation of a push', pubAckOf('METRICS'));
  const pushing = promisify(execFile)('python3', args, { env });

  // Stored, but the receiver ends before it can say so.
  await stored.arrived();
  await ingress?.kill();
  stored.lose();
  ingress?.start();
  await ingress?.ready();

  // The first one may be of the same push again, whose repeat has to be recognised.
  const onItsWay = gate.hold('the confirmation of another push', second(pubAckOf('METRICS')));
  await onItsWay.arrived();
  await stack.engines.nats.kill();
  onItsWay.lose();
  await stack.engines.nats.start();
  await ingress?.ready();

  const { stdout } = await pushing;
  const told = numbers.parse(JSON.parse(stdout));
  expect(told).toMatchObject({ lost: 0, buffered: 0, losses: [] });
  expect(told.stored + told.replayed).toBe(points);
  // Those without an answer, and those beyond the limit.
  expect(told.retries).toBeGreaterThan(2);
  expect(told.replays).toBeGreaterThanOrEqual(1);
  await stack.waitForRows(table.table_id, points, 60_000);
  const { dataset } = await stack.query(
    `SELECT count(), count_distinct("number"::long), count_distinct(uid) FROM "${table.table_id}"`,
  );
  expect(dataset).toEqual([[points, points, points]]);
});
