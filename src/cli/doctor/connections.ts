import { z } from 'zod';
import { connectBus } from '../../bus/connection.ts';
import { pipelinesOf } from '../../config/instance-streams.ts';
import { natsTarget, type Settings } from '../../config/settings.ts';
import { type Finding, look, lookAtStreams } from '../../doctor/dependencies.ts';
import { Fault } from '../../model/fault.ts';
import type { AdminClient } from '../client.ts';

/** NATS, its clock, and each stream. */
export const lookAtNats = async (settings: Settings): Promise<Finding[]> => {
  const { streams } = pipelinesOf(settings);
  let bus: Awaited<ReturnType<typeof connectBus>> | undefined;
  const connecting = await look('nats', async () => {
    bus = await connectBus(natsTarget(settings), 'tidemark-doctor');
    return `answers in ${await bus.nc.rtt()} ms`;
  });
  if (bus === undefined) return [connecting];
  const findings = await lookAtStreams(bus, streams);
  await bus.close();
  return [connecting, ...findings];
};

const checks = z.array(z.object({ check: z.string(), why: z.string() }));
const processesSchema = z.object({
  items: z.array(
    z.object({
      ...{ role: z.string(), host: z.string(), pid: z.number(), state: z.string() },
      ...{ failing: checks, degraded: checks },
    }),
  ),
});

/** The admin API, with the token of this command, and the records that some role cannot read. */
export const lookAtAdmin = async (client: AdminClient): Promise<Finding[]> => [
  await look('admin api', async () => {
    await client.ask(z.object({ items: z.array(z.unknown()) }), 'GET', '/api/v1/custom-reports?limit=1');
    return 'answers and accepts the token';
  }),
  await look('records', async () => {
    // The troubles of the line are cut: with many of them these may not be among them.
    const { value } = await client.ask(processesSchema, 'GET', '/api/v1/processes');
    const unread = value.items.flatMap(({ role, host, pid, state, failing, degraded }) =>
      [...failing, ...degraded].flatMap(({ check, why }) =>
        check === 'records' && state !== 'gone' ? [`${role} ${host}:${pid}: ${why}`] : [],
      ),
    );
    if (unread.length === 0) return 'can be read';
    throw new Fault('permanent', 'record_invalid', unread.join('; '));
  }),
];
