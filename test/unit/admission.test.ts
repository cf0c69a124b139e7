import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createBytesInFlight } from '../../src/ingress/admission.ts';
import { always } from '../support/properties.ts';

describe('bytes in flight', () => {
  const create = (bytesMax: number) => {
    const seen: number[] = [];
    return { seen, room: createBytesInFlight(bytesMax, (held) => seen.push(held)) };
  };

  it('are refused above the limit, and taken again once room was given back', () => {
    const { room, seen } = create(100);
    expect([room.tryTake(60), room.tryTake(40), room.tryTake(1), room.held]).toEqual([
      true,
      true,
      false,
      100,
    ]);
    room.give(60);
    expect([room.tryTake(61), room.tryTake(60), room.held]).toEqual([false, true, 100]);
    expect(seen).toEqual([60, 100, 40, 100]);
  });

  // A limit below the largest body would otherwise refuse that body for ever, with an answer that says: try again.
  it('let one request in alone, however large it is', () => {
    const { room } = create(100);
    expect([room.tryTake(1000), room.tryTake(1), room.held]).toEqual([true, false, 1000]);
    room.give(1000);
    expect(room.tryTake(1)).toBe(true);
  });

  it('never pass the limit by more than one request', () => {
    always(
      fc.property(fc.array(fc.tuple(fc.nat(50), fc.boolean())), (steps) => {
        const { room } = create(100);
        const taken: number[] = [];
        for (const [bytes, isGiven] of steps) {
          if (isGiven) room.give(taken.pop() ?? 0);
          else if (room.tryTake(bytes)) taken.push(bytes);
          expect(room.held).toBe(taken.reduce((sum, each) => sum + each, 0));
          expect(room.held).toBeLessThanOrEqual(100);
        }
      }),
    );
  });
});
