import { inboxPrefixOf, type NatsRights, type NatsUserName, type Rights } from '../bus/nats-users.ts';
import type { Pipelines, StreamDefinition } from '../config/pipelines.ts';
import { applicationPipelines } from '../model/signals.ts';
import { ledgerSubjects } from '../outcomes/rows.ts';
import { type PulseRole, pulseSubjects } from '../telemetry/pulse.ts';
import { buckets, systemKeys } from './keys.ts';
import { demandPrefix } from './rates-bucket.ts';

const api = (call: string): string => `$JS.API.${call}`;

const streamOf = (bucket: string): string => `KV_${bucket}`;

/** The state of streams, and of their durable consumers. */
const looksAt = (streams: readonly StreamDefinition[]): string[] =>
  streams.flatMap(({ name, consumer }) => [
    api(`STREAM.INFO.${name}`),
    ...(consumer === undefined ? [] : [api(`CONSUMER.INFO.${name}.${consumer.name}`)]),
  ]);

const makes = (stream: string): string[] => [api(`STREAM.CREATE.${stream}`), api(`STREAM.UPDATE.${stream}`)];

/** Reads a bucket's state, and values under these keys. */
const reads = (bucket: string, ...keys: readonly string[]): string[] => [
  api(`STREAM.INFO.${streamOf(bucket)}`),
  ...keys.map((key) => api(`DIRECT.GET.${streamOf(bucket)}.$KV.${bucket}.${key}`)),
];

/**
 * Watches keys: a watch is a consumer with a filter, which the server compares with the one in the subject of the request. Flow
 * control has one form before, and another after nats-server's feature of version 2.
 */
const watches = (bucket: string, ...keys: readonly string[]): string[] => {
  const stream = streamOf(bucket);
  return [
    ...keys.map((key) => api(`CONSUMER.CREATE.${stream}.*.$KV.${bucket}.${key}`)),
    api(`CONSUMER.INFO.${stream}.*`),
    api(`CONSUMER.DELETE.${stream}.*`),
    `$JS.FC.${stream}.*.*`,
    `$JS.FC.*.*.${stream}.*.*`,
  ];
};

const writes = (bucket: string, ...keys: readonly string[]): string[] =>
  keys.map((key) => `$KV.${bucket}.${key}`);

/** Everything under every key of a bucket. */
const owns = (bucket: string): string[] => [
  ...makes(streamOf(bucket)),
  ...reads(bucket, '>'),
  ...watches(bucket, '>'),
  ...writes(bucket, '>'),
];

/** The streams that a consumer of transfer empties. */
const queuesOf = ({ streams }: Pipelines): StreamDefinition[] =>
  streams.filter(({ consumer }) => consumer !== undefined);

/** The subjects of received items, of each QuestDB instance. */
const itemSubjects = ({ streams, metrics, ...others }: Pipelines): string[] => [
  `${metrics.publish.subject}.*`,
  ...streams.flatMap(({ isFurther, subjects }) =>
    isFurther === true ? subjects.map((subject) => subject.replace('.>', '.*')) : [],
  ),
  ...applicationPipelines.map((pipeline) => `${others[pipeline].publish.subject}.*`),
];

const pulseOf = (role: PulseRole): string => `pulse.${role}.*`;

const ingress = (pipelines: Pipelines): string[] => [
  ...itemSubjects(pipelines),
  ledgerSubjects.published,
  ledgerSubjects.doubtful,
  ledgerSubjects.usage,
  ledgerSubjects.refusals,
  ledgerSubjects.samples,
  pulseOf('ingress'),
  ...pipelines.streams.map(({ name }) => api(`STREAM.INFO.${name}`)),
  // It checks the token of every data id and application, and reads no other secret.
  ...reads(buckets.records, '>'),
  ...watches(buckets.records, '>'),
  ...reads(buckets.columns, '>'),
  ...watches(buckets.columns, '>'),
  ...writes(buckets.columns, 'columns.*'),
  ...reads(buckets.system, systemKeys.boot),
  ...writes(buckets.system, systemKeys.boot),
  ...reads(buckets.rates),
  ...watches(buckets.rates, '>'),
  ...writes(buckets.rates, `${demandPrefix}*`),
];

