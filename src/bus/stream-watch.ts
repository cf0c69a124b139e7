import type { JetStreamManager } from '@nats-io/jetstream';
import type { StreamDefinition } from '../config/pipelines.ts';
import { errorText } from '../model/fault.ts';
import type { Log } from '../telemetry/log.ts';
import type { Bus } from './connection.ts';
import { requireLed } from './leader.ts';
import { toFault, unlessMissing } from './nats-fault.ts';
import { differencesOf, heldWhy, isOfAnother, lastingOf, markOf } from './stream-differences.ts';

export const streamProblemKinds = ['stream_missing', 'consumer_missing', 'changed'] as const;

/** A stream that is not as its definition wants it. */
export type StreamProblem = {
  readonly kind: (typeof streamProblemKinds)[number];
  readonly why: string;
  /** An operator keeps it so or has to end it, or it was given another definition by a process that started later. */
  readonly isLeft: boolean;
  /** The mark of its definition as it was seen last. */
  readonly mark: string | undefined;
};

/** The streams of a role as they are on the server. */
export type StreamWatch = {
  /**
   * The streams that are missing or changed, with the reasons, or why NATS does not say what they are, for `/readyz`; undefined when all
   * are as defined, and without a connection, which other checks report.
   */
  readonly problem: string | undefined;
  /** Whether the stream was missing at the last look. */
  isMissing(stream: string): boolean;
  /** Looks now, for a publish that nobody took. Calls at the same time share a look. */
  look(): Promise<void>;
  stop(): void;
};

export type StreamWatchOptions = {
  readonly streams: readonly StreamDefinition[];
  /** Whether their consumers are looked at, too. */
  readonly hasConsumers: boolean;
  /** Streams that are named elsewhere. */
  readonly isLeftOut?: (stream: string) => boolean;
  readonly log: Pick<Log, 'error' | 'info'>;
  readonly everyMs?: number;
  /** Called for each stream with its last sequence. */
  readonly onSeen?: (stream: string, lastSequence: number) => void;
  /** Called for each problem of a look, to mend it; a reason why it cannot be mended stands beside the problem. */
  readonly mend?: (definition: StreamDefinition, problem: StreamProblem) => Promise<string | undefined>;
};

const everyMsDefault = 2_000;
/** While something is wrong: pushes are refused until it is seen to be right. */
const troubledMs = 500;
/** A stream that changes its leader cannot be looked at once. */
const failuresToReport = 2;

const anothers =
  'given by a metadata process with another pipelines/streams.yaml: give all processes the same file, and restart metadata';

/** What is wrong with a stream. Throws Faults: then nothing is known. */
const problemOf = async (
  manager: JetStreamManager,
  definition: StreamDefinition,
  { hasConsumers, onSeen }: StreamWatchOptions,
  marks: Map<string, string | undefined>,
): Promise<StreamProblem | undefined> => {
  const { name, consumer } = definition;
  const stream = await unlessMissing(manager.streams.info(name));
  if (stream !== undefined) marks.set(name, markOf(stream));
  const found = { isLeft: false, mark: marks.get(name) };
  if (stream === undefined) return { kind: 'stream_missing', why: 'it does not exist', ...found };
  onSeen?.(name, stream.state.last_seq);
  requireLed(stream, 'jetstream_leaderless', `stream ${name}`);
  const isAsked = hasConsumers && consumer !== undefined;
  const durable = isAsked ? await unlessMissing(manager.consumers.info(name, consumer.name)) : undefined;
  if (isAsked && durable === undefined)
    return { kind: 'consumer_missing', why: `its consumer ${consumer.name} does not exist`, ...found };
  const differences = differencesOf(definition, stream, durable);
  const lasting = lastingOf(stream, durable);
  if (differences.length + lasting.length === 0) return undefined;
  const held = heldWhy(stream);
  const left =
    held === undefined ? (isOfAnother(definition, stream) ? anothers : undefined) : `held: ${held}`;
  const all = [...differences, ...lasting].join(', ');
  const why = left === undefined || differences.length === 0 ? all : `${all}; ${left}`;
  return { ...found, kind: 'changed', why, isLeft: left !== undefined || differences.length === 0 };
};

