import { describe, expect, it } from 'vitest';
import { createPatience, notStored, Refused, retryAfter } from '../../../src/ingress/refused.ts';

/** The waits that a receiver asks for by refusals at these times, ms. */
const waitsAt = (...times: number[]): unknown[] => {
  let at = 0;
  const { withWait } = createPatience(() => at);
  return times.map((time) => {
    at = time;
    return withWait(notStored()).headers['Retry-After'];
  });
};

describe('a receiver that can store nothing', () => {
  it('asks for 1 s at first, and for 3 s once its trouble lasts', () => {
    expect(waitsAt(0, 999, 1_999, 2_000, 9_000, 19_000, 3_600_000 - 1)).toEqual([
      '1',
      '1',
      '1',
      '3',
      '3',
      '3',
      '1',
    ]);
  });

  it('begins with 1 s again after 10 s without a refusal', () => {
    expect(waitsAt(0, 5_000, 15_000, 25_001, 27_000, 27_001)).toEqual(['1', '3', '3', '1', '1', '3']);
  });

  // The tries of the SDKs of Python and JavaScript, which wait as Retry-After says; and their time limit, 10 s by default.
  it.each([
    ['Python', 6],
    ['JavaScript', 6],
  ])(
    'is tried again for 8 s at least by the exporters of %s, wherever in the trouble they begin',
    (_, tries) => {
      for (const beginsAt of [0, 1_000, 2_000, 60_000]) {
        let at = 0;
        const { withWait } = createPatience(() => at);
        for (; at < beginsAt; at += 1_000) withWait(notStored());
        let end = at;
        for (let n = 1; n <= tries; n++) {
          const waitMs = Number(withWait(notStored()).headers['Retry-After']) * 1_000;
          end = at;
          if (at + waitMs > beginsAt + 10_000) break;
          at += waitMs;
        }
        expect(end - beginsAt, String(beginsAt)).toBeGreaterThanOrEqual(8_000);
      }
    },
  );

  it('begins with 1 s again once it has stored a request', () => {
    let at = 0;
    const { withWait, stored } = createPatience(() => at);
    withWait(notStored());
    at = 5_000;
    expect(withWait(notStored()).headers['Retry-After']).toBe('3');
    stored();
    expect(withWait(notStored()).headers['Retry-After']).toBe('1');
  });

  it('keeps everything else of the refusal, and every other refusal', () => {
    let at = 0;
    const { withWait } = createPatience(() => at);
    withWait(notStored());
    at = 5_000;
    expect(withWait(notStored('why'))).toMatchObject({
      reason: 'not_stored',
      detail: 'why',
      status: 503,
      field: 'body',
    });
    const unconfirmed = new Refused('unconfirmed', '', { headers: retryAfter(2) });
    expect(withWait(unconfirmed)).toBe(unconfirmed);
  });
});
