import { z } from 'zod';
import { parseJson } from '../model/json.ts';
import { byPipeline } from '../model/signals.ts';

// A process says once a second how it is, as one message of core NATS that nothing keeps. Best effort: the books are what is exact.

/** The roles that have a pulse. */
export const pulseRoles = ['ingress', 'transfer', 'metadata'] as const;
export type PulseRole = (typeof pulseRoles)[number];

/** The subject of a process; `id` stands for this life of it, 16 hex digits. */
export const pulseSubject = (role: PulseRole, id: string): string => `pulse.${role}.${id}`;
export const pulseSubjects = 'pulse.*.*';

/** The role and the id in a subject of a pulse; undefined for any other. */
export const pulseOrigin = (subject: string): { role: PulseRole; id: string } | undefined => {
  const [, name, id] = /^pulse\.([a-z]+)\.([0-9a-f]{16})$/.exec(subject) ?? [];
  const role = pulseRoles.find((each) => each === name);
  return role === undefined || id === undefined ? undefined : { role, id };
};

/** The largest pulse that is read, bytes. */
export const pulseBytesMax = 16_384;
export const whyMax = 300;
export const checksMax = 32;
export const reasonsMax = 5;
const pipelinesMax = 64;
export const actsMax = 8;

const figure = z.number().nonnegative();
const count = z.int().nonnegative();
const name = z.string().min(1).max(128);
const few = <T extends z.ZodRecord>(record: T, max: number) =>
  record.refine((value) => Object.keys(value).length <= max, 'has too many entries');
const checks = few(z.record(name, z.string().max(whyMax)), checksMax);

const pipelinePulse = z.object({
  items: figure,
  rows: figure,
  dropped: figure,
  deadLettered: figure,
  bytes: figure,
  acks: figure,
  retries: figure,
  /** Of the writes of this second; null where there was none. */
  writeP99Ms: figure.nullable(),
  heldBytes: figure,
  setAside: count,
  waiting: count,
  isBreakerOpen: z.boolean(),
  isHeld: z.boolean(),
});

/** A redrive or a purge of dead letters, as far as it has come. */
const actPulse = z.object({
  id: count,
  act: z.enum(['redrive', 'purge']),
  isDryRun: z.boolean(),
  startedAt: count,
  matched: count,
  done: count,
  failed: count,
  items: count,
  hasEnded: z.boolean(),
});

const tables = z.object({ suspended: count, broken: count, noUpsertKeys: count });

/**
 * What a pulse says. Rates are per second, over the time since the pulse before. Newer programs may say more: what is not known
 * here is left out.
 */
const pulseFields = z.object({
  version: name,
  host: name,
  pid: count,
  /** Unix seconds. */
  startedAt: count,
  /** Its clock when it was sent, ms since 1970. Earlier programs do not say it. */
  clockMs: count.optional(),
  /** What `/readyz` names, with the reasons. */
  failing: checks,
  degraded: checks,
  /** Share of one core. */
  cpu: figure,
  loopP99Ms: figure,
  rssBytes: count,
  /** The reasons of most dropped items. */
  dropped: z.array(z.object({ reason: name, rate: figure })).max(reasonsMax),
  /** The last pulse of a process that stops in order. */
  isLast: z.boolean(),
  ingress: z
    .object({
      /** A program of before a signal was added says nothing of it. */
      items: z.object(byPipeline(() => figure.default(0))),
      bytes: z.object({ push: figure, otlp: figure }),
      refused: figure,
      dropped: figure,
      bytesInFlight: figure,
      connections: count,
    })
    .optional(),
  transfer: z
    .object({
      /** By label of the pipeline: `metrics`, `metrics-b`, `traces`, `ledger`. */
      pipelines: few(z.record(name, pipelinePulse), pipelinesMax),
      /** By QuestDB instance. */
      tables: few(z.record(name, tables), pipelinesMax),
    })
    .optional(),
  metadata: z.object({ requests: figure, acts: z.array(actPulse).max(actsMax) }).optional(),
});

/**
 * A pulse, also of an earlier program: that one says `warnings` instead of `degraded`, and lists most of what is degraded under
 * `failing`.
 */
export const pulseSchema = z.preprocess((pulse) => {
  if (typeof pulse !== 'object' || pulse === null || 'degraded' in pulse || !('warnings' in pulse))
    return pulse;
  const { warnings, ...rest } = pulse;
  return { ...rest, degraded: warnings };
}, pulseFields);

export type Pulse = z.output<typeof pulseFields>;
/** What is sent: readers of an earlier version demand `warnings`, which says nothing any more. */
export type SentPulse = Pulse & { readonly warnings: Readonly<Record<string, never>> };
export type PipelinePulse = z.output<typeof pipelinePulse>;
export type ActPulse = z.output<typeof actPulse>;
/** What only one role says. */
export type RolePulse = Pick<Pulse, 'dropped' | 'ingress' | 'transfer' | 'metadata'>;

/** A pulse from its bytes; undefined where it is none. */
export const readPulse = (payload: Uint8Array): Pulse | undefined =>
  payload.byteLength > pulseBytesMax
    ? undefined
    : pulseSchema.safeParse(parseJson(Buffer.from(payload).toString('utf8'))).data;
