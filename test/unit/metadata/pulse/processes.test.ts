import { describe, expect, it } from 'vitest';
import { createProcesses, processesMax } from '../../../../src/metadata/pulse/processes.ts';
import { pulseSubject } from '../../../../src/telemetry/pulse.ts';
import { bytesOf, ingressOf, pulseOf } from '../../../support/pulses.ts';

const idOf = (number: number): string => number.toString(16).padStart(16, '0');

const open = () => {
  const clock = { ms: 1_000_000 };
  const ignored: string[] = [];
  const processes = createProcesses({ elapsed: () => clock.ms, onIgnored: (why) => ignored.push(why) });
  const beat = (number: number, items = 10, fields = {}): void =>
    processes.take(
      bytesOf(
        pulseOf({
          pid: number,
          ingress: ingressOf({ items: { metrics: items, traces: 0, logs: 0, otel_metrics: 0 } }),
          ...fields,
        }),
      ),
      pulseSubject('ingress', idOf(number)),
    );
  return { clock, ignored, processes, beat };
};

describe('a process', () => {
  it('is there while it is heard, gone after five silent seconds, and forgotten after two minutes', () => {
    const { clock, processes, beat } = open();
    beat(1);
    clock.ms += 4_900;
    expect(processes.list()).toMatchObject([{ id: idOf(1), isGone: false }]);
    clock.ms += 200;
    expect(processes.list()).toMatchObject([{ isGone: true, silentSeconds: 5 }]);
    clock.ms += 114_800;
    expect(processes.list()).toHaveLength(1);
    clock.ms += 200;
    expect(processes.list()).toEqual([]);
  });

  // A pulse that was held up on its way would say a time that is past.
  it('has its own clock, whose pulses may come late, and none where an earlier program does not say it', () => {
    const { clock, processes, beat } = open();
    beat(1, 0, { clockMs: 5_000_000 });
    beat(2);
    clock.ms += 8_000;
    beat(1, 0, { clockMs: 5_001_000 });
    expect(processes.list().map(({ clockMs }) => clockMs)).toEqual([5_008_000, undefined]);
    // Set back by an hour.
    for (const _ of [1, 2, 3]) beat(1, 0, { clockMs: 1_408_000 });
    expect(processes.list()[0]?.clockMs).toBe(1_408_000);
  });

  it('comes back when it is heard again, and leaves at once when it stops in order', () => {
    const { clock, processes, beat } = open();
    beat(1);
    clock.ms += 30_000;
    beat(1);
    expect(processes.list()).toMatchObject([{ isGone: false }]);
    beat(1, 0, { isLast: true });
    expect(processes.list()).toEqual([]);
  });

  // While NATS is away nobody is heard, which says nothing about them.
  it('is not gone because the connection was away', () => {
    const { clock, processes, beat } = open();
    beat(1);
    clock.ms += 60_000;
    processes.reconnected();
    clock.ms += 4_000;
    expect([processes.list()[0]?.isGone, processes.isSettled]).toEqual([false, false]);
    clock.ms += 2_000;
    expect([processes.list()[0]?.isGone, processes.isSettled]).toEqual([true, true]);
  });

  it('that died is silent since its last pulse, and forgotten, however often the connection is away', () => {
    const { clock, processes, beat } = open();
    beat(1);
    for (let second = 0; second < 64; second += 4) {
      clock.ms += 4_000;
      processes.reconnected();
    }
    clock.ms += 5_000;
    expect(processes.list()).toMatchObject([{ isGone: true, silentSeconds: 69 }]);
    for (let second = 0; second < 52; second += 4) {
      clock.ms += 4_000;
      processes.reconnected();
    }
    expect(processes.list()).toEqual([]);
  });

  // A process that wakes heard nobody while it slept: it paged for every process, itself included.
  it('is not gone because the process that listens slept', () => {
    const { clock, processes, beat } = open();
    for (let second = 0; second < 10; second++) {
      beat(1);
      processes.tick();
      clock.ms += 1_000;
    }
    expect([processes.list()[0]?.isGone, processes.isSettled]).toEqual([false, true]);
    clock.ms += 30_000;
    expect([processes.list()[0]?.isGone, processes.isSettled]).toEqual([false, false]);
    for (let second = 0; second < 6; second++) {
      processes.tick();
      clock.ms += 1_000;
    }
    expect([processes.list()[0]?.isGone, processes.isSettled]).toEqual([true, true]);
  });

  it('has its rates second by second, the newest last, and nothing where it was silent', () => {
    const { clock, processes, beat } = open();
    for (const items of [1, 2, 3]) {
      beat(1, items);
      clock.ms += 1_000;
    }
    clock.ms += 4_000;
    beat(1, 9);
    const { items } = processes.seriesOf(idOf(1));
    expect(items).toHaveLength(120);
    expect(items.slice(-9)).toEqual([null, 1, 2, 3, null, null, null, null, 9]);
    // One second without a pulse is one that came late.
    clock.ms += 2_000;
    beat(1, 7);
    expect(processes.seriesOf(idOf(1)).items.slice(-3)).toEqual([9, 7, 7]);
    clock.ms += 119_000;
    expect(processes.seriesOf(idOf(1)).items.filter((value) => value !== null)).toEqual([7]);
  });

  it('keeps two minutes, however long it is heard', () => {
    const { clock, processes, beat } = open();
    for (let second = 0; second < 1_000; second++) {
      beat(1, second);
      clock.ms += 1_000;
    }
    clock.ms -= 1_000;
    const { items, cpu } = processes.seriesOf(idOf(1));
    expect([items.length, items[0], items.at(-1), cpu.at(-1)]).toEqual([120, 880, 999, 0.1]);
  });
});

describe('the memory', () => {
  // One machine with 64 receiver processes must leave room for those of the other roles.
  it('holds 512 processes, and ignores others until one of them is gone', () => {
    const { clock, ignored, processes, beat } = open();
    for (let number = 1; number <= processesMax + 1; number++) beat(number);
    expect([processes.list().length, ignored]).toEqual([processesMax, ['too_many']]);
    expect(processes.isFull).toBe(true);
    clock.ms += 3_000;
    for (let number = 2; number <= processesMax; number++) beat(number);
    clock.ms += 3_000;
    beat(processesMax + 1);
    const ids = processes.list().map(({ id }) => id);
    expect([ids.length, ids.includes(idOf(1)), ids.includes(idOf(processesMax + 1))]).toEqual([
      512,
      false,
      true,
    ]);
    expect(ignored).toHaveLength(1);
    expect(processes.isFull).toBe(false);
  });

  it('ignores and counts what is no pulse, and one under the id of another role', () => {
    const { ignored, processes, beat } = open();
    beat(1);
    processes.take(Buffer.from('garbage'), pulseSubject('ingress', idOf(2)));
    processes.take(bytesOf(pulseOf()), 'pulse.ingress.x');
    processes.take(bytesOf(pulseOf()), pulseSubject('transfer', idOf(1)));
    expect(processes.list()).toMatchObject([{ role: 'ingress', id: idOf(1) }]);
    expect(ignored).toEqual(['malformed', 'malformed', 'too_many']);
    expect(processes.isFull).toBe(false);
  });
});
