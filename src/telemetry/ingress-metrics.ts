import { type Meters, metersIn } from './meters.ts';
import { createRegistry, ledgerFeedMetrics, secondsBuckets, tlsMetrics } from './shared-metrics.ts';

/** Requests of ingress and their items. */
const requestMetrics = ({ counter, histogram }: Meters) => ({
  requests: counter({
    name: 'tidemark_ingress_requests_total',
    help: 'Requests answered, by receiver and HTTP status; a call over gRPC counts with the status that its answer has over HTTP, and a 503 to a body that did not arrive in time as late_body',
    labelNames: ['receiver', 'status'],
    remedy: 'a growing share of 5xx: read `/readyz` of ingress and check the streams',
  }),
  requestSeconds: histogram({
    name: 'tidemark_ingress_request_seconds',
    help: 'Time from the head of a request to its answer, the arrival of its body included; by class of HTTP status',
    labelNames: ['receiver', 'status_class'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    remedy:
      'p99 over 1 s: compare with `tidemark_ingress_publish_seconds`; bodies of slow senders count, too',
  }),
  refused: counter({
    name: 'tidemark_ingress_requests_refused_total',
    help: 'Refused requests, by reason; tidemark explain <reason> has the remedy',
    labelNames: ['receiver', 'reason'],
    remedy: '`tidemark explain <reason>`; `tidemark ledger` names the owners',
    collector: 'otelcol_receiver_refused_spans',
  }),
  accepted: counter({
    name: 'tidemark_ingress_items_accepted_total',
    help: 'Items acknowledged after the PubAck',
    labelNames: ['pipeline'],
    remedy: 'none while senders send: see refused requests',
    collector: 'otelcol_receiver_accepted_spans',
  }),
  deferred: counter({
    name: 'tidemark_ingress_items_deferred_total',
    help: 'Items with a wrong time, deferred to transfer, which drops them',
    labelNames: ['pipeline', 'reason'],
    remedy: 'senders with wrong clocks or units: `tidemark drops --tail`',
  }),
  dropped: counter({
    name: 'tidemark_ingress_items_dropped_total',
    help: 'Items dropped at the receiver, by reason',
    labelNames: ['pipeline', 'reason'],
    remedy: '`tidemark drops --since 1h` shows owners and reasons',
  }),
  valuesDropped: counter({
    name: 'tidemark_ingress_values_dropped_total',
    help: 'Single values dropped from accepted items, by reason',
    labelNames: ['pipeline', 'reason'],
    remedy: '`tidemark explain <reason>`: mostly more metric names than the limit of a table',
  }),
  leniencies: counter({
    name: 'tidemark_ingress_otlp_leniencies_total',
    help: 'Deviations from OTLP that the receiver accepted, by kind and sender (SDK, else User-Agent)',
    labelNames: ['kind', 'sender'],
    remedy: 'inform the owner of the sender, or upgrade its SDK; nothing is dropped',
  }),
  duplicates: counter({
    name: 'tidemark_ingress_duplicate_requests_total',
    help: 'Duplicate requests, recognised by their identity; nothing was stored again',
    labelNames: ['pipeline'],
    remedy: 'a high rate: exporters run into their timeouts; compare with publish times',
  }),
  bodyBytes: counter({
    name: 'tidemark_ingress_body_bytes_total',
    help: 'Bytes of request bodies as received',
    labelNames: ['receiver'],
    remedy: 'for planning: bytes per second of each receiver',
  }),
});

/** The receivers' resources in use: bytes, connections, certificates. */
const connectionMetrics = (meters: Meters) => ({
  bytesInFlight: meters.gauge({
    name: 'tidemark_ingress_bytes_in_flight',
    help: 'Request bytes held now; near the limit receivers answer 503',
    remedy: 'near `TIDEMARK_INGRESS_BYTES_IN_FLIGHT_MAX`: add ingress replicas',
    collector: 'otelcol_exporter_in_flight_requests',
  }),
  bytesInFlightMax: meters.gauge({
    name: 'tidemark_ingress_bytes_in_flight_max',
    help: 'Limit of the request bytes that the process holds at once',
    remedy: 'nothing: the limit for comparison',
  }),
  series: meters.gauge({
    name: 'tidemark_ingress_series',
    help: 'Series of data points held of all applications with a limit; each leaves an hour after its latest data point',
    remedy:
      'near 1,000,000: an application with many series gets no further one, docs/receivers/metrics.md; lower its `series_max`',
  }),
  connections: meters.gauge({
    name: 'tidemark_ingress_connections',
    help: 'Connections open now; near the limit new ones are answered 503',
    labelNames: ['receiver'],
    remedy: 'near `TIDEMARK_INGRESS_CONNECTIONS_MAX`: add ingress replicas',
  }),
  connectionsEnded: meters.counter({
    name: 'tidemark_ingress_connections_ended_total',
    help: 'Connections that the receiver refused or closed, by reason; docs/receivers/limits.md has the remedies',
    labelNames: ['receiver', 'reason'],
    remedy: 'docs/receivers/limits.md has the meaning of each reason',
  }),
  ...tlsMetrics('ingress', meters),
});

/** Messages that ingress publishes. */
const publishMetrics = ({ counter, histogram }: Meters) => ({
  publishes: counter({
    name: 'tidemark_ingress_publishes_total',
    help: 'Messages published, by outcome (stored, duplicate, not_stored, unconfirmed)',
    labelNames: ['pipeline', 'outcome'],
    remedy: '`not_stored`: a stream is full or NATS is away; `unconfirmed`: NATS is slow',
    collector: 'otelcol_exporter_enqueue_failed_spans',
  }),
  publishedBytes: counter({
    name: 'tidemark_ingress_published_bytes_total',
    help: 'Bytes of messages that NATS confirmed, by stream',
    labelNames: ['stream'],
    remedy: '`tidemark_stream_bytes_max` divided by this rate is the longest outage of the store without 503',
  }),
  publishSeconds: histogram({
    name: 'tidemark_ingress_publish_seconds',
    help: 'Time from publish to PubAck',
    labelNames: ['pipeline'],
    buckets: secondsBuckets,
    remedy: 'p99 over 1 s: check the disk of NATS',
  }),
  unbooked: counter({
    name: 'tidemark_ingress_messages_unbooked_total',
    help: "Messages published while the publishers' book was full: the account counts only those that were settled",
    labelNames: ['stream'],
    remedy:
      'not 0: LEDGER accepts nothing for long, or very many owners send in one minute; find out why, or add replicas',
  }),
});

/** Figures of ingress. Labels are bounded: pipeline names, codes of the closed table of reasons, HTTP status. */
export const createIngressMetrics = () => {
  const registry = createRegistry('ingress');
  const meters = metersIn(registry);
  return {
    registry,
    ...ledgerFeedMetrics(meters),
    ...requestMetrics(meters),
    ...connectionMetrics(meters),
    ...publishMetrics(meters),
  };
};

export type IngressMetrics = ReturnType<typeof createIngressMetrics>;
export type PublishersBookMetrics = Pick<IngressMetrics, 'ledgerRows' | 'unbooked'>;
