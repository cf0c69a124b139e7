import { ClickHouseError } from '@clickhouse/client';
import { afterEach, describe, expect, it } from 'vitest';
import { type AccountState, startAccountWatch } from '../../../../src/metadata/account/account-watch.ts';
import { Fault } from '../../../../src/model/fault.ts';
import { toFault } from '../../../../src/stores/clickhouse/faults.ts';
import { createLog } from '../../../../src/telemetry/log.ts';

const start = Date.UTC(2026, 0, 1);
const behind = new Fault('transient', 'ledger_behind', 'LEDGER is not written to ClickHouse in time');

let stop: (() => Promise<void>) | undefined;
afterEach(() => stop?.());

type Seen = { readonly beginsMs: readonly number[]; readonly states: readonly AccountState[] };

/** Looks of this length until one begins after `untilMs`; those that begin at `failsFromMs` or later fail, and others wait for `waitedMs`. */
const look = (
  lookMs: number,
  untilMs: number,
  failsFromMs = Number.POSITIVE_INFINITY,
  waitedMs = 0,
  isCalm = false,
): Promise<Seen> =>
  new Promise((resolve) => {
    const beginsMs: number[] = [];
    const states: AccountState[] = [];
    let ms = 0;
    const watch = startAccountWatch({
      look: async () => {
        const fails = ms >= failsFromMs;
        beginsMs.push(ms);
        ms += lookMs;
        if (fails) throw behind;
        return { waitedMs, isCalm, hasFound: false };
      },
      onLook: async (state) => {
        states.push(state);
      },
      now: () => start + ms,
      elapsed: () => ms,
      rest: async (restMs, signal) => {
        ms += restMs;
        if (ms <= untilMs) return;
        resolve({ beginsMs, states });
        await new Promise((ended) => signal.addEventListener('abort', ended));
      },
      log: createLog('test', 'silent'),
    });
    stop = watch.stop;
  });

describe('the looks at the account', () => {
  it('rest for twenty seconds', async () => {
    expect((await look(1_000, 42_000)).beginsMs).toEqual([0, 21_000, 42_000]);
  });

  it('rest for forty where they find nothing new', async () => {
    const { beginsMs } = await look(1_000, 82_000, Number.POSITIVE_INFINITY, 0, true);
    expect(beginsMs).toEqual([0, 41_000, 82_000]);
  });

  it('that are long rest four times as long as they took', async () => {
    expect((await look(10_000, 100_000)).beginsMs).toEqual([0, 50_000, 100_000]);
  });

  it('that waited for LEDGER rest as if they had not, so that a loss meanwhile shows soon after it', async () => {
    const { beginsMs } = await look(46_000, 132_000, Number.POSITIVE_INFINITY, 45_000);
    expect(beginsMs).toEqual([0, 66_000, 132_000]);
  });

  it('that fail are repeated within half a minute, however long they waited', async () => {
    expect((await look(60_000, 180_000, 0)).beginsMs).toEqual([0, 90_000, 180_000]);
  });

  // Such a failure does not end by itself: an upgrade forgot its migration.
  it('that find tables of an earlier version log the remedy at once, and that it is known again', async () => {
    const lines: unknown[] = [];
    const add = (fields: object, text: string) => void lines.push([text, fields]);
    const missing = toFault(
      new ClickHouseError({ message: 'no such column', code: '47', type: 'UNKNOWN_IDENTIFIER' }),
    );
    const text = `${missing.message} (tables of an earlier version: run tidemark migrate)`;
    const failures = [missing, missing];
    const states: AccountState[] = [];
    await new Promise<void>((resolve) => {
      const watch = startAccountWatch({
        look: async () => {
          const failure = failures.pop();
          if (failure !== undefined) throw failure;
          return { waitedMs: 0, isCalm: false, hasFound: false };
        },
        onLook: async (state) => {
          if (states.push(state) === 3) resolve();
        },
        now: () => start,
        elapsed: () => 0,
        rest: async (_, signal) => {
          if (states.length === 3) await new Promise((ended) => signal.addEventListener('abort', ended));
        },
        log: { ...createLog('test', 'silent'), info: add, warn: add },
      });
      stop = watch.stop;
    });
    expect(states.map(({ why }) => why)).toEqual([text, text, undefined]);
    expect(lines).toEqual([
      ['the account is not known: the books cannot be compared', { error: text }],
      ['the account is known again', {}],
    ]);
  });

  it('make it not known after three failures in a row, since the first of them', async () => {
    const { beginsMs, states } = await look(1_000, 84_000, 30_000);
    expect(beginsMs).toEqual([0, 21_000, 42_000, 63_000, 84_000]);
    const known = { notKnownSince: undefined, why: undefined };
    const notKnown = { notKnownSince: start + 42_000, why: behind.message };
    expect(states.slice(1)).toEqual([known, known, known, notKnown]);
  });
});
