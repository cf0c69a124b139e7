import {
  AckPolicy,
  DiscardPolicy,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import type { ConsumerDefinition, StreamDefinition } from '../config/pipelines.ts';
import type { Bus } from './connection.ts';
import { toFault } from './nats-fault.ts';

const streamConfig = (stream: StreamDefinition): Partial<StreamConfig> & { name: string } => ({
  name: stream.name,
  subjects: [...stream.subjects],
  retention: stream.retention === 'workqueue' ? RetentionPolicy.Workqueue : RetentionPolicy.Limits,
  storage: StorageType.File,
  discard: stream.discard === 'old' ? DiscardPolicy.Old : DiscardPolicy.New,
  max_bytes: stream.bytesMax,
  duplicate_window: nanos(stream.duplicateWindowMs),
  num_replicas: stream.replicas,
  allow_direct: true,
});

const consumerConfig = (consumer: ConsumerDefinition) => ({
  durable_name: consumer.name,
  ack_policy: AckPolicy.Explicit,
  ack_wait: nanos(consumer.ackWaitMs),
  max_ack_pending: consumer.ackPendingMax,
  max_deliver: -1,
});

/** The server refuses to add a consumer that is there with another definition. */
const ensureConsumer = async (
  manager: JetStreamManager,
  stream: string,
  consumer: ConsumerDefinition,
): Promise<void> => {
  const config = consumerConfig(consumer);
  try {
    await manager.consumers.add(stream, config);
  } catch (error) {
    if (toFault(error).code !== 'consumer_differs') throw error;
    await manager.consumers.update(stream, consumer.name, config);
  }
};

/**
 * Makes the streams and durable consumers that are missing and brings the others to their definition. Any number of
 * processes may do so at once. Throws a Fault: a stream that cannot be changed to its definition stays as it is.
 */
export const ensureTopology = async (bus: Bus, streams: readonly StreamDefinition[]): Promise<void> => {
  try {
    const manager = await bus.manager();
    const names = new Set<string>();
    for await (const name of manager.streams.names()) names.add(name);
    for (const stream of streams) {
      const config = streamConfig(stream);
      if (names.has(stream.name)) await manager.streams.update(stream.name, config);
      else await manager.streams.add(config);
      if (stream.consumer !== undefined) await ensureConsumer(manager, stream.name, stream.consumer);
    }
  } catch (error) {
    throw toFault(error);
  }
};
