import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createIngressMetrics } from '../../../src/telemetry/ingress-metrics.ts';
import { pulseBytesMax, pulseOrigin, pulseSubject, readPulse } from '../../../src/telemetry/pulse.ts';
import { createIngressFigures, createTransferFigures } from '../../../src/telemetry/pulse-figures.ts';
import { createTransferMetrics } from '../../../src/telemetry/transfer-metrics.ts';
import { bytesOf, ingressOf, pipelineOf, pulseOf } from '../../support/pulses.ts';

const id = '0123456789abcdef';

describe('a pulse', () => {
  it('is read as it was written, and what a newer program adds is left out', () => {
    const pulse = pulseOf({
      ingress: ingressOf(),
      transfer: { pipelines: { metrics: pipelineOf() }, tables: {} },
    });
    expect(readPulse(bytesOf(pulse))).toEqual(pulse);
    expect(readPulse(bytesOf({ ...pulse, more: { than: 'known' } }))).toEqual(pulse);
  });

  // Roles are upgraded one after the other: each must be heard meanwhile.
  it('of an earlier program is read, and one of this program has what an earlier one demands', () => {
    const { degraded: _, ...before } = pulseOf({ failing: { questdb: 'away' } });
    expect(readPulse(bytesOf({ ...before, warnings: { outcomes: 'wait' } }))).toEqual({
      ...before,
      degraded: { outcomes: 'wait' },
    });
    expect(readPulse(bytesOf({ ...pulseOf({ degraded: { nats: 'away' } }), warnings: {} }))).toEqual(
      pulseOf({ degraded: { nats: 'away' } }),
    );
  });

  it('of a receiver of before logs and data points has none of them', () => {
    const pulse = pulseOf({ ingress: ingressOf() });
    const before = { ...pulse, ingress: { ...pulse.ingress, items: { metrics: 10, traces: 5 } } };
    expect(readPulse(bytesOf(before))?.ingress?.items).toEqual({
      metrics: 10,
      traces: 5,
      logs: 0,
      otel_metrics: 0,
    });
  });

  it('names its process in its subject', () => {
    expect(pulseOrigin(pulseSubject('transfer', id))).toEqual({ role: 'transfer', id });
    for (const subject of [
      'pulse.transfer',
      `pulse.other.${id}`,
      'pulse.ingress.short',
      `pulse.ingress.${id}.x`,
    ])
      expect(pulseOrigin(subject)).toBeUndefined();
  });

  // A client of NATS can publish anything, and every metadata process reads it each second.
  it.each([
    ['of too many bytes', { ...pulseOf(), more: 'x'.repeat(pulseBytesMax) }],
    ['with a long name', pulseOf({ host: 'x'.repeat(129) })],
    ['with a long reason', pulseOf({ failing: { nats: 'x'.repeat(301) } })],
    [
      'with many checks',
      pulseOf({ failing: Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`c${i}`, ''])) }),
    ],
    [
      'with many pipelines',
      pulseOf({
        transfer: {
          pipelines: Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`p${i}`, pipelineOf()])),
          tables: {},
        },
      }),
    ],
    ['with a rate below 0', pulseOf({ cpu: -1 })],
    ['with no number', { ...pulseOf(), cpu: 'high' }],
    ['without a version', { ...pulseOf(), version: undefined }],
    ['that is null', null],
  ])('is none: %s', (_, value) => {
    expect(readPulse(bytesOf(value))).toBeUndefined();
  });

  it('is none, for any other bytes', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array({ maxLength: 200 }),
          fc.json().map((text) => Buffer.from(text)),
        ),
        (bytes) => {
          expect(readPulse(bytes)).toBeUndefined();
        },
      ),
      { numRuns: 300, seed: 7 },
    );
  });
});

describe('the figures of a receiver', () => {
  it('are what it counted since the pulse before, per second', async () => {
    const metrics = createIngressMetrics();
    const figures = createIngressFigures(metrics);
    metrics.accepted.inc({ pipeline: 'metrics' }, 7);
    await figures(1);
    metrics.accepted.inc({ pipeline: 'metrics' }, 100);
    metrics.accepted.inc({ pipeline: 'traces' }, 50);
    metrics.bodyBytes.inc({ receiver: 'push' }, 4_000);
    metrics.refused.inc({ receiver: 'push', reason: 'unauthorized' }, 6);
    for (let reason = 1; reason <= 7; reason++)
      metrics.dropped.inc({ pipeline: 'metrics', reason: `reason_${reason}` }, reason);
    metrics.bytesInFlight.set(123);
    const { ingress, dropped } = await figures(2);
    expect(ingress).toEqual({
      items: { metrics: 50, traces: 25, logs: 0, otel_metrics: 0 },
      bytes: { push: 2_000, otlp: 0 },
      refused: 3,
      dropped: 14,
      bytesInFlight: 123,
      connections: 0,
    });
    expect(dropped.map(({ reason, rate }) => [reason, rate])).toEqual([
      ['reason_7', 3.5],
      ['reason_6', 3],
      ['reason_5', 2.5],
      ['reason_4', 2],
      ['reason_3', 1.5],
    ]);
    expect((await figures(1)).ingress?.items).toEqual({ metrics: 0, traces: 0, logs: 0, otel_metrics: 0 });
  });
});

describe('the figures of transfer', () => {
  it('tell each pipeline, its writes of this second, and its tables', async () => {
    const metrics = createTransferMetrics();
    const figures = createTransferFigures(metrics);
    const label = { pipeline: 'metrics' };
    metrics.breakerOpen.set(label, 0);
    metrics.breakerOpen.set({ pipeline: 'metrics-b' }, 1);
    for (let write = 0; write < 100; write++) metrics.writeSeconds.observe(label, 5);
    await figures(1);
    metrics.stored.inc(label, 40);
    metrics.messageBytes.inc(label, 900);
    for (let write = 0; write < 99; write++) metrics.writeSeconds.observe(label, 0.02);
    metrics.tablesSetAside.set({ pipeline: 'metrics-b' }, 3);
    metrics.tableMessagesWaiting.set({ questdb: 'b', table_id: 't' }, 4);
    metrics.questdbTables.set({ questdb: 'default', state: 'ok' }, 8);
    metrics.questdbTables.set({ questdb: 'default', state: 'suspended' }, 2);
    const { transfer } = await figures(1);
    expect(transfer?.pipelines['metrics']).toMatchObject({
      items: 40,
      bytes: 900,
      writeP99Ms: 25,
      isBreakerOpen: false,
    });
    expect(transfer?.pipelines['metrics-b']).toMatchObject({
      items: 0,
      writeP99Ms: null,
      setAside: 3,
      waiting: 4,
      isBreakerOpen: true,
    });
    expect(transfer?.tables).toEqual({ default: { suspended: 2, broken: 0, noUpsertKeys: 0 } });
  });
});
