import { describe, expect, it } from 'vitest';
import { outcomeRows, redriveRows, unreadableRow } from '../../../src/outcomes/outcome-rows.ts';
import { type MessagePlace, settledLines } from '../../../src/outcomes/settled-lines.ts';
import { deadLetteredOutcome, storedOutcome, type Tally } from '../../../src/outcomes/tally.ts';
import { minuteText } from '../../../src/outcomes/times.ts';
import type { OwnerDays } from '../../../src/wire/part-days.ts';

const now = Date.UTC(2026, 1, 3, 4, 5, 6, 7);
const arrivedAt = now - 60_000;
const key = { base: '7', first: 3 };
const place: MessagePlace = {
  stream: 'METRICS-b',
  sequence: 12,
  serial: { life: 9, serial: 5, minute: Math.floor(now / 60_000) - 3 },
  arrivedAt,
  redrive: 0,
};
const none = { letters: new Map(), days: undefined };

describe('the lines of a message', () => {
  it('are its records with its place, one for each owner, each with the items of the owner', () => {
    const tally: Tally = new Map([
      [4, new Map([[storedOutcome, 2]])],
      [
        5,
        new Map([
          ['dropped/metrics_empty', 3],
          [deadLetteredOutcome, 1],
        ]),
      ],
    ]);
    const records = outcomeRows('metrics', key, tally, arrivedAt, now);
    const common = {
      ...{
        stream: 'METRICS-b',
        life: 9,
        serial: 5,
        sent: minuteText(now - 180_000),
        sequence: 12,
        owners: 2,
      },
    };
    expect(settledLines('metrics', records, place, { tally, ...none }, now)).toEqual([
      { ...records[0], ...common, items: 2 },
      { ...records[1], ...common, items: 4 },
    ]);
  });

  it('name the dead letters and the rows by day of their own owner, and leave out what is empty', () => {
    const tally: Tally = new Map([
      [4, new Map([[deadLetteredOutcome, 3]])],
      [5, new Map([[storedOutcome, 1]])],
    ]);
    const letters = new Map([
      [
        4,
        new Map([
          [8, 1],
          [-1, 2],
        ]),
      ],
    ]);
    const days = new Map<number, OwnerDays>([
      [4, { days: [], rows: [], sums: [] }],
      [5, { days: [20_000, 20_001], rows: [1, 2], sums: ['8', '20'] }],
    ]);
    const records = outcomeRows('traces', key, tally, arrivedAt, now);
    const lines = settledLines('traces', records, place, { tally, letters, days }, now);
    const texts = lines.map((line) => JSON.parse(JSON.stringify(line)));
    expect(texts[0]).toMatchObject({ app_id: 4, letters: [8, -1], letter_items: [1, 2] });
    expect(Object.keys(texts[0])).not.toContain('days');
    // Relative to the base of the key, which is 7.
    expect(texts[1]).toMatchObject({
      ...{ app_id: 5, days: [20_000, 20_001], day_rows: [1, 2], day_sums: ['1', '6'] },
    });
    expect(Object.keys(texts[1])).not.toContain('letters');
  });

  it('are one without an owner where the message has no record', () => {
    const lines = settledLines('metrics', [], { ...place, redrive: 2 }, { tally: new Map(), ...none }, now);
    expect(lines).toMatchObject([
      { data_id: 0, app_id: 0, owners: 1, items: 0, received: 0, outcomes: {}, sequence: 12, redrive: 2 },
    ]);
  });

  it('count the items of a redrive, whose record receives none', () => {
    const tally: Tally = new Map([[4, new Map([[storedOutcome, 1]])]]);
    const redrive = { number: 2, items: 1, outcome: { ...key, ordinal: 6, minute: '2026-02-03 04:04:00' } };
    const records = redriveRows('metrics', redrive, tally, now);
    expect(settledLines('metrics', records, { ...place, redrive: 2 }, { tally, ...none }, now)).toMatchObject(
      [{ received: 0, items: 1, redrive: 2, ordinal: 6, owners: 1 }],
    );
  });

  // Another minute in another delivery would be another row of the same message.
  it('are the same in every delivery but for the moment, also of a message that cannot be read', () => {
    const payload = Buffer.from('no envelope');
    const tally: Tally = new Map([[0, new Map([[deadLetteredOutcome, 1]])]]);
    const unnumbered = { ...place, serial: undefined, arrivedAt: 0 };
    const [first, second] = [now, now + 600_000].map(
      (at) =>
        settledLines(
          'metrics',
          [unreadableRow('metrics', payload, at)],
          unnumbered,
          { tally, ...none },
          at,
        )[0],
    );
    const { at: _, minute: __, ...same } = first ?? expect.fail();
    expect(second).toMatchObject(same);
    expect(same).toMatchObject({ life: 0, serial: 0, sent: '1970-01-01 00:00:00', items: 1 });
  });

  it('take any time that a header can hold', () => {
    const far = { ...place, serial: { life: 1, serial: 1, minute: 999_999_999 } };
    expect(settledLines('metrics', [], far, { tally: new Map(), ...none }, now)[0]?.sent).toBe(
      '2106-02-07 06:28:00',
    );
  });
});
