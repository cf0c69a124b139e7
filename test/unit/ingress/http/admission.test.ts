import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createBytesInFlight } from '../../../../src/ingress/http/admission.ts';
import { always } from '../../../support/properties.ts';

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

  // A limit below the largest body would otherwise refuse that body every time, with an answer that asks for a retry.
  it('let one request in alone, however large it is', () => {
    const { room } = create(100);
    expect([room.tryTake(1000), room.tryTake(1), room.held]).toEqual([true, false, 1000]);
    room.give(1000);
    expect(room.tryTake(1)).toBe(true);
  });

  it('let the one request that holds all of them grow, and no other in', () => {
    const { room } = create(100);
    expect([room.tryTake(90, 0), room.tryTake(90, 90), room.tryTake(1, 0), room.hasRoom(0)]).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  // Without a share of their own, senders without a credential keep out those with one.
  it('go to strangers up to their half, and are no longer in it once a stranger is known', () => {
    const { room } = create(100);
    expect([room.tryTake(50, 0, true), room.tryTake(1, 0, true), room.hasRoom(1, true)]).toEqual([
      true,
      false,
      false,
    ]);
    expect([room.tryTake(10), room.held]).toEqual([true, 60]);
    room.vouch(50);
    expect([room.tryTake(30, 0, true), room.tryTake(30, 0, true)]).toEqual([true, false]);
    room.give(30, true);
    expect(room.tryTake(40, 0, true)).toBe(true);
  });

  it('let one stranger in alone, however large it is', () => {
    const { room } = create(100);
    expect([room.tryTake(30, 0, true), room.tryTake(30, 30, true), room.tryTake(1, 0, true)]).toEqual([
      true,
      true,
      false,
    ]);
  });

  describe('of large and small requests', () => {
    const mebi = 2 ** 20;

    // One sender of large bodies would otherwise make every other sender of the process wait.
    it('leave an eighth of the room to small ones, regardless of what a large one holds', () => {
      const { room } = create(192 * mebi);
      expect(room.tryTake(192 * mebi)).toBe(true);
      const small = Array.from({ length: 5 }, () => room.tryTake(6 * mebi));
      expect(small).toEqual([true, true, true, true, false]);
      expect([room.hasRoom(1), room.hasRoom(64 * mebi)]).toEqual([false, false]);
    });

    it('let large ones have the rest together, and none of them grow into the share of the small ones', () => {
      const { room } = create(192 * mebi);
      expect([room.tryTake(84 * mebi), room.tryTake(84 * mebi), room.tryTake(7 * mebi)]).toEqual([
        true,
        true,
        false,
      ]);
      expect([room.tryTake(1, 84 * mebi), room.tryTake(6 * mebi)]).toEqual([false, true]);
    });

    // A body of the largest size needs the whole room, and some small request is always on its way.
    it('let the one large request pass beside small ones, beyond the limit by their share at most', () => {
      const { room } = create(192 * mebi);
      for (let taken = 0; taken < 4; taken += 1) room.tryTake(6 * mebi);
      expect([room.tryTake(64 * mebi), room.tryTake(128 * mebi, 64 * mebi)]).toEqual([true, true]);
      expect([room.tryTake(1), room.held]).toEqual([false, 216 * mebi]);
    });

    it('count a request as what it holds now', () => {
      const { room } = create(192 * mebi);
      expect([room.tryTake(6 * mebi), room.tryTake(90 * mebi, 6 * mebi)]).toEqual([true, true]);
      room.give(92 * mebi, false, 4 * mebi);
      expect([room.tryTake(168 * mebi), room.tryTake(20 * mebi), room.tryTake(6 * mebi)]).toEqual([
        true,
        false,
        true,
      ]);
    });

    // Four bodies of an unknown length, small until they pass 6 MiB, took all that large requests leave.
    it('leave half of that eighth to requests that are known to stay small', () => {
      const { room } = create(192 * mebi);
      expect(room.tryTake(168 * mebi)).toBe(true);
      const growing = Array.from({ length: 3 }, () => room.tryTake(6 * mebi, 0, false, true));
      expect([...growing, room.hasRoom(0, false, true)]).toEqual([true, true, false, false]);
      expect(Array.from({ length: 3 }, () => room.tryTake(6 * mebi))).toEqual([true, true, false]);
    });

    it('let those that may grow have the room of large ones', () => {
      const { room } = create(192 * mebi);
      const growing = Array.from({ length: 31 }, () => room.tryTake(6 * mebi, 0, false, true));
      expect(growing.lastIndexOf(true)).toBe(29);
      expect([room.tryTake(1, 6 * mebi, false, true), room.tryTake(12 * mebi)]).toEqual([false, false]);
      for (let given = 0; given < 28; given += 1) room.give(6 * mebi, false, 0, true);
      expect([room.tryTake(180 * mebi, 6 * mebi, false, true), room.tryTake(6 * mebi)]).toEqual([true, true]);
      room.give(186 * mebi, false, 0, true);
      room.give(6 * mebi, false, 0, true);
      expect(room.held).toBe(6 * mebi);
    });

    it('hold for strangers too', () => {
      const { room } = create(192 * mebi);
      expect(room.tryTake(64 * mebi, 0, true)).toBe(true);
      expect([room.tryTake(32 * mebi, 0, true), room.tryTake(6 * mebi, 0, true)]).toEqual([false, true]);
    });
  });

  // A client that sends a byte a second must not block those that send at once.
  it('are given back by slow bodies when others need them, and only then', () => {
    let nowMs = 0;
    const room = createBytesInFlight(
      100,
      () => {},
      () => nowMs,
    );
    const gone: string[] = [];
    const watch = (name: string, isSlow: boolean): void => {
      room.tryTake(50);
      const unwatch = room.watch({
        request: {},
        isSlow: () => isSlow,
        isStranger: () => false,
        giveWay: () => {
          unwatch();
          gone.push(name);
          room.give(50);
        },
      });
    };
    watch('slow', true);
    watch('fast', false);
    expect(gone).toEqual([]);
    expect([room.hasRoom(10), gone, room.tryTake(50), room.held]).toEqual([true, ['slow'], true, 100]);
    nowMs += 1000;
    expect([room.tryTake(1), gone]).toEqual([false, ['slow']]);
  });

  // Two bodies without a credential would otherwise be enough to refuse every slow upload of others.
  it('are given back for a stranger beyond its half by slow strangers alone, and then for known senders by all', () => {
    const room = createBytesInFlight(
      100,
      () => {},
      () => 0,
    );
    const gone: string[] = [];
    const watch = (name: string, bytes: number, isStranger: boolean): void => {
      room.tryTake(bytes, 0, isStranger);
      const unwatch = room.watch({
        request: {},
        isSlow: () => true,
        isStranger: () => isStranger,
        giveWay: () => {
          unwatch();
          gone.push(name);
          room.give(bytes, isStranger);
        },
      });
    };
    watch('known', 20, false);
    watch('stranger', 40, true);
    expect([room.tryTake(50, 0, true), gone]).toEqual([true, ['stranger']]);
    expect([room.tryTake(1, 0, true), gone, room.held]).toEqual([false, ['stranger'], 70]);
    expect([room.tryTake(50), gone, room.held]).toEqual([true, ['stranger', 'known'], 100]);
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
