import { messageOf } from '../model/fault.ts';
import type { MetricsEnvelope } from '../wire/envelope.ts';
import type { HeldMessage } from './held-message.ts';
import type { Lane, SetAside, WriteOutcome, Written } from './lane.ts';

export type RoutedLaneOptions = {
  /** The instance whose stream this consumer drains. */
  readonly home: string;
  /** One for each QuestDB instance that the settings name; each writes the rows of its own tables and of no other. */
  readonly lanes: ReadonlyMap<string, Lane<MetricsEnvelope>>;
  readonly instanceOf: (dataId: number) => string;
  /** Whether an instance does not answer just now: rows that strayed are not tried there, for others would wait with them. */
  readonly isAway: (instance: string) => boolean;
  /** Rows of another instance, or of none that is named, wait. */
  readonly onWait: (instance: string, why: string) => void;
};

/** Messages with rows of other instances than this one, by instance: none, but after a table was moved or a record was restored. */
const strayed = (
  batch: readonly HeldMessage[],
  { home, instanceOf }: RoutedLaneOptions,
): Map<string, Set<HeldMessage>> => {
  const strays = new Map<string, Set<HeldMessage>>();
  for (const message of batch) {
    for (const { dataId } of message.envelope.header.parts) {
      const instance = instanceOf(dataId);
      if (instance === home) continue;
      const messages = strays.get(instance) ?? new Set();
      strays.set(instance, messages.add(message));
    }
  }
  return strays;
};

const merged = (all: readonly Written<MetricsEnvelope>[]): Written<MetricsEnvelope> => {
  const setAside = new Map<HeldMessage, readonly SetAside[]>();
  const homeless = new Set<HeldMessage>();
  const purged = new Set<number>();
  for (const written of all) {
    for (const [message, some] of written.setAside)
      setAside.set(message, [...(setAside.get(message) ?? []), ...some]);
    for (const message of written.homeless) homeless.add(message);
    for (const dataId of written.purged) purged.add(dataId);
  }
  const problem = all.at(-1)?.problem;
  return { setAside, homeless, purged, ...(problem === undefined ? {} : { problem }) };
};

/**
 * The lane of one instance's stream. The receivers sort points by instance, so as a rule it is the lane of that instance and nothing
 * else. Rows that lie elsewhere go there; where they cannot, their message comes again and what else it holds is written meanwhile
 * (twice, which changes nothing).
 */
export const createRoutedLane = (
  home: Lane<MetricsEnvelope>,
  options: RoutedLaneOptions,
): Lane<MetricsEnvelope> => {
  const { lanes, isAway, onWait } = options;

  const writeStrays = async (
    instance: string,
    messages: ReadonlySet<HeldMessage>,
    onWrite: (outcome: WriteOutcome, seconds: number) => void,
  ): Promise<Written<MetricsEnvelope>> => {
    const waiting = (why: string): Written<MetricsEnvelope> => {
      onWait(instance, why);
      return { setAside: new Map(), homeless: messages, purged: new Set() };
    };
    const lane = lanes.get(instance);
    if (lane === undefined) return waiting('no setting names this instance');
    if (isAway(instance)) return waiting('it does not answer');
    try {
      return await lane.write([...messages], onWrite);
    } catch (error) {
      return waiting(messageOf(error));
    }
  };

  return {
    ...home,
    write: async (batch, onWrite) => {
      const strays = strayed(batch, options);
      if (strays.size === 0) return home.write(batch, onWrite);
      const elsewhere: Written<MetricsEnvelope>[] = [];
      for (const [instance, messages] of strays)
        elsewhere.push(await writeStrays(instance, messages, onWrite));
      return merged([...elsewhere, await home.write(batch, onWrite)]);
    },
  };
};
