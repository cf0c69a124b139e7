import { describe, expect, it } from 'vitest';
import { rowsOf, validateDeferredPoints } from '../../../src/transfer/points/validate-points.ts';
import type {
  DeferredGroup,
  MetricsEnvelope,
  MetricsHeader,
  Part,
} from '../../../src/wire/metrics-envelope.ts';

const arrivedAt = Date.UTC(2026, 5, 1, 12);
const hourMs = 3_600_000;

const group = (section: string, change: Partial<DeferredGroup> = {}): [DeferredGroup, Uint8Array] => [
  {
    dataId: 1500001,
    arrivedAt,
    policy: { aheadMsMax: hourMs, ageMsMax: undefined },
    base: '7000',
    ordinals: [],
    bytes: section.length,
    ...change,
  },
  Buffer.from(section),
];

const envelope = (...groups: [DeferredGroup, Uint8Array][]): MetricsEnvelope => ({
  header: {
    version: 1,
    kind: 'metrics',
    arrivedAt,
    parts: [],
    deferred: groups.map(([head]) => head),
    outcomes: [],
  },
  partBytes: [],
  deferredBytes: groups.map(([, bytes]) => bytes),
});

const points = (...timestamps: unknown[]): string =>
  JSON.stringify(timestamps.map((timestamp) => ({ metrics: { a: 1 }, timestamp })));

describe('deferred points', () => {
  it('are dropped for the reason that the receiver saw', () => {
    const timestamps = ['N', 1_780_315_200, 0, arrivedAt + hourMs + 1, arrivedAt * 1000, 1.5, null, 'N'];
    const ordinals = timestamps.map((_, index) => index);
    const verdicts = validateDeferredPoints(envelope(group(points(...timestamps), { ordinals })));
    expect(Object.fromEntries(verdicts.dropped)).toEqual({
      timestamp_not_numeric: 4,
      timestamp_unit_seconds: 1,
      timestamp_out_of_range: 1,
      timestamp_too_far_ahead: 1,
      timestamp_unit_micros: 1,
    });
    expect([verdicts.passed, verdicts.unreadableItems]).toEqual([[], 0]);
  });

  // Architecture 6.2: arrival and windows travel, so that a redelivery hours later is not judged by another clock.
  it('are judged by the arrival and the windows in the message, each group by its own', () => {
    const text = points(arrivedAt + 10);
    const verdicts = validateDeferredPoints(
      envelope(
        group(text, { ordinals: [0], policy: { aheadMsMax: 0, ageMsMax: undefined } }),
        group(text, { ordinals: [0], arrivedAt: arrivedAt + 100, policy: { aheadMsMax: 0, ageMsMax: 50 } }),
      ),
    );
    expect(Object.fromEntries(verdicts.dropped)).toEqual({
      timestamp_too_far_ahead: 1,
      timestamp_too_old: 1,
    });
  });

  // A receiver of another version may have deferred what this program finds valid: it must come out, and not vanish.
  it('that are valid after all are handed on with base, ordinal and arrival', () => {
    const text = points('N', arrivedAt, arrivedAt - 1);
    const verdicts = validateDeferredPoints(envelope(group(text, { ordinals: [3, 8, 9] })));
    expect(verdicts.passed).toEqual([
      {
        owner: 1500001,
        base: '7000',
        ordinal: 8,
        arrivedAt,
        text: JSON.stringify({ metrics: { a: 1 }, timestamp: arrivedAt }),
      },
      {
        owner: 1500001,
        base: '7000',
        ordinal: 9,
        arrivedAt,
        text: JSON.stringify({ metrics: { a: 1 }, timestamp: arrivedAt - 1 }),
      },
    ]);
    expect(Object.fromEntries(verdicts.dropped)).toEqual({ timestamp_not_numeric: 1 });
  });

  it.each([
    ['no JSON', '[', [0]],
    ['no array', '{}', [0]],
    ['fewer points than ordinals', points('N'), [0, 1]],
    ['more points than ordinals', points('N', 'N'), [0]],
  ])('in a section with %s make the message unreadable', (_, section, ordinals) => {
    expect(validateDeferredPoints(envelope(group(section, { ordinals }))).unreadableItems).toBe(
      ordinals.length,
    );
  });

  it('that are no objects are dropped as without time', () => {
    const verdicts = validateDeferredPoints(envelope(group('[5,null,"x"]', { ordinals: [0, 1, 2] })));
    expect(Object.fromEntries(verdicts.dropped)).toEqual({ timestamp_not_numeric: 3 });
  });
});

describe('the rows of a message', () => {
  it('are those of all its parts', () => {
    const part = (rows: number): Part => ({
      dataId: 1,
      table: 't',
      layout: 'wide',
      rows,
      points: 1,
      base: '1',
      first: 0,
      last: 0,
      timeMin: 1,
      timeMax: 1,
      bytes: 0,
    });
    const header: MetricsHeader = {
      version: 1,
      kind: 'metrics',
      arrivedAt,
      parts: [part(3), part(4)],
      deferred: [],
      outcomes: [],
    };
    expect([rowsOf(header), rowsOf({ ...header, parts: [] })]).toEqual([7, 0]);
  });
});
