import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { createPublisher, type Publisher } from '../../src/bus/publisher.ts';
import { readDeadLetters } from '../support/outcomes/dead-letters.ts';
import { readyzOf } from '../support/stack/readiness.ts';
import { type Stack, startStack } from '../support/stack/stack.ts';
import { until } from '../support/until.ts';

const inARowMax = 20;

let stack: Stack;
let bus: Bus;
let publisher: Publisher;

beforeAll(async () => {
  stack = await startStack({
    traces: true,
    pipelines: (file, text) =>
      file === 'ledger.yaml'
        ? text
            .replace(/dead_letters_in_a_row_max: \d+/, `dead_letters_in_a_row_max: ${inARowMax}`)
            // Longer than the test: only a resume by hand ends it.
            .replace(/pause_seconds: \d+/, 'pause_seconds: 600')
        : text,
  });
  bus = await connectBus(stack.engines.nats.url, 'test');
  publisher = createPublisher(bus, { deadlineMs: 10_000, awayMs: 5_000 });
});
afterAll(async () => {
  publisher?.close();
  await bus?.close();
  await stack?.stop();
});

const readiness = () => readyzOf(stack.transfer[0]);

const publishRefused = (id: string, lines: number): Promise<unknown> =>
  publisher.publish('ledger.outcomes', id, Buffer.from(`{"colour":"${id}"}\n`.repeat(lines)), 1);

const inLedger = async (): Promise<number> =>
  (await (await bus.manager()).streams.info('LEDGER')).state.messages;

// Tables that do not fit refuse every record: the stream must keep the records until an operator has repaired them, and
// points and spans must continue meanwhile.
it('stops when ClickHouse refuses every record, says so, and continues when it is resumed', async () => {
  await publishRefused('first', inARowMax + 5);
  const told = await until('it is degraded', async () => {
    const ready = await readiness();
    return ready.degraded['outcomes_breaker'] !== undefined && ready;
  });
  expect(told.status).toBe(200);
  expect(told.degraded['outcomes_breaker']).toContain('items in a row went to the dead letters');
  await until('the message that opened it is settled', async () => (await inLedger()) === 0);
  const letters = (await readDeadLetters(bus)).length;
  await publishRefused('second', 2);
  expect(await inLedger()).toBe(1);

  const answer = await stack.api('POST', '/api/v1/consumers/ledger/resume', {});
  expect(answer).toMatchObject({ status: 200, body: { pipeline: 'ledger' } });
  await stack.waitForEmptyStream('LEDGER');
  expect((await readDeadLetters(bus)).length).toBeGreaterThan(letters);
  await until('nothing is degraded', async () => Object.keys((await readiness()).degraded).length === 0);
});
