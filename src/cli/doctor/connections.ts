import { z } from 'zod';
import { connectBus } from '../../bus/connection.ts';
import { pipelinesOf } from '../../config/instance-streams.ts';
import { natsTarget, type Settings } from '../../config/settings.ts';
import { type Finding, look, lookAtStreams } from '../../doctor/dependencies.ts';
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

/** The admin API, with the token of this command. */
export const lookAtAdmin = async (client: AdminClient): Promise<Finding[]> => [
  await look('admin api', async () => {
    await client.ask(z.object({ items: z.array(z.unknown()) }), 'GET', '/api/v1/custom-reports?limit=1');
    return 'answers and accepts the token';
  }),
];
