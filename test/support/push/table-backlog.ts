import { expect } from 'vitest';
import { z } from 'zod';
import { connectBus } from '../../../src/bus/connection.ts';
import { missedByTransfer } from '../stack/readiness.ts';
import type { Stack } from '../stack/stack.ts';
import { waitFor } from '../wait.ts';
import { createPointMessages, createTableSql, unknownTable } from './point-messages.ts';

const bulkAnswer = z.looseObject({ matched: z.number() });
const atOnce = 200;

/**
 * This many messages wait for a missing table, and ten for another behind them: more than the consumer delivers without
 * an acknowledgement. The ten must be stored long before the points of the missing table are dead-lettered; of the
 * others none is lost.
 */
export const holdTableBacklog = async (
  stack: Stack,
  { dataId, messages, boundMs }: { dataId: number; messages: number; boundMs: number },
): Promise<void> => {
  const table = unknownTable(dataId);
  const other = await stack.createReport(`beside ${dataId}`);
  const transfer = stack.transfer[0];
  if (transfer === undefined) throw new Error('no transfer runs');
  const letters = async (): Promise<number> => (await stack.streamState('DEADLETTER')).messages;
  const lettersBefore = await letters();
  await transfer.stop();
  const bus = await connectBus(stack.engines.nats.url, 'test');
  const pushTo = createPointMessages(bus);
  for (let sent = 0; sent < messages; sent += atOnce) {
    const some = Math.min(atOnce, messages - sent);
    await Promise.all(Array.from({ length: some }, () => pushTo(dataId, 1)));
  }
  await bus.close();
  const { mon_data_id: data_id, token: access_token } = other.data_source;
  const now = Date.now();
  for (let pushes = 0; pushes < 10; pushes++) {
    const response = await fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['push']}/v2/push/`, {
      method: 'POST',
      body: JSON.stringify({
        data_id,
        access_token,
        data: [{ metrics: { up: 1 }, timestamp: now - pushes }],
      }),
    });
    expect(response.status).toBe(200);
  }
  transfer.start();
  await stack.waitForRows(other.result_table.table_id, 10, boundMs);
  expect((await missedByTransfer(stack))['questdb_tables']).toContain(`${table} (the table does not exist`);
  await stack.waitForEmptyStream('METRICS', boundMs);
  expect((await letters()) - lettersBefore).toBe(messages);
  await stack.query(createTableSql(table));
  // A thousand of them are enough: each takes some milliseconds.
  await waitFor('transfer has seen the table', boundMs, async () => {
    const { body } = await stack.api('POST', '/api/v1/dead-letters/redrive', { table, limit: 1 });
    await stack.waitForEmptyStream('METRICS', boundMs);
    return bulkAnswer.parse(body).matched === 1 && (await letters()) < lettersBefore + messages;
  });
  await stack.api('POST', '/api/v1/dead-letters/redrive', { table, limit: 999 });
  await stack.waitForEmptyStream('METRICS', boundMs);
  await stack.waitForRows(table, 1_000, boundMs);
  expect((await letters()) - lettersBefore).toBe(messages - 1_000);
};
