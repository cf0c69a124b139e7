import type { Bus } from '../bus/connection.ts';
import { toFault } from '../bus/nats-fault.ts';
import { readStream } from '../bus/stream-state.ts';
import { furtherStreamOf, ofInstance } from '../config/instance-streams.ts';
import type { Pipelines, StreamDefinition } from '../config/pipelines.ts';
import { defaultInstance, isInstanceName } from '../model/instances.ts';

/**
 * The streams of points of QuestDB instances that the setting of this process lacks: receivers with another setting fill them, or did.
 * What the account says must not depend on the setting of the process that is asked.
 */
export type FurtherStreams = {
  /** Those that NATS has, and those that the records name or that NATS had: what was in one of these is lost. Throws the Faults of NATS. */
  look(): Promise<readonly FurtherStream[]>;
  /** Those that NATS had at the last look. */
  readonly there: readonly StreamDefinition[];
  /** Whether this process may not read a stream: nothing is known of what it holds. */
  isUnread(stream: string): boolean;
};

export type FurtherStream = { readonly definition: StreamDefinition; readonly isUnread: boolean };

export type FurtherStreamsOptions = {
  readonly bus: Bus;
  /** With the streams of the setting. */
  readonly pipelines: Pipelines;
  /** Instances that the records of tables name whose rows are kept. */
  readonly placedOn: () => Iterable<string>;
  /** Ms of a clock that is never set. */
  readonly elapsed: () => number;
};

/** A right that is missing is asked for again after this time: NATS logs each refusal. */
const refusedMs = 60_000;

const namesOf = async (bus: Bus): Promise<string[]> => {
  try {
    const names: string[] = [];
    for await (const name of (await bus.manager()).streams.names()) names.push(name);
    return names;
  } catch (error) {
    throw toFault(error);
  }
};

export const createFurtherStreams = ({
  bus,
  pipelines,
  placedOn,
  elapsed,
}: FurtherStreamsOptions): FurtherStreams => {
  const ofSetting = new Set(pipelines.streams.map(({ name }) => name));
  const prefix = ofInstance(pipelines.metrics.consumer.stream, '');
  const known = new Map<string, StreamDefinition>();
  const refusedAt = new Map<string, number>();
  let there: readonly StreamDefinition[] = [];

  const add = (instance: string): void => {
    const name = `${prefix}${instance}`;
    if (!isInstanceName(instance) || ofSetting.has(name) || known.has(name)) return;
    known.set(name, furtherStreamOf(pipelines, instance));
  };

  const isRefused = async (stream: string): Promise<boolean> => {
    if (elapsed() - (refusedAt.get(stream) ?? Number.NEGATIVE_INFINITY) < refusedMs) return true;
    try {
      await readStream(bus, stream);
    } catch (error) {
      const { code } = toFault(error);
      if (code === 'nats_not_permitted') {
        refusedAt.set(stream, elapsed());
        return true;
      }
      if (code !== 'stream_not_found') throw error;
    }
    refusedAt.delete(stream);
    return false;
  };

  return {
    look: async () => {
      const names = await namesOf(bus);
      for (const name of names) if (name.startsWith(prefix)) add(name.slice(prefix.length));
      for (const instance of placedOn()) if (instance !== defaultInstance) add(instance);
      const streams: FurtherStream[] = [];
      for (const definition of known.values())
        streams.push({ definition, isUnread: await isRefused(definition.name) });
      there = streams.flatMap(({ definition, isUnread }) =>
        names.includes(definition.name) && !isUnread ? [definition] : [],
      );
      return streams;
    },
    get there() {
      return there;
    },
    isUnread: (stream) => refusedAt.has(stream),
  };
};
