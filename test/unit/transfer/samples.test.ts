import { describe, expect, it } from 'vitest';
import { createRedaction } from '../../../src/outcomes/redaction.ts';
import { createSamples } from '../../../src/outcomes/samples.ts';
import { createTransferSamples, looksLikeToken } from '../../../src/transfer/samples.ts';
import type { DeadLettered } from '../../../src/transfer/sink.ts';

const token = '0123456789abcdef0123456789abcdef';

const started = () => {
  const samples = createSamples({
    now: () => 0,
    redaction: createRedaction(looksLikeToken),
    onLost: () => {},
  });
  return { samples, transfer: createTransferSamples(samples) };
};

const refusedRow = (row: string): DeadLettered => ({
  reason: 'row_refused',
  why: 'cannot cast',
  bytes: Buffer.from(row),
  identity: '1',
  items: 1,
  place: { dataId: 1500001, table: 't' },
});

describe('samples that only transfer can take', () => {
  it('are refused rows as they were written, without possible tokens', () => {
    const { samples, transfer } = started();
    transfer.deadLettered('metrics', refusedRow(`t,module=${token},token=hunter2 cpu=1,uid=5i 1000`));
    transfer.purged([1500002]);
    const rows = samples.take(3);
    expect(rows).toMatchObject([
      { data_id: 1500001, stage: 'transfer', reason: 'row_refused', detail: 'cannot cast', boot: 3 },
      { data_id: 1500002, stage: 'transfer', reason: 'data_source_purged', payload: '' },
    ]);
    expect(rows[0]?.payload).toBe('t,module=[redacted],token=[redacted] cpu=1,uid=5i 1000');
  });

  // A block of spans is bytes; shown as text it would be noise, and what it holds could not be redacted.
  it('have no payload where that is not text', () => {
    const { samples, transfer } = started();
    const block = { ...refusedRow('x'), reason: 'block_refused', place: { appId: 7 } } as const;
    transfer.deadLettered('traces', block);
    expect(samples.take(1)).toMatchObject([{ app_id: 7, data_id: 0, reason: 'block_refused', payload: '' }]);
  });

  // They would come back through LEDGER as examples of themselves.
  it('include no failure of LEDGER itself', () => {
    const { samples, transfer } = started();
    transfer.deadLettered('ledger', refusedRow('x'));
    expect(samples.take(1)).toEqual([]);
  });
});
