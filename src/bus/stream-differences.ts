import { createHash } from 'node:crypto';
import type { ConsumerInfo, StreamInfo } from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import type { StreamDefinition } from '../config/pipelines.ts';

/** A key in the metadata of a stream by which an operator keeps its limits as they are; its value says why. */
export const holdKey = 'tidemark-hold';

/** Why an operator keeps the stream as it is; undefined where nobody does. */
export const heldWhy = ({ config }: StreamInfo): string | undefined => config.metadata?.[holdKey];

/** A key in the metadata of a stream: the mark of the definition that it was given last. */
const definitionKey = 'tidemark-definition';

/** A mark of what `differencesOf` compares. */
const definitionMark = (wanted: StreamDefinition): string => {
  const { subjects, retention, discard, bytesMax, duplicateWindowMs, replicas, isAtomic, consumer } = wanted;
  const compared = [subjects.toSorted(), retention, discard, bytesMax, duplicateWindowMs, replicas];
  const more = [isAtomic === true, consumer?.name, consumer?.ackWaitMs, consumer?.ackPendingMax];
  return createHash('sha256')
    .update(JSON.stringify([compared, more]))
    .digest('hex')
    .slice(0, 16);
};

type Marked = Pick<StreamInfo, 'config'>;

/** The mark of the definition that the stream was given last; undefined for one that only earlier versions have made. */
export const markOf = ({ config }: Marked): string | undefined => config.metadata?.[definitionKey];

/** The metadata of a stream with the mark of this definition, or with another mark. */
export const withMark = (wanted: StreamDefinition, found: Marked | undefined, mark?: string) => ({
  ...found?.config.metadata,
  [definitionKey]: mark ?? definitionMark(wanted),
});

/** Whether a process with another definition has given the stream its own: it is not to be changed back and forth. */
export const isOfAnother = (wanted: StreamDefinition, found: Marked): boolean =>
  ![undefined, definitionMark(wanted)].includes(markOf(found));

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
