import { describe, expect, it } from 'vitest';
import { startIngressAtZero } from '../../../src/ingress/zero-counters.ts';
import { startMetadataAtZero } from '../../../src/metadata/zero-counters.ts';
import { reasons } from '../../../src/model/reasons.ts';
import { createIngressMetrics } from '../../../src/telemetry/ingress-metrics.ts';
import { createMetadataMetrics } from '../../../src/telemetry/metadata-metrics.ts';
import type { Registry } from '../../../src/telemetry/shared-metrics.ts';
import { createTransferMetrics } from '../../../src/telemetry/transfer-metrics.ts';
import { startTransferAtZero } from '../../../src/transfer/zero-counters.ts';
import { readExposition, sumOf } from '../../support/deploy/prometheus-text.ts';

const ingress = createIngressMetrics();
startIngressAtZero(ingress);
const transfer = createTransferMetrics();
startTransferAtZero(transfer, ['metrics', 'metrics-b']);
const metadata = createMetadataMetrics();
startMetadataAtZero(metadata);

/** Counters whose labels have no closed list of values: names of senders, codes of a store, streams, statuses of the admin API. */
const open = [
  'tidemark_ingress_otlp_leniencies_total',
  'tidemark_ingress_published_bytes_total',
  'tidemark_ingress_messages_unbooked_total',
  'tidemark_transfer_store_answers_unclassified_total',
  'tidemark_transfer_leftover_messages_removed_total',
  'tidemark_metadata_requests_total',
  // Metadata starts it at 0 once it knows the streams.
  'tidemark_streams_mended_total',
];

const withoutSeries = async (registry: Registry): Promise<string[]> => {
  const text = await registry.metrics();
  const { samples, kinds } = readExposition(text);
  const names = [...kinds].flatMap(([name, kind]) =>
    kind === 'counter' && name.startsWith('tidemark_') ? [name] : [],
  );
  return names.filter((name) => !samples.some((sample) => sample.name === name));
};

describe('a counter with closed labels', () => {
  // An alarm on the growth of a series that appears with its first event misses this event.
  it('stands at 0 before its first event', async () => {
    const missing = await Promise.all(
      [ingress, transfer, metadata].map(({ registry }) => withoutSeries(registry)),
    );
    expect(missing.flat().toSorted()).toEqual(open.toSorted());
  });

  it('of dead letters has each reason of each pipeline', async () => {
    const { samples } = readExposition(await transfer.registry.metrics());
    for (const pipeline of ['metrics', 'metrics-b', 'traces', 'ledger'])
      for (const reason of ['unreadable_message', 'row_refused', 'span_refused', 'table_unavailable'])
        expect(sumOf(samples, 'tidemark_transfer_dead_letters_total', { pipeline, reason })).toBe(0);
  });

  it('of ended connections has both limits of each receiver', async () => {
    const { samples } = readExposition(await ingress.registry.metrics());
    const found = samples.filter(({ name }) => name === 'tidemark_ingress_connections_ended_total');
    expect(found.map(({ labels, value }) => `${labels['receiver']} ${labels['reason']} ${value}`)).toEqual(
      ['push', 'otlp', 'grpc'].flatMap((receiver) => [
        `${receiver} connections_max 0`,
        `${receiver} address_connections_max 0`,
      ]),
    );
  });

  // docs/metrics.md is made of the meanings.
  it('names its outcomes in its meaning', async () => {
    for (const { registry } of [ingress, transfer, metadata])
      for (const { name, help, values } of await registry.getMetricsAsJSON()) {
        const outcomes = new Set(values.flatMap(({ labels }) => labels['outcome'] ?? []));
        for (const outcome of outcomes) expect(`${name}: ${help}`).toContain(String(outcome));
      }
  });

  it('has only reasons of the table', async () => {
    const codes = new Set(reasons.map(({ code }) => code));
    for (const { registry } of [ingress, transfer]) {
      const { samples } = readExposition(await registry.metrics());
      const unknown = samples
        .flatMap(({ name, labels }) =>
          // Those of connections are in docs/receivers/limits.md.
          name === 'tidemark_ingress_connections_ended_total' ? [] : (labels['reason'] ?? []),
        )
        .filter((code) => !codes.has(code));
      expect(unknown).toEqual([]);
    }
  });
});
