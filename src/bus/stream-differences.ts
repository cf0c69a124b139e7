import { createHash } from 'node:crypto';
import {
  AckPolicy,
  type ConsumerInfo,
  DeliverPolicy,
  ReplayPolicy,
  StorageType,
  type StreamInfo,
} from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import type { ConsumerDefinition, StreamDefinition } from '../config/pipelines.ts';
import { isLongPaused } from './consumer-pause.ts';
import { messagesMax } from './puller.ts';

/** A key in the metadata of a stream by which an operator keeps its limits as they are; its value says why. */
export const holdKey = 'tidemark-hold';

/** Why an operator keeps the stream as it is; undefined where nobody does. */
export const heldWhy = ({ config }: StreamInfo): string | undefined => config.metadata?.[holdKey];

/** A key in the metadata of a stream: the mark of the definition that it was given last. */
const definitionKey = 'tidemark-definition';

/** A mark of what a definition says. What is the same in all of them has no part in it: all versions have the same mark. */
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

/** What no definition limits: items expire, are pushed out or are refused by each of these, although their request was answered. */
export const unlimited = {
  max_age: 0,
  max_msgs: -1,
  max_msgs_per_subject: -1,
  max_msg_size: -1,
  discard_new_per_subject: false,
  no_ack: false,
  allow_direct: true,
  consumer_limits: {},
};

/** A transform of subjects that transforms nothing: the client leaves what an update does not name. */
export const noTransform = { src: '', dest: '' };

const transformOf = ({ config }: Marked): string => {
  const { src, dest } = config.subject_transform ?? noTransform;
  return dest === '' ? 'none' : `${src} to ${dest}`;
};

const limitDifferences = (found: StreamInfo): string[] => {
  const { config } = found;
  const { inactive_threshold = 0, max_ack_pending = 0 } = config.consumer_limits ?? {};
  return [
    ...different('max_age', config.max_age, unlimited.max_age),
    ...different('max_msgs', config.max_msgs, unlimited.max_msgs),
    ...different('max_msgs_per_subject', config.max_msgs_per_subject, unlimited.max_msgs_per_subject),
    ...different('max_msg_size', config.max_msg_size, unlimited.max_msg_size),
    ...different('no_ack', config.no_ack ?? false, unlimited.no_ack),
    ...different('allow_direct', config.allow_direct, unlimited.allow_direct),
    ...different('consumer_limits.inactive_threshold', inactive_threshold, 0),
    ...different('consumer_limits.max_ack_pending', max_ack_pending, 0),
    ...different('subject_transform', transformOf(found), 'none'),
  ];
};

/** What a consumer does not limit, and an update of it can change back. */
export const unlimitedConsumer = {
  max_deliver: -1,
  headers_only: false,
  inactive_threshold: 0,
  backoff: [],
  max_batch: 0,
  max_expires: 0,
  max_bytes: 0,
};

const filtersOf = ({ filter_subject, filter_subjects = [] }: ConsumerInfo['config']): string =>
  [...(filter_subject === undefined ? [] : [filter_subject]), ...filter_subjects].join(' ') || 'none';

/**
 * What an update of a consumer does not change back, or not in its effects: messages that a filter hid, and those that were
 * delivered too often, are never delivered again.
 */
export const lastingDifferencesOf = ({ config }: ConsumerInfo): string[] => [
  ...different('filter_subject', filtersOf(config), 'none'),
  ...different('max_deliver', config.max_deliver, unlimitedConsumer.max_deliver),
  ...different('ack_policy', config.ack_policy, AckPolicy.Explicit),
  ...different('deliver_policy', config.deliver_policy, DeliverPolicy.All),
  ...different('replay_policy', config.replay_policy, ReplayPolicy.Instant),
  ...different('deliver_subject', config.deliver_subject ?? 'none', 'none'),
  ...different('priority_groups', config.priority_groups?.join(' ') ?? 'none', 'none'),
];

const consumerDifferences = (wanted: ConsumerDefinition, found: ConsumerInfo): string[] => {
  const { config } = found;
  // A server with `max_request_batch` sets it itself.
  const { max_batch = 0 } = config;
  return [
    ...different('ack_wait', config.ack_wait, nanos(wanted.ackWaitMs)),
    ...different('max_ack_pending', config.max_ack_pending, wanted.ackPendingMax),
    ...different('headers_only', config.headers_only ?? false, unlimitedConsumer.headers_only),
    ...different('inactive_threshold', config.inactive_threshold ?? 0, unlimitedConsumer.inactive_threshold),
    ...different('backoff', config.backoff?.join(' ') || 'none', 'none'),
    ...different('max_batch', max_batch < messagesMax ? max_batch : 0, unlimitedConsumer.max_batch),
    ...different('max_expires', config.max_expires ?? 0, unlimitedConsumer.max_expires),
    ...different('max_bytes of the consumer', config.max_bytes ?? 0, unlimitedConsumer.max_bytes),
    ...lastingDifferencesOf(found),
  ];
};

/** In which a stream, and its consumer where that was read, differ from their definition, in the words of NATS. */
export const differencesOf = (
  wanted: StreamDefinition,
  found: StreamInfo,
  consumer: ConsumerInfo | undefined,
): string[] => {
  const { config } = found;
  return [
    ...different('subjects', config.subjects.toSorted(), wanted.subjects.toSorted()),
    ...different('retention', config.retention, wanted.retention),
    ...different('discard', config.discard, wanted.discard),
    ...different('max_bytes', config.max_bytes, wanted.bytesMax),
    ...different('duplicate_window', config.duplicate_window, nanos(wanted.duplicateWindowMs)),
    ...different('num_replicas', config.num_replicas, wanted.replicas),
    ...(wanted.isAtomic === true ? different('allow_atomic', config.allow_atomic ?? false, true) : []),
    ...limitDifferences(found),
    ...(wanted.consumer === undefined || consumer === undefined
      ? []
      : consumerDifferences(wanted.consumer, consumer)),
  ];
};

const pauseText = (consumer: ConsumerInfo): string[] =>
  isLongPaused(consumer)
    ? [
        `consumer ${consumer.name} is paused until ${consumer.config.pause_until}, longer than a backup pauses it: ` +
          'the next tidemark backup with --release-checkpoint ends that',
      ]
    : [];

/** What an operator has to end: NATS does not undo it, or somebody wants a pause. With the remedy. */
export const lastingOf = ({ config }: StreamInfo, consumer: ConsumerInfo | undefined): string[] => {
  const fixed = [
    ...different('sealed', config.sealed, false),
    ...different('deny_delete', config.deny_delete, false),
    ...different('deny_purge', config.deny_purge, false),
    ...different('storage', config.storage, StorageType.File),
  ];
  const remedy = `NATS cannot change this field back: wait until transfer has stored all messages, then run nats stream rm ${config.name}`;
  return [
    ...(fixed.length === 0 ? [] : [`${fixed.join(', ')} (${remedy})`]),
    ...(consumer === undefined ? [] : pauseText(consumer)),
  ];
};
