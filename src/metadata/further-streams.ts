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
  /**
   * Those that NATS has, and those that the records name or that NATS had: what was in one of these is lost. Throws the Faults of NATS, but
   * not those of one stream.
   */
  look(): Promise<readonly FurtherStream[]>;
  /** Those that NATS had at the last look. */
  readonly there: readonly StreamDefinition[];
  /** Since when this process may not read a stream, or it does not answer, ms since the epoch: nothing is known of what it holds. */
  unreadSince(stream: string): number | undefined;
  /** The unread ones that the records name, and since when, ms since the epoch: the account of their owners is not known. */
  placedUnread(): readonly { readonly stream: string; readonly since: number }[];
};

export type FurtherStream = {
  readonly definition: StreamDefinition;
  readonly isUnread: boolean;
  /** NATS does not have it. */
  readonly isGone: boolean;
};

export type FurtherStreamsOptions = {
  readonly bus: Bus;
  /** With the streams of the setting. */
  readonly pipelines: Pipelines;
  /** Instances that the records of tables name whose rows are kept. */
  readonly placedOn: () => Iterable<string>;
  readonly now: () => number;
  /** Ms of a clock that is never set. */
  readonly elapsed: () => number;
};

/** A right that is missing is asked for again after this time: NATS logs each refusal. */
const refusedMs = 60_000;
/** One that does not answer takes the timeout of each read. */
const silentMs = 10_000;

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
  now,
  elapsed,
}: FurtherStreamsOptions): FurtherStreams => {
  const ofSetting = new Set(pipelines.streams.map(({ name }) => name));
  const prefix = ofInstance(pipelines.metrics.consumer.stream, '');
  const known = new Map<string, StreamDefinition>();
  /** Of those that cannot be read: since when, ms since the epoch, and until when, by `elapsed`, each is not asked again. */
  const unread = new Map<string, { readonly since: number; readonly until: number }>();
  let placed: readonly string[] = [];
  let there: readonly StreamDefinition[] = [];

  const add = (instance: string): void => {
    const name = `${prefix}${instance}`;
    if (!isInstanceName(instance) || ofSetting.has(name) || known.has(name)) return;
    known.set(name, furtherStreamOf(pipelines, instance));
  };

  /** A look needs its consumer too. */
  const isUnread = async ({ name, consumer }: StreamDefinition): Promise<boolean> => {
    const known = unread.get(name);
    if (known !== undefined && elapsed() < known.until) return true;
    try {
      await readStream(bus, name, consumer?.name);
    } catch (error) {
      const { code } = toFault(error);
      if (code !== 'stream_not_found' && code !== 'consumer_not_found') {
        const until = elapsed() + (code === 'nats_not_permitted' ? refusedMs : silentMs);
        unread.set(name, { since: known?.since ?? now(), until });
        return true;
      }
    }
    unread.delete(name);
    return false;
  };

  const lookAt = async (definition: StreamDefinition, isGone: boolean): Promise<FurtherStream> => {
    if (isGone) unread.delete(definition.name);
    return { definition, isUnread: !isGone && (await isUnread(definition)), isGone };
  };

  return {
    look: async () => {
      const names = await namesOf(bus);
      for (const name of names) if (name.startsWith(prefix)) add(name.slice(prefix.length));
      const instances = new Set(placedOn());
      instances.delete(defaultInstance);
      for (const instance of instances) add(instance);
      placed = [...instances].map((instance) => `${prefix}${instance}`);
      const streams = await Promise.all(
        [...known.values()].map((each) => lookAt(each, !names.includes(each.name))),
      );
      there = streams.flatMap((each) => (each.isGone || each.isUnread ? [] : [each.definition]));
      return streams;
    },
    get there() {
      return there;
    },
    unreadSince: (stream) => unread.get(stream)?.since,
    placedUnread: () =>
      placed.flatMap((stream) => {
        const known = unread.get(stream);
        return known === undefined ? [] : [{ stream, since: known.since }];
      }),
  };
};
