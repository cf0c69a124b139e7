import { describe, expect, it } from 'vitest';
import type { HeldMessage } from '../../../src/transfer/held-message.ts';
import { refusedRows, unavailablePart } from '../../../src/transfer/points/point-letters.ts';
import { validatePoints } from '../../../src/transfer/points/validate-points.ts';
import { takenDays } from '../../../src/transfer/taken-days.ts';
import type { MetricsEnvelope, Part } from '../../../src/wire/metrics-envelope.ts';
import { firstDelivery } from '../../support/outcomes/deliveries.ts';

const day = 86_400_000;
const partOf = (dataId: number, days: Part['days']): Part => ({
  ...{ dataId, table: `t${dataId}`, layout: 'narrow', rows: 4, points: 2, base: '1000', first: 0, last: 9 },
  ...{ timeMin: 20_000 * day, timeMax: 20_001 * day, bytes: 9, ...(days === undefined ? {} : { days }) },
});
const envelopeOf = (...parts: Part[]): MetricsEnvelope => ({
  header: { version: 1, kind: 'metrics', arrivedAt: 1, parts, deferred: [], outcomes: [] },
  partBytes: [],
  deferredBytes: [],
});
const messageOf = (envelope: MetricsEnvelope): HeldMessage => ({
  ...{ delivery: firstDelivery, envelope, rows: 1, bytes: 1, touchedAt: 0, takenAt: 0 },
});
const whole = partOf(1, [
  [20_001, 1, '1003'],
  [20_000, 3, '3009'],
]);
const other = partOf(2, undefined);
const message = messageOf(envelopeOf(whole, other));
const ofAll = (purged: readonly number[] = []) =>
  validatePoints(message.envelope, new Set(purged)).days ?? new Map();

describe('the rows that a store has taken', () => {
  it('are those of each owner by day; an owner whose message does not tell is left out', () => {
    expect([...ofAll()]).toEqual([[1, { days: [20_000, 20_001], rows: [3, 1], sums: ['3009', '1003'] }]]);
    expect([...ofAll([1])]).toEqual([]);
  });

  it('lack a refused row on its own day', () => {
    const row = Buffer.from(`t1,metric=a,target=x value=1,uid=1002i ${20_000 * day + 5}\n`);
    const refused = refusedRows([{ message, part: whole, row, why: 'no' }]);
    expect(takenDays(ofAll(), refused).get(1)).toEqual({
      ...{ days: [20_000, 20_001], rows: [2, 1], sums: ['2007', '1003'] },
    });
  });

  it('lack a part that was dead-lettered whole, and are unknown where such a part does not tell', () => {
    const letter = (part: Part) => unavailablePart(part, Buffer.from('t,a=b uid=7i 1\n'), 'away');
    expect(takenDays(ofAll(), [letter(whole)]).get(1)).toEqual({ days: [], rows: [], sums: [] });
    expect(takenDays(ofAll(), [letter(partOf(1, undefined))]).has(1)).toBe(false);
  });
});
