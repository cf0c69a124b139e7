import { Fault } from '../model/fault.ts';
import { defaultInstance } from '../model/instances.ts';
import type { ConsumerDefinition, StreamDefinition } from './pipeline-definitions.ts';
import { loadPipelines, type Pipelines } from './pipelines.ts';
import { questdbInstances, type Settings } from './settings.ts';

/** `METRICS` of the first QuestDB instance, `METRICS-b` of instance `b`; the same for subjects, consumers and pipeline labels. */
export const ofInstance = (name: string, instance: string): string =>
  instance === defaultInstance ? name : `${name}-${instance}`;

/** The consumer of the stream that holds the points of this instance. */
export const consumerOfInstance = (consumer: ConsumerDefinition, instance: string): ConsumerDefinition => ({
  ...consumer,
  name: ofInstance(consumer.name, instance),
  stream: ofInstance(consumer.stream, instance),
});

/** The stream of points for a further instance. */
export const furtherStreamOf = ({ streams, metrics }: Pipelines, instance: string): StreamDefinition => {
  const { consumer, publish } = metrics;
  const stream = streams.find(({ name }) => name === consumer.stream);
  if (stream === undefined)
    throw new Fault('internal', 'no_stream', `the pipelines have no stream ${consumer.stream}`);
  return {
    ...stream,
    name: ofInstance(stream.name, instance),
    subjects: [`${ofInstance(publish.subject, instance)}.>`],
    consumer: consumerOfInstance(consumer, instance),
    isFurther: true,
  };
};

/**
 * The pipelines with a stream of points for each further QuestDB instance, with the budget and the consumer of the first instance:
 * messages that wait for one instance take no room and no turn from messages for another. The further streams come after all
 * others: where NATS has no room for one of them, the earlier streams are made.
 */
export const withInstances = (pipelines: Pipelines, instances: readonly string[]): Pipelines => {
  const further = instances.filter((instance) => instance !== defaultInstance);
  const more = further.map((instance) => furtherStreamOf(pipelines, instance));
  return { ...pipelines, streams: [...pipelines.streams, ...more] };
};

/** The pipelines of the settings, with the streams of all QuestDB instances. Throws the Faults of `loadPipelines`. */
export const pipelinesOf = (settings: Settings, replicas?: number): Pipelines =>
  withInstances(
    loadPipelines(settings.pipelinesFolder, replicas),
    questdbInstances(settings).map(({ name }) => name),
  );
