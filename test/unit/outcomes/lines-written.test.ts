import { afterEach, expect, it, vi } from 'vitest';
import { createPublishersBook } from '../../../src/outcomes/publishers-book.ts';
import {
  fewLinesWrittenMs,
  linesWrittenMs,
  startPublishersFeed,
} from '../../../src/outcomes/publishers-feed.ts';
import { createRedaction } from '../../../src/outcomes/redaction.ts';
import { createUsageBook } from '../../../src/outcomes/usage-book.ts';

afterEach(() => vi.useRealTimers());

it.each([
  [1, fewLinesWrittenMs],
  [1_500, linesWrittenMs],
])(
  'the lines of %i owners are written within the time that readers of the book wait',
  async (owners, waitMs) => {
    vi.useFakeTimers();
    let written = 0;
    const life = () => 7;
    const book = createPublishersBook({ life, now: () => Date.now(), onUnbooked: () => {} });
    const feed = startPublishersFeed({
      publisher: {
        publish: async () => ({ sequence: 1, duplicate: false, wasKnown: false, tries: 1 }),
        sizeMax: undefined,
      },
      book,
      usage: createUsageBook({ life, redaction: createRedaction(() => false), now: Date.now }),
      onPublished: (_kind, rows) => {
        written += rows;
      },
      log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
    });
    const post = (): void => {
      for (let owner = 1; owner <= owners; owner++)
        book
          .open('METRICS', 'metrics', {
            arrivedAt: 0,
            key: { base: '1', first: 0 },
            owners: [{ owner, items: 1, rows: 1, bytes: 1, dropped: undefined }],
          })
          ?.stored(owner);
    };
    post();
    // Just after a flush.
    await vi.advanceTimersByTimeAsync(2_600);
    written = 0;
    post();
    await vi.advanceTimersByTimeAsync(2_000);
    expect(written).toBe(0);
    await vi.advanceTimersByTimeAsync(waitMs - 2_000);
    expect(written).toBeGreaterThanOrEqual(owners);
    await feed.stop();
  },
);
