import { errorText } from '../../model/fault.ts';
import type { MetricsEnvelope } from '../../wire/metrics-envelope.ts';
import type { HeldMessage } from '../held-message.ts';
import type { DeadLettered, Sink, WriteOutcome, Written } from '../sink.ts';

export type PartitionedSinkOptions = {
  /** The instance whose stream this consumer drains. */
  readonly home: string;
  /** One for each QuestDB instance that the settings name; each writes the rows of its own tables and of no other. */
  readonly sinks: ReadonlyMap<string, Sink<MetricsEnvelope>>;
  readonly instanceOf: (dataId: number) => string;
  /** Whether an instance does not answer now: stray rows are not tried there, because others would wait with them. */
  readonly isAway: (instance: string) => boolean;
  /** Called for rows of another instance, or of one that no setting names, that wait. */
  readonly onWait: (instance: string, why: string) => void;
  /** Shared by the sinks of all streams. */
  readonly failures: StrayFailures;
  readonly now: () => number;
};

/** Instances that recently did not take stray rows: the time, and whether a try is in progress. */
export type StrayFailures = Map<string, { readonly at: number; isTried: boolean }>;

const strayRetryMs = 10_000;

/** The places of a batch's rows, as of one moment. */
type Places = {
  readonly instances: ReadonlyMap<number, string>;
  /** Messages with rows of other instances than this one: none, except after a table was moved or a record was restored. */
  readonly strays: ReadonlyMap<string, ReadonlySet<HeldMessage>>;
};

const placesOf = (batch: readonly HeldMessage[], { home, instanceOf }: PartitionedSinkOptions): Places => {
  const instances = new Map<number, string>();
  const strays = new Map<string, Set<HeldMessage>>();
  for (const message of batch) {
    for (const { dataId } of message.envelope.header.parts) {
      const instance = instanceOf(dataId);
      if (instance === home) continue;
      instances.set(dataId, instance);
      const messages = strays.get(instance) ?? new Set();
      strays.set(instance, messages.add(message));
    }
  }
  return { instances, strays };
};

const merged = (all: readonly Written<MetricsEnvelope>[]): Written<MetricsEnvelope> => {
  const deadLettered = new Map<HeldMessage, readonly DeadLettered[]>();
  const retryLater = new Set<HeldMessage>();
  const purged = new Set<number>();
  for (const written of all) {
    for (const [message, some] of written.deadLettered)
      deadLettered.set(message, [...(deadLettered.get(message) ?? []), ...some]);
    for (const message of written.retryLater) retryLater.add(message);
    for (const dataId of written.purged) purged.add(dataId);
  }
  const problem = all.at(-1)?.problem;
  return { deadLettered, retryLater, purged, ...(problem === undefined ? {} : { problem }) };
};

/**
 * The sink of one instance's stream. The receivers sort points by instance, so as a rule it is just the sink of that instance.
 * Stray rows go to their own instance; where they cannot, their message is redelivered and its other rows are written meanwhile
 * (twice, which changes nothing). The same holds for a message whose placement becomes known while its batch is written.
 */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: one write, cut by instance and put together again.
export const createPartitionedSink = (
  home: Sink<MetricsEnvelope>,
  options: PartitionedSinkOptions,
): Sink<MetricsEnvelope> => {
  const { sinks, instanceOf, isAway, onWait, failures, now } = options;

  type OnWrite = (outcome: WriteOutcome, seconds: number) => void;

  const writeThere = async (
    instance: string,
    sink: Sink<MetricsEnvelope>,
    messages: ReadonlySet<HeldMessage>,
    onWrite: OnWrite,
  ): Promise<Written<MetricsEnvelope>> => {
    try {
      const written = await sink.write([...messages], onWrite);
      failures.delete(instance);
      return written;
    } catch (error) {
      failures.set(instance, { at: now(), isTried: false });
      throw error;
    }
  };

  /** Beside the batch, which does not wait for it: its messages are redelivered, regardless of the result. */
  const tryAgain = (
    instance: string,
    sink: Sink<MetricsEnvelope>,
    messages: ReadonlySet<HeldMessage>,
    onWrite: OnWrite,
  ): void => {
    const failure = failures.get(instance);
    if (failure === undefined || failure.isTried || now() - failure.at < strayRetryMs) return;
    failure.isTried = true;
    writeThere(instance, sink, messages, onWrite).catch((error: unknown) =>
      onWait(instance, errorText(error)),
    );
  };

  const writeStrays = async (
    instance: string,
    messages: ReadonlySet<HeldMessage>,
    onWrite: OnWrite,
  ): Promise<Written<MetricsEnvelope>> => {
    const waiting = (why: string): Written<MetricsEnvelope> => {
      onWait(instance, why);
      return { deadLettered: new Map(), retryLater: messages, purged: new Set() };
    };
    const sink = sinks.get(instance);
    if (sink === undefined) return waiting('no setting names this instance');
    if (isAway(instance)) return waiting('it does not answer');
    if (failures.has(instance)) {
      tryAgain(instance, sink, messages, onWrite);
      return waiting('it refused rows in the last ten seconds');
    }
    try {
      return await writeThere(instance, sink, messages, onWrite);
    } catch (error) {
      return waiting(errorText(error));
    }
  };

  return {
    ...home,
    write: async (batch, onWrite) => {
      const { instances, strays } = placesOf(batch, options);
      if (strays.size === 0) return home.write(batch, onWrite);
      const moved = new Set<HeldMessage>();
      // Each sink checks its tables itself: neither of them has written a table that moved meanwhile.
      const noteMoved = (): void => {
        for (const message of batch) {
          const isMoved = message.envelope.header.parts.some(
            ({ dataId }) => instanceOf(dataId) !== (instances.get(dataId) ?? options.home),
          );
          if (isMoved) moved.add(message);
        }
      };
      const written: Written<MetricsEnvelope>[] = [];
      for (const [instance, messages] of strays) {
        noteMoved();
        written.push(await writeStrays(instance, messages, onWrite));
      }
      noteMoved();
      written.push(await home.write(batch, onWrite));
      noteMoved();
      const all = merged(written);
      return { ...all, retryLater: all.retryLater.union(moved) };
    },
  };
};
