import { describe, expect, it } from 'vitest';
import type { Delivery } from '../../../src/bus/puller.ts';
import type { HeldMessage } from '../../../src/transfer/held-message.ts';
import { createWideMessages } from '../../../src/transfer/wide-messages.ts';

// With a header, an eighth of a second's worth.
const messageBytes = 2 * 2 ** 20 - 128 * 1024;

const start = () => {
  const clock = { ms: 1_000 };
  return { clock, wide: createWideMessages<number>(() => clock.ms) };
};

const serialOf = (serial: number) => ({ life: 3, serial, minute: 29_000_000 });

type Delivered = Partial<Pick<Delivery, 'redelivered' | 'earlier' | 'serial'>>;

/** The message of a sequence at its first delivery, by default. */
const messageOf = (
  streamSequence: number,
  delivered: Delivered = {},
  bytes = messageBytes,
): HeldMessage<number> => ({
  delivery: {
    ...{ payload: new Uint8Array(0), subject: 'traces.0', version: 1, streamSequence, redrive: 0 },
    ...{ redelivered: false, earlier: 0, serial: serialOf(streamSequence) },
    ...{ ack: () => {}, nak: () => {}, working: () => {}, free: () => {} },
    ...delivered,
  },
  ...{ envelope: 0, rows: 1, bytes, isWide: true, touchedAt: 0, takenAt: 0 },
});

const again = (earlier: number | undefined): Delivered => ({ redelivered: true, earlier });

describe('wide messages', () => {
  it('come again at a bounded rate, however many wait', () => {
    const { clock, wide } = start();
    const delays = Array.from({ length: 401 }, (_, index) => wide.admit(messageOf(index + 1), false));
    expect([delays[0], delays[16], delays[400]]).toEqual([1_000, 3_000, 51_000]);
    // At its time each takes a place after all the others.
    clock.ms += 1_000;
    expect(wide.admit(messageOf(1, again(1)), false)).toBe(50_125);
    clock.ms += 500_000;
    expect(wide.admit(messageOf(1, again(2)), false)).toBe(1_000);
  });

  it('count as waiting for a minute after one was returned', () => {
    const { clock, wide } = start();
    expect(wide.areWaiting).toBe(false);
    wide.admit(messageOf(1), false);
    clock.ms += 59_999;
    expect(wide.areWaiting).toBe(true);
    clock.ms += 1;
    expect(wide.areWaiting).toBe(false);
  });
});

// The guard costs a multiple of a plain insert, and a look three minutes later.
describe('a wide message that was returned', () => {
  const isRedelivered = (admitted: HeldMessage<number> | number): boolean | number =>
    typeof admitted === 'number' ? admitted : admitted.delivery.redelivered;

  it('counts as new when only this process had it, any number of times', () => {
    const { wide } = start();
    wide.admit(messageOf(1), false);
    wide.admit(messageOf(1, again(1)), false);
    expect(isRedelivered(wide.admit(messageOf(1, again(2)), true))).toBe(false);
  });

  it('counts as redelivered when it was taken meanwhile', () => {
    const { wide } = start();
    wide.admit(messageOf(1), false);
    wide.admit(messageOf(1, again(1)), true);
    expect(isRedelivered(wide.admit(messageOf(1, again(2)), true))).toBe(true);
  });

  it('counts as redelivered when NATS delivered it elsewhere meanwhile, now and ever after', () => {
    const { wide } = start();
    wide.admit(messageOf(1), false);
    wide.admit(messageOf(1, again(2)), false);
    expect(isRedelivered(wide.admit(messageOf(1, again(3)), true))).toBe(true);
  });

  it('counts as redelivered when this process never had it, or not its first delivery', () => {
    const { wide } = start();
    expect(isRedelivered(wide.admit(messageOf(1, again(1)), true))).toBe(true);
    wide.admit(messageOf(2, again(1)), false);
    expect(isRedelivered(wide.admit(messageOf(2, again(2)), true))).toBe(true);
  });

  it('counts as redelivered when any of its deliveries was read late', () => {
    const { wide } = start();
    wide.admit(messageOf(1), false);
    expect(isRedelivered(wide.admit(messageOf(1, again(undefined)), true))).toBe(true);
    wide.admit(messageOf(2, again(undefined)), false);
    expect(isRedelivered(wide.admit(messageOf(2, again(1)), true))).toBe(true);
  });

  it('does not stand for another message under its sequence, or for one without a serial', () => {
    const { wide } = start();
    wide.admit(messageOf(1), false);
    expect(isRedelivered(wide.admit(messageOf(1, { ...again(1), serial: serialOf(77) }), true))).toBe(true);
    wide.admit(messageOf(2, { serial: undefined }), false);
    expect(isRedelivered(wide.admit(messageOf(2, { ...again(1), serial: undefined }), true))).toBe(true);
  });
});
