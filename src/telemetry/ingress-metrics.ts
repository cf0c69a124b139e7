import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { createRegistry, ledgerFeedMetrics, secondsBuckets, tlsMetrics } from './shared-metrics.ts';

/** Requests of ingress and their items. */
const requestMetrics = (registers: Registry[]) => ({
  requests: new Counter({
    name: 'tidemark_ingress_requests_total',
    help: 'Requests answered, by receiver and HTTP status; a call over gRPC counts with the status that its answer has over HTTP',
    labelNames: ['receiver', 'status'],
    registers,
  }),
  requestSeconds: new Histogram({
    name: 'tidemark_ingress_request_seconds',
    help: 'Time from the head of a request to its answer, the arrival of its body included; by class of HTTP status',
    labelNames: ['receiver', 'status_class'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  }),
  refused: new Counter({
    name: 'tidemark_ingress_requests_refused_total',
    help: 'Refused requests, by reason; tidemark explain <reason> has the remedy',
    labelNames: ['receiver', 'reason'],
    registers,
  }),
  accepted: new Counter({
    name: 'tidemark_ingress_items_accepted_total',
    help: 'Items acknowledged after the PubAck',
    labelNames: ['pipeline'],
    registers,
  }),
  deferred: new Counter({
    name: 'tidemark_ingress_items_deferred_total',
    help: 'Items with a wrong time, deferred to transfer, which drops them',
    labelNames: ['pipeline', 'reason'],
    registers,
  }),
  dropped: new Counter({
    name: 'tidemark_ingress_items_dropped_total',
    help: 'Items dropped at the receiver, by reason',
    labelNames: ['pipeline', 'reason'],
    registers,
  }),
  valuesDropped: new Counter({
    name: 'tidemark_ingress_values_dropped_total',
    help: 'Single values dropped from accepted items, by reason',
    labelNames: ['pipeline', 'reason'],
    registers,
  }),
  leniencies: new Counter({
    name: 'tidemark_ingress_otlp_leniencies_total',
    help: 'Deviations from OTLP that the receiver accepted, by kind and sender (SDK, else User-Agent)',
    labelNames: ['kind', 'sender'],
    registers,
  }),
  duplicates: new Counter({
    name: 'tidemark_ingress_duplicate_requests_total',
    help: 'Duplicate requests, recognised by their identity; nothing was stored again',
    labelNames: ['pipeline'],
    registers,
  }),
  bodyBytes: new Counter({
    name: 'tidemark_ingress_body_bytes_total',
    help: 'Bytes of request bodies as received',
    labelNames: ['receiver'],
    registers,
  }),
});

/** The receivers' resources in use: bytes, connections, certificates. */
const connectionMetrics = (registers: Registry[]) => ({
  bytesInFlight: new Gauge({
    name: 'tidemark_ingress_bytes_in_flight',
    help: 'Request bytes held now; near the limit receivers answer 503',
    registers,
  }),
  bytesInFlightMax: new Gauge({
    name: 'tidemark_ingress_bytes_in_flight_max',
    help: 'Limit of the request bytes that the process holds at once',
    registers,
  }),
  series: new Gauge({
    name: 'tidemark_ingress_series',
    help: 'Series of data points held of all applications with a bound; each leaves an hour after its latest data point',
    registers,
  }),
  connections: new Gauge({
    name: 'tidemark_ingress_connections',
    help: 'Connections open now; near the limit new ones are answered 503',
    labelNames: ['receiver'],
    registers,
  }),
  connectionsEnded: new Counter({
    name: 'tidemark_ingress_connections_ended_total',
    help: 'Connections that the receiver refused or closed, by reason; docs/receivers/limits.md has the remedies',
    labelNames: ['receiver', 'reason'],
    registers,
  }),
  ...tlsMetrics('ingress', registers),
});

/** Messages that ingress publishes. */
const publishMetrics = (registers: Registry[]) => ({
  publishes: new Counter({
    name: 'tidemark_ingress_publishes_total',
    help: 'Messages published, by outcome (stored, duplicate, not_stored, unconfirmed)',
    labelNames: ['pipeline', 'outcome'],
    registers,
  }),
  publishedBytes: new Counter({
    name: 'tidemark_ingress_published_bytes_total',
    help: 'Bytes of messages that NATS confirmed, by stream',
    labelNames: ['stream'],
    registers,
  }),
  publishSeconds: new Histogram({
    name: 'tidemark_ingress_publish_seconds',
    help: 'Time from publish to PubAck',
    labelNames: ['pipeline'],
    buckets: secondsBuckets,
    registers,
  }),
  unbooked: new Counter({
    name: 'tidemark_ingress_messages_unbooked_total',
    help: 'Messages published without a place in the book of publishers, which had no room: of these the account knows what was settled alone',
    labelNames: ['stream'],
    registers,
  }),
});

/** Figures of ingress. Labels are bounded: pipeline names, codes of the closed table of reasons, HTTP status. */
export const createIngressMetrics = () => {
  const registry = createRegistry('ingress');
  const registers = [registry];
  return {
    registry,
    ...ledgerFeedMetrics(registers),
    ...requestMetrics(registers),
    ...connectionMetrics(registers),
    ...publishMetrics(registers),
  };
};

export type IngressMetrics = ReturnType<typeof createIngressMetrics>;
export type PublishersBookMetrics = Pick<IngressMetrics, 'ledgerRows' | 'unbooked'>;
