import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import { connectBus } from '../../bus/connection.ts';
import { pipelinesOf } from '../../config/instance-streams.ts';
import { natsTarget, type Settings } from '../../config/settings.ts';
import { type Finding, look, lookAtStreams } from '../../doctor/dependencies.ts';
import { errorText, Fault } from '../../model/fault.ts';
import { bytesText } from '../amounts.ts';
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
      degraded: checks,
    }),
  ),
});

const troubleSchema = z.object({
  ...{ code: z.string(), severity: z.string(), text: z.string() },
  ...{ remedy: z.string(), runbook: z.string() },
});
const lineSchema = z.object({ troubles: z.array(troubleSchema) });

type Trouble = z.output<typeof troubleSchema>;

/** A pulse comes each second: a process that was becoming ready has sent the next one by then. */
const pulsesMs = 2_000;

/** Read once more where some are urgent: those of a start or a restart pass. */
const readTroubles = async (client: AdminClient, againMs: number): Promise<readonly Trouble[]> => {
  const read = async (): Promise<readonly Trouble[]> =>
    (await client.ask(lineSchema, 'GET', '/api/v1/line')).value.troubles;
  const troubles = await read();
  if (!troubles.some(isUrgent)) return troubles;
  await setTimeout(againMs);
  return read();
};

const isUrgent = ({ severity }: Trouble): boolean => severity !== 'ticket';

const remedyWithPlace = ({ remedy, runbook }: Trouble): string => `${remedy} (${runbook})`;

/** A finding for each urgent trouble of the line; the others are named, and fail nothing. */
const lookAtTroubles = async (client: AdminClient, againMs: number): Promise<Finding[]> => {
  let troubles: readonly Trouble[] = [];
  const reading = await look('troubles', async () => {
    troubles = await readTroubles(client, againMs);
    const others = troubles.filter((each) => !isUrgent(each));
    const texts = others.map((each) => `${each.text}: ${remedyWithPlace(each)}`);
    return texts.length === 0 ? 'the line has none' : `none is urgent; ${texts.join('; ')}`;
  });
  const urgent = troubles.filter(isUrgent);
  if (urgent.length === 0) return [reading];
  return urgent.map((each) => ({
    ...{ name: `troubles: ${each.code}`, ok: false, detail: each.text, remedy: remedyWithPlace(each) },
    ms: reading.ms,
  }));
};

const disksSchema = z.object({
  volumes: z.array(
    z.object({ disk: z.string(), free_bytes: z.number().nullable(), total_bytes: z.number().nullable() }),
  ),
});

/** Where the alarm TidemarkDiskFull begins. */
const freeShareMin = 0.05;

const readVolumes = async (client: AdminClient) =>
  (await client.ask(disksSchema, 'GET', '/api/v1/usage/disk')).value.volumes;

/** The disks whose space metadata knows. Throws a Fault where one of them is nearly full; a store that does not answer has its own finding. */
const disksText = async (client: AdminClient): Promise<string> => {
  const volumes = await readVolumes(client).catch((error: unknown) => errorText(error));
  if (typeof volumes === 'string') return `not known: ${volumes}`;
  const known = volumes.flatMap(({ disk, free_bytes: free, total_bytes: total }) =>
    free === null || total === null || total === 0 ? [] : [{ disk, free, total }],
  );
  const text = known
    .map(
      ({ disk, free, total }) =>
        `${disk}: ${((100 * free) / total).toFixed(1)} % of ${bytesText(total)} is free`,
    )
    .join('; ');
  if (known.some(({ free, total }) => free / total < freeShareMin))
    throw new Fault('permanent', 'disk_full', text);
  return text === '' ? 'metadata knows the space of none' : text;
};

/** The records that some role cannot read. Throws a Fault that names them. */
const recordsText = async (client: AdminClient): Promise<string> => {
  // The troubles of the line are cut: with many of them these may not be among them.
  const { value } = await client.ask(processesSchema, 'GET', '/api/v1/processes');
  // Among `failing` the check says that a process still starts.
  const unread = value.items.flatMap(({ role, host, pid, state, degraded }) =>
    degraded.flatMap(({ check, why }) =>
      check === 'records' && state !== 'gone' ? [`${role} ${host}:${pid}: ${why}`] : [],
    ),
  );
  if (unread.length === 0) return 'can be read';
  throw new Fault('permanent', 'record_invalid', unread.join('; '));
};

/**
 * The admin API, with the token of this command; the troubles of the line, the disks, and the records that some role cannot read. An API
 * that does not answer, alone.
 */
export const lookAtAdmin = async (client: AdminClient, againMs = pulsesMs): Promise<Finding[]> => {
  const api = await look('admin api', async () => {
    await client.ask(z.object({ items: z.array(z.unknown()) }), 'GET', '/api/v1/custom-reports?limit=1');
    return 'answers and accepts the token';
  });
  if (!api.ok) return [api];
  return [
    api,
    ...(await lookAtTroubles(client, againMs)),
    await look('disk', () => disksText(client)),
    await look('records', () => recordsText(client)),
  ];
};
