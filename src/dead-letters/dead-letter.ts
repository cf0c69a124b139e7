import { z } from 'zod';
import { messageIdHeader } from '../bus/message-headers.ts';
import type { StoredMessage } from '../bus/stream-reader.ts';
import { ownerColumns, pipelineOfStream, pipelines } from '../model/signals.ts';
import type { MessageOfOwner } from '../outcomes/record-reader.ts';
import { isBlockPart } from '../wire/blocks-envelope.ts';
import { decodeFrame } from '../wire/frame.ts';
import { isDecimal } from '../wire/message-key.ts';
import { isPart } from '../wire/metrics-envelope.ts';
import type { DeadLetterPart } from './dead-letters.ts';

export const deadLetterStream = 'DEADLETTER';

const partSchema = z.custom<DeadLetterPart>((value) => isPart(value) || isBlockPart(value));

const headerSchema = z.object({
  version: z.number(),
  reason: z.string(),
  error: z.string(),
  stream: z.string(),
  streamSequence: z.number(),
  subject: z.string(),
  dataId: z.number().optional(),
  appId: z.number().optional(),
  table: z.string().optional(),
  uid: z.string().optional(),
  part: partSchema.optional(),
  arrivedAt: z.number().optional(),
  items: z.number().optional(),
  outcome: z.object({ base: z.string(), first: z.number(), minute: z.string() }).optional(),
  ordinal: z.number().optional(),
  redrive: z.number().default(0),
  at: z.number(),
});

/** A dead letter as stored. */
export type Letter = {
  /** Its sequence in DEADLETTER, by which commands name it. */
  readonly sequence: number;
  /** Time of the dead-lettering, ms since 1970. */
  readonly at: number;
  /** When DEADLETTER took it, by the clock of NATS; a restored copy keeps it. Ms since 1970. */
  readonly keptAt: number;
  /** The source of its message id: the same for each of its redrives. */
  readonly identity: string;
  readonly header: z.output<typeof headerSchema>;
  readonly bytes: Buffer;
};

/** The dead letter in a message of DEADLETTER; undefined if this program cannot read it as one. */
export const readLetter = ({ sequence, time, headers, payload }: StoredMessage): Letter | undefined => {
  const frame = decodeFrame(payload, undefined);
  if (frame.kind !== 'frame') return undefined;
  const header = headerSchema.safeParse(frame.header);
  if (!header.success) return undefined;
  const messageId = headers.get(messageIdHeader) ?? '';
  const identity = /^dl:(.+):\d+$/.exec(messageId)?.[1] ?? `sequence-${sequence}`;
  return { sequence, at: header.data.at, keptAt: time, identity, header: header.data, bytes: frame.body };
};

/** The number of its items. */
export const itemsOf = ({ header }: Letter): number => header.items ?? header.part?.rows ?? 1;

/** The message and owner whose records count its items; undefined where none do. */
export const messageOf = ({ header }: Letter): MessageOfOwner | undefined => {
  const { outcome, stream, dataId = 0, appId = 0 } = header;
  if (outcome === undefined || !isDecimal(outcome.base)) return undefined;
  const { base, first } = outcome;
  const pipeline = pipelineOfStream(stream);
  if (pipeline === undefined) return undefined;
  return { pipeline, ...ownerColumns(pipeline, dataId || appId), base, first };
};

export const letterPipelines = [...pipelines, 'ledger'] as const;
type LetterPipeline = (typeof letterPipelines)[number];

const isOfPipeline = (pipeline: LetterPipeline, stream: string): boolean =>
  pipeline === 'ledger' ? stream === 'LEDGER' : pipelineOfStream(stream) === pipeline;

/** Filter for dead letters; all given criteria must match. */
export type LetterFilter = {
  /** Of the stream that it came from. */
  readonly pipeline?: LetterPipeline | undefined;
  readonly reason?: string | undefined;
  readonly dataId?: number | undefined;
  readonly appId?: number | undefined;
  readonly table?: string | undefined;
  /** Dead-lettered at or after this time, ms since 1970. */
  readonly since?: number | undefined;
  /** Dead-lettered before this time, ms since 1970. */
  readonly until?: number | undefined;
};

export const matches = ({ header, at }: Letter, filter: LetterFilter): boolean =>
  (filter.pipeline === undefined || isOfPipeline(filter.pipeline, header.stream)) &&
  (filter.reason === undefined || header.reason === filter.reason) &&
  (filter.dataId === undefined || header.dataId === filter.dataId) &&
  (filter.appId === undefined || header.appId === filter.appId) &&
  (filter.table === undefined || header.table === filter.table) &&
  (filter.since === undefined || at >= filter.since) &&
  (filter.until === undefined || at < filter.until);

/** Arrival of its items, ms since 1970: exact where the header has it, else to the minute, else the time of the dead-lettering. */
export const arrivedAtOf = ({ header, at }: Letter): number => {
  if (header.arrivedAt !== undefined) return header.arrivedAt;
  return header.outcome === undefined ? at : Date.parse(`${header.outcome.minute.replace(' ', 'T')}Z`);
};
