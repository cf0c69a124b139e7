import {
  AckPolicy,
  DiscardPolicy,
  JetStreamApiError,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import type { ConsumerDefinition, StreamDefinition } from '../config/pipelines.ts';
import { Fault } from '../model/fault.ts';
import { startRounds } from '../runtime/rounds.ts';
import type { Log } from '../telemetry/log.ts';
import type { Bus } from './connection.ts';
import { toFault, toFaultOfCopies, unlessMissing } from './nats-fault.ts';
import {
  heldWhy,
  isOfAnother,
  lastingDifferencesOf,
  markOf,
  noTransform,
  unlimited,
  unlimitedConsumer,
  withMark,
} from './stream-differences.ts';

const streamConfig = (stream: StreamDefinition): Partial<StreamConfig> & { name: string } => ({
  name: stream.name,
  subjects: [...stream.subjects],
  retention: stream.retention === 'workqueue' ? RetentionPolicy.Workqueue : RetentionPolicy.Limits,
  storage: StorageType.File,
  discard: stream.discard === 'old' ? DiscardPolicy.Old : DiscardPolicy.New,
  max_bytes: stream.bytesMax,
  duplicate_window: nanos(stream.duplicateWindowMs),
  num_replicas: stream.replicas,
  ...unlimited,
  ...(stream.isAtomic === true ? { allow_atomic: true } : {}),
});

const consumerConfig = (consumer: ConsumerDefinition) => ({
  durable_name: consumer.name,
  ack_policy: AckPolicy.Explicit,
  ack_wait: nanos(consumer.ackWaitMs),
  max_ack_pending: consumer.ackPendingMax,
  max_deliver: unlimitedConsumer.max_deliver,
});

/**
 * Makes a consumer again that an update does not bring to its definition. A queue gives it all that is not settled, and what was
 * delivered before is compared with the store: its deliveries are of another consumer (`Fence`).
 */
const remakeConsumer = async (
  { consumers, streams }: JetStreamManager,
  stream: string,
  consumer: ConsumerDefinition,
  pauseUntil: string | undefined,
): Promise<void> => {
  const found = await streams.info(stream);
  if (heldWhy(found) !== undefined) return;
  const { state } = found;
  if (state.consumer_count > 1)
    // A queue takes it only alone: once deleted it could not be made.
    throw new Fault(
      'permanent',
      'consumer_not_alone',
      `consumer ${consumer.name} cannot be created again beside ${state.consumer_count - 1} others of stream ${stream}: ` +
        `remove those (nats consumer ls ${stream}, nats consumer rm ${stream} NAME)`,
    );
  await unlessMissing(consumers.delete(stream, consumer.name));
  const pause = pauseUntil === undefined ? {} : { pause_until: pauseUntil };
  await consumers.add(stream, { ...consumerConfig(consumer), ...pause });
};

/** The server refuses to add a consumer that exists with another definition. */
const ensureConsumer = async (
  manager: JetStreamManager,
  stream: string,
  consumer: ConsumerDefinition,
  isWatch: boolean,
): Promise<void> => {
  const { consumers } = manager;
  const config = consumerConfig(consumer);
  try {
    await consumers.add(stream, config);
  } catch (error) {
    if (toFault(error).code !== 'consumer_differs') throw error;
    const found = await consumers.info(stream, consumer.name);
    const isLasting = lastingDifferencesOf(found).length > 0;
    if (!isLasting) await consumers.update(stream, consumer.name, { ...config, ...unlimitedConsumer });
    else
      await remakeConsumer(manager, stream, consumer, found.config.pause_until).catch((refusal: unknown) => {
        // The watch tells it from then on: the others need a start.
        if (isWatch || toFault(refusal).kind === 'transient') throw refusal;
      });
  }
};

/** Makes the stream with this first number; of one that is there, what is done depends on who asks. */
type Made =
  | {
      readonly isThere: false;
      readonly firstSequence: number | undefined;
      readonly mark?: string | undefined;
    }
  | { readonly isThere: true; readonly by: 'watch' | FirstMarks };

/**
 * What a process saw first of each stream: its mark, or that it was missing. The start of a process is one moment, although its attempts
 * may go on for long: it does not take a stream from one that started meanwhile.
 */
export type FirstMarks = Map<string, string | undefined>;
const wasMissing = '';

/** The process that starts last has the definition that holds: a watch leaves one that another has given. */
const changeStream = async (
  { streams }: JetStreamManager,
  stream: StreamDefinition,
  made: 'watch' | FirstMarks,
): Promise<void> => {
  const found = await streams.info(stream.name);
  const metadata = withMark(stream, found);
  const isOthers = isOfAnother(stream, found);
  if (made !== 'watch' && !made.has(stream.name)) made.set(stream.name, markOf(found));
  const isStart = made !== 'watch' && made.get(stream.name) === markOf(found);
  if (heldWhy(found) === undefined) {
    const transform = found.config.subject_transform === undefined ? {} : { subject_transform: noTransform };
    const config = { ...streamConfig(stream), ...transform, metadata };
    if (isStart || !isOthers) await streams.update(stream.name, config);
  } else if (isStart && isOthers) {
    // The mark alone, for the time after the hold. A held stream that refuses even that stops no start.
    await streams.update(stream.name, { metadata }).catch(() => undefined);
  }
};

const ensureStream = async (
  manager: JetStreamManager,
  stream: StreamDefinition,
  made: Made,
): Promise<void> => {
  if (made.isThere) await changeStream(manager, stream, made.by);
  else {
    const { firstSequence, mark } = made;
    const config = { ...streamConfig(stream), metadata: withMark(stream, undefined, mark) };
    await manager.streams.add(firstSequence === undefined ? config : { ...config, first_seq: firstSequence });
  }
  if (stream.consumer !== undefined)
    await ensureConsumer(manager, stream.name, stream.consumer, made.isThere && made.by === 'watch');
};

/**
 * The number of the first message of a stream that is made: above every number of an earlier stream of this name, because books,
 * acknowledgements and dead letters name messages by them. Undefined for one that never was: it begins at 1. `names`: the streams
 * that are there.
 */
export type FirstSequenceOf = (stream: string, names: ReadonlySet<string>) => Promise<number | undefined>;

/**
 * Makes a stream that is missing, or brings it and its consumer to their definition. `mark`: that of the missing stream, as it was
 * seen last, by which a process with that definition brings it back to it. Throws the Fault of the refusal.
 */
export const mendStream = async (
  bus: Bus,
  stream: StreamDefinition,
  firstSequence: number | 'is there',
  mark?: string,
): Promise<void> => {
  try {
    const made: Made =
      firstSequence === 'is there' ? { isThere: true, by: 'watch' } : { isThere: false, firstSequence, mark };
    await ensureStream(await bus.manager(), stream, made);
  } catch (error) {
    throw toFaultOfCopies(error, stream.replicas, bus.nc);
  }
};

const gibibytes = (streams: readonly StreamDefinition[]): string =>
  (streams.reduce((sum, { bytesMax }) => sum + bytesMax, 0) / 2 ** 30).toFixed(1);

const noRoomCodes: readonly string[] = ['insufficient_storage', 'insufficient_resources'];

/** JetStream refuses this definition of a stream; of one that is there, for instance, a change of its retention to workqueue. */
const refusedDefinition = 10052;

/** A refusal of JetStream that comes at each retry, with what to do. `isThere`: the stream has another definition. */
const explained = (
  { nc }: Pick<Bus, 'nc'>,
  { name, replicas }: StreamDefinition,
  error: JetStreamApiError,
  isThere: boolean,
): Fault => {
  const { kind, code, message } = toFaultOfCopies(error, replicas, nc);
  if (error.code !== refusedDefinition || !isThere) return new Fault(kind, code, message, error);
  const remedy =
    'NATS cannot change this field of an existing stream. Stop the receivers, wait until ' +
    `nats consumer report ${name} shows no message, then run nats stream rm ${name}; ` +
    'metadata creates the stream again with higher sequences';
  return new Fault(kind, code, `${message}: ${remedy}`, error);
};

/** The refusal of one of these streams, with its name; without room, with what to do. */
const refusedStream = (
  stream: string,
  { kind, code, message, cause }: Fault,
  streams: readonly StreamDefinition[],
): Fault => {
  const remedy = noRoomCodes.includes(code)
    ? `: NATS has no room for it, and the roles wait. Raise max_file_store above the bytes_max of all streams, ${gibibytes(streams)} GiB on ` +
      'each server that holds them, or lower bytes_max in pipelines/streams.yaml (docs/operations.md, Upgrade)'
    : '';
  return new Fault(kind, code, `stream ${stream} cannot be created or changed: ${message}${remedy}`, cause);
};

/**
 * Creates the missing streams and durable consumers and updates the others to their definition. Any number of processes may do so
 * at once. `firstMarks`: the same for all attempts of a process. Throws a Fault: a stream that cannot be changed to its definition stays unchanged. Returns the streams of further
 * QuestDB instances that JetStream refuses, with the reasons: all other streams work without them.
 */
export const ensureTopology = async (
  bus: Bus,
  streams: readonly StreamDefinition[],
  firstSequenceOf: FirstSequenceOf = async () => undefined,
  firstMarks: FirstMarks = new Map(),
): Promise<ReadonlyMap<string, Fault>> => {
  const refused = new Map<string, Fault>();
  try {
    const manager = await bus.manager();
    const names = new Set<string>();
    for await (const name of manager.streams.names()) names.add(name);
    for (const stream of streams) {
      try {
        if (!names.has(stream.name) && !firstMarks.has(stream.name)) firstMarks.set(stream.name, wasMissing);
        const made: Made = names.has(stream.name)
          ? { isThere: true, by: firstMarks }
          : { isThere: false, firstSequence: await firstSequenceOf(stream.name, names) };
        await ensureStream(manager, stream, made);
      } catch (error) {
        if (!(error instanceof JetStreamApiError)) throw error;
        const fault = explained(bus, stream, error, names.has(stream.name));
        if (stream.isFurther !== true) throw refusedStream(stream.name, fault, streams);
        refused.set(stream.name, fault);
      }
    }
  } catch (error) {
    throw toFault(error);
  }
  return refused;
};

/** A stream that another role creates, and has not created yet. */
const missingCode = 'stream_missing';

const missingFault = (what: string): Fault =>
  new Fault(
    'transient',
    missingCode,
    `${what} does not exist yet: metadata creates it, and its log says why where it cannot`,
  );

/**
 * Looks at the streams, and with `consumers` at their durable consumers, for a role that uses them and may not create them. Throws a
 * Fault: transient `stream_missing` for one that metadata has not created yet. Returns the missing streams of further QuestDB
 * instances: all other streams work without them.
 */
export const findTopology = async (
  bus: Bus,
  streams: readonly StreamDefinition[],
  of: 'streams' | 'streams and consumers',
): Promise<ReadonlyMap<string, Fault>> => {
  const manager = await bus.manager();
  const missing = new Map<string, Fault>();
  for (const { name, consumer, isFurther } of streams) {
    let fault: Fault | undefined;
    if ((await unlessMissing(manager.streams.info(name))) === undefined)
      fault = missingFault(`stream ${name}`);
    else if (
      of !== 'streams' &&
      consumer !== undefined &&
      (await unlessMissing(manager.consumers.info(name, consumer.name))) === undefined
    )
      fault = missingFault(`consumer ${consumer.name} of stream ${name}`);
    if (fault !== undefined && isFurther !== true) throw fault;
    if (fault !== undefined) missing.set(name, fault);
  }
  return missing;
};

/**
 * Throws a permanent Fault `batches_unsupported` when a stream for atomic batches does not accept them: a server without support
 * drops that word from its definition, and would store a request of several messages in part.
 */
export const checkBatches = async (bus: Bus, streams: readonly StreamDefinition[]): Promise<void> => {
  const manager = await bus.manager();
  for (const { name, isAtomic, isFurther } of streams) {
    if (isAtomic !== true || isFurther === true) continue;
    const { config } = await manager.streams.info(name).catch((error: unknown) => {
      throw toFault(error);
    });
    if (config.allow_atomic !== true)
      throw new Fault(
        'permanent',
        'batches_unsupported',
        `stream ${name} does not accept batches (allow_atomic): use nats-server 2.12 or newer`,
      );
  }
};

/** The streams of further QuestDB instances that could not be created or changed; they are retried beside the work. */
export type RefusedStreams = {
  /** The streams with the reasons, for `/readyz`; undefined when all exist. */
  readonly problem: string | undefined;
  has(stream: string): boolean;
  stop(): void;
};

const retryMsDefault = 10_000;

/** Creates or finds these streams; returns those that are still missing or refused. */
type Ensure = (bus: Bus, streams: readonly StreamDefinition[]) => Promise<ReadonlyMap<string, Fault>>;

type RetryOptions = {
  readonly retryMs?: number;
  /** Default: creates what is missing. */
  readonly ensure?: Ensure;
};

/** Continues from the result of `ensure`. */
export const retryStreams = (
  bus: Bus,
  streams: readonly StreamDefinition[],
  refusedAtFirst: ReadonlyMap<string, Fault>,
  log: Pick<Log, 'error' | 'warn' | 'info'>,
  { retryMs = retryMsDefault, ensure = ensureTopology }: RetryOptions = {},
): RefusedStreams => {
  let refused = refusedAtFirst;

  const tell = (stream: string, { code, message }: Fault): void => {
    const fields = { stream, why: message };
    if (code === missingCode) log.warn(fields, 'waits for the stream of a QuestDB instance');
    else log.error(fields, 'the stream of a QuestDB instance cannot be created or changed; a retry follows');
  };
  const tellEnd = (stream: string, { code }: Fault): void =>
    log.info(
      { stream },
      code === missingCode ? 'the stream of a QuestDB instance is there' : 'stream created',
    );
  for (const [stream, fault] of refused) tell(stream, fault);

  const retry = async (): Promise<void> => {
    if (refused.size === 0 || !bus.connected) return;
    try {
      const before = refused;
      refused = await ensure(
        bus,
        streams.filter(({ name }) => before.has(name)),
      );
      for (const [stream, fault] of before) if (!refused.has(stream)) tellEnd(stream, fault);
    } catch {
      // NATS does not answer: other checks report that.
    }
  };
  const rounds = startRounds(() => retry().then(() => retryMs), retryMs);
  return {
    get problem() {
      const whys = [...refused].map(([stream, { message }]) => `${stream}: ${message}`);
      return whys.length === 0 ? undefined : whys.join('; ');
    },
    has: (stream) => refused.has(stream),
    stop: () => void rounds.stop(),
  };
};