const transfer = (pipelines: Pipelines): string[] => {
  const queues = queuesOf(pipelines);
  const { resume, owedMerge, boot } = systemKeys;
  return [
    ...Object.values(ledgerSubjects),
    'deadletter.*',
    pulseOf('transfer'),
    ...looksAt(pipelines.streams),
    ...queues.flatMap(({ name, consumer }) => [
      api(`CONSUMER.MSG.NEXT.${name}.${consumer?.name}`),
      `$JS.ACK.${name}.${consumer?.name}.>`,
      // With domain and account, as servers put it before the stream where that is on.
      `$JS.ACK.*.*.${name}.${consumer?.name}.>`,
      // Messages that the consumer has passed and that the server keeps.
      api(`DIRECT.GET.${name}`),
      api(`STREAM.PURGE.${name}`),
      api(`STREAM.MSG.DELETE.${name}`),
    ]),
    ...reads(buckets.records),
    ...watches(buckets.records, 'placement.*', 'purge.*'),
    ...reads(buckets.system, boot, owedMerge('*')),
    ...watches(buckets.system, resume('*'), owedMerge('*')),
    ...writes(buckets.system, boot, owedMerge('*')),
  ];
};

const metadata = (pipelines: Pipelines): string[] => {
  const { streams } = pipelines;
  return [
    // Redrives: a dead letter goes back to the subject that it came from, which may be one of lines that the store refused.
    ...itemSubjects(pipelines),
    ...Object.values(ledgerSubjects),
    'audit.>',
    pulseOf('metadata'),
    api('STREAM.NAMES'),
    ...looksAt(streams),
    ...streams.flatMap(({ name, consumer }) => [
      ...makes(name),
      ...(consumer === undefined
        ? []
        : // A changed consumer may have to be made again.
          ['CREATE', 'DELETE'].map((call) => api(`CONSUMER.${call}.${name}.${consumer.name}`))),
      api(`DIRECT.GET.${name}`),
    ]),
    api('STREAM.MSG.GET.DEADLETTER'),
    api('STREAM.MSG.DELETE.DEADLETTER'),
    ...[buckets.records, buckets.columns, buckets.system, buckets.sessions].flatMap(owns),
    // Receivers write to it. Who may make a bucket may have it read and write others: metadata makes this one too.
    ...makes(streamOf(buckets.rates)),
    ...reads(buckets.rates),
    ...[buckets.system, buckets.sessions].map((bucket) => api(`STREAM.PURGE.${streamOf(bucket)}`)),
  ];
};

/**
 * Looks, copies, restores, mends streams and their consumers, and the way back without an admin token. It takes no message from a
 * queue. Who may change a stream can empty it, and make it read and write others: the server checks nothing in the body.
 */
const operator = ({ streams }: Pipelines): string[] => [
  ...['STREAM.NAMES', 'STREAM.LIST', 'STREAM.INFO.*', 'CONSUMER.LIST.*', 'CONSUMER.NAMES.*'].map(api),
  ...['CONSUMER.INFO.*.*', 'CONSUMER.PAUSE.*.*'].map(api),
  ...['STREAM.SNAPSHOT.*', 'STREAM.RESTORE.*'].map(api),
  ...streams.flatMap(({ name }) =>
    ['STREAM.UPDATE', 'DIRECT.GET', 'STREAM.MSG.GET'].map((call) => api(`${call}.${name}`)),
  ),
  '$JS.SNAPSHOT.ACK.*.*',
  '$JS.SNAPSHOT.RESTORE.*.*',
  ...streams.flatMap(({ name, consumer }) =>
    consumer === undefined
      ? []
      : ['CREATE', 'RESET'].map((call) => api(`CONSUMER.${call}.${name}.${consumer.name}`)),
  ),
  ...[buckets.records, buckets.columns, buckets.system].flatMap((bucket) => [
    ...makes(streamOf(bucket)),
    ...reads(bucket, '>'),
    ...watches(bucket, '>'),
  ]),
  ...writes(buckets.columns, '>'),
  ...writes(buckets.system, '>'),
];

const publishes = { ingress, transfer, metadata, operator } as const;

/** Answers come to a place of each role's own. */
const subscribes: Readonly<Record<NatsUserName, readonly string[]>> = {
  ingress: [],
  transfer: [],
  metadata: [pulseSubjects, ledgerSubjects.settled, ledgerSubjects.refusals, ledgerSubjects.samples],
  operator: [pulseSubjects],
};

/**
 * What each user of NATS may publish and subscribe, for streams with these names: all that its work needs, and nothing else. This is
 * the one place where it is declared: deploy/, the embedded server and `tidemark config nats-users` have it from here.
 */
export const natsRights = (pipelines: Pipelines): NatsRights => {
  const of = (name: NatsUserName): Rights => ({
    publish: [...new Set([api('INFO'), ...publishes[name](pipelines)])],
    subscribe: [`${inboxPrefixOf(name)}.>`, ...subscribes[name]],
  });
  return {
    ingress: of('ingress'),
    transfer: of('transfer'),
    metadata: of('metadata'),
    operator: of('operator'),
  };
};