/** Why looks fail, once several in a row did; logged when it begins and when it is over. */
const followFailures = (log: StreamWatchOptions['log']) => {
  let failures = 0;
  let why: string | undefined;
  return {
    get why() {
      return why;
    },
    failed: (error: unknown): void => {
      failures++;
      if (failures < failuresToReport) return;
      const isFirst = why === undefined;
      why = `the streams cannot be looked at: ${errorText(error)}`;
      if (isFirst) log.error({ error: errorText(error) }, 'the streams cannot be looked at');
    },
    worked: (): void => {
      if (why !== undefined) log.info({}, 'the streams can be looked at again');
      failures = 0;
      why = undefined;
    },
    /** Not this check reports it. */
    disconnected: (): void => {
      failures = 0;
      why = undefined;
    },
  };
};

/**
 * Looks at the streams every other second. A problem is logged once when it begins and once when it is over; while NATS does not
 * answer, what was known stays.
 */
export const watchStreams = (bus: Bus, options: StreamWatchOptions): StreamWatch => {
  const { streams, log, everyMs = everyMsDefault } = options;
  const problems = new Map<string, StreamProblem>();
  const marks = new Map<string, string | undefined>();
  const failing = followFailures(log);
  let looking: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;

  const note = (name: string, problem: StreamProblem | undefined): void => {
    const before = problems.get(name);
    if (problem === undefined) problems.delete(name);
    else problems.set(name, problem);
    if ((problem === undefined) === (before === undefined)) return;
    if (problem === undefined) log.info({ stream: name }, 'a stream is as defined again');
    else log.error({ stream: name, why: problem.why }, 'a stream is missing or changed');
  };

  const lookAt = async (definition: StreamDefinition): Promise<void> => {
    const problem = await problemOf(await bus.manager(), definition, options, marks);
    note(definition.name, problem);
    if (problem === undefined || problem.isLeft || options.mend === undefined) return;
    const why = await options.mend(definition, problem);
    if (why !== undefined) problems.set(definition.name, { ...problem, why: `${problem.why}; ${why}` });
  };

  const lookAtAll = async (): Promise<void> => {
    if (!bus.connected) return failing.disconnected();
    try {
      await Promise.all(
        streams.filter(({ name }) => options.isLeftOut?.(name) !== true).map((each) => lookAt(each)),
      );
      failing.worked();
    } catch (error) {
      failing.failed(toFault(error));
    }
  };

  const look = (): Promise<void> => {
    looking ??= lookAtAll().finally(() => {
      looking = undefined;
    });
    return looking;
  };

  const follow = (): void => {
    timer = setTimeout(
      () => {
        void look().finally(() => {
          if (!isStopped) follow();
        });
      },
      problems.size > 0 ? Math.min(troubledMs, everyMs) : everyMs,
    ).unref();
  };
  follow();

  return {
    get problem() {
      const whys = [...problems].map(([name, { why }]) => `${name}: ${why}`);
      if (failing.why !== undefined) whys.push(failing.why);
      return whys.length === 0 ? undefined : whys.join('; ');
    },
    isMissing: (stream) => problems.get(stream)?.kind === 'stream_missing',
    look,
    stop: () => {
      isStopped = true;
      clearTimeout(timer);
    },
  };
};

/** Mends by `mendNow`; what is refused is a reason. */
export const mendingWith =
  (mendNow: (definition: StreamDefinition, problem: StreamProblem) => Promise<void>) =>
  async (definition: StreamDefinition, problem: StreamProblem): Promise<string | undefined> => {
    try {
      await mendNow(definition, problem);
      return undefined;
    } catch (error) {
      return errorText(error);
    }
  };
