import type { ConsumerInfo, StreamInfo } from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import type { StreamDefinition } from '../config/pipelines.ts';

/** A key in the metadata of a stream by which an operator keeps its limits as they are; its value says why. */
export const holdKey = 'tidemark-hold';

/** Why an operator keeps the stream as it is; undefined where nobody does. */
export const heldWhy = ({ config }: StreamInfo): string | undefined => config.metadata?.[holdKey];

const different = (name: string, found: unknown, wanted: unknown): string[] =>
  String(found) === String(wanted) ? [] : [`${name} is ${String(found)} and not ${String(wanted)}`];

/** In which a stream, and its consumer where that was read, differ from their definition, in the words of NATS. */
export const differencesOf = (
  wanted: StreamDefinition,
  { config }: StreamInfo,
  consumer: ConsumerInfo | undefined,
): string[] => [
  ...different('subjects', config.subjects.toSorted(), wanted.subjects.toSorted()),
  ...different('retention', config.retention, wanted.retention),
  ...different('discard', config.discard, wanted.discard),
  ...different('max_bytes', config.max_bytes, wanted.bytesMax),
  ...different('duplicate_window', config.duplicate_window, nanos(wanted.duplicateWindowMs)),
  ...different('num_replicas', config.num_replicas, wanted.replicas),
  ...(wanted.isAtomic === true ? different('allow_atomic', config.allow_atomic ?? false, true) : []),
  ...(wanted.consumer === undefined || consumer === undefined
    ? []
    : [
        ...different('ack_wait', consumer.config.ack_wait, nanos(wanted.consumer.ackWaitMs)),
        ...different('max_ack_pending', consumer.config.max_ack_pending, wanted.consumer.ackPendingMax),
      ]),
];
