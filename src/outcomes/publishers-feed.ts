import type { Bus } from '../bus/connection.ts';
import { createPublisher, type Publisher } from '../bus/publisher.ts';
import { errorText } from '../model/fault.ts';
import type { Log } from '../telemetry/log.ts';
import type { PublishersBookMetrics } from '../telemetry/metrics.ts';
import { encodeLines } from './ledger.ts';
import { type BookFlush, createPublishersBook, type PublishersBook } from './publishers-book.ts';
import { ledgerSubjects, ledgerVersion } from './rows.ts';

type Kind = 'published' | 'doubtful';

/** Writes the publishers' book to LEDGER, once a second. No request waits for it. */
export type PublishersFeed = {
  /** Ends the book and writes its last lines, within two seconds; to be called once the publishers are closed. */
  stop(): Promise<void>;
};

export type PublishersFeedDependencies = {
  readonly publisher: Pick<Publisher, 'publish'>;
  readonly book: PublishersBook;
  readonly onPublished: (kind: Kind, rows: number) => void;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
};

const everyMs = 1_000;
/** Lines that are made into text at once. */
const linesPerTurn = 1_000;
const stopMsMax = 2_000;

/** No caller waits for these publishes. A failed one is followed by newer lines, so it need not be repeated for long. */
const publishing = { deadlineMs: 10_000, awayMs: 10_000 };

export const startPublishersFeed = (deps: PublishersFeedDependencies): PublishersFeed => {
  const { publisher, book, log } = deps;
  let sending: Promise<void> | undefined;
  let isFailing = false;

  const publishAll = async (kind: Kind, rows: readonly object[], id: string): Promise<void> => {
    let count = 0;
    for (let at = 0; at < rows.length; at += linesPerTurn) {
      const lines = rows.slice(at, at + linesPerTurn);
      for (const payload of encodeLines(lines))
        await publisher.publish(ledgerSubjects[kind], `${kind}:${id}:${count++}`, payload, ledgerVersion);
      deps.onPublished(kind, lines.length);
    }
  };

  /** One after the other: no line may say that more is closed than the lines before it hold. */
  const write = async ({ life, version, doubtful, published }: BookFlush): Promise<void> => {
    const id = `${life}:${version}`;
    try {
      await publishAll('doubtful', doubtful, id);
      await publishAll('published', published, id);
      book.written();
      if (isFailing) log.info({}, "the publishers' book reaches LEDGER again");
      isFailing = false;
    } catch (error) {
      book.failed();
      if (!isFailing) log.warn({ error: errorText(error) }, "the publishers' book does not reach LEDGER");
      isFailing = true;
    }
  };

  const flush = async (): Promise<void> => {
    const due = book.take();
    if (due !== undefined) await write(due);
  };

  const tick = (): void => {
    sending ??= flush()
      .catch((error: unknown) => log.error({ error: errorText(error) }, 'internal error of the book'))
      .finally(() => {
        sending = undefined;
      });
  };
  const timer = setInterval(tick, everyMs);
  timer.unref();

  const writeLast = async (): Promise<void> => {
    await sending;
    book.end();
    await flush();
  };

  return {
    stop: async () => {
      clearInterval(timer);
      let isLate = true;
      const bound = new Promise<void>((resolve) => setTimeout(resolve, stopMsMax).unref());
      const last = writeLast().then(() => {
        isLate = isFailing;
      });
      await Promise.race([last, bound]);
      if (isLate)
        log.warn(
          {},
          "the last lines of the publishers' book were not written: the account reports this life as cut off",
        );
    },
  };
};

/** The publishers' book of this process, on its way to LEDGER from now on. To be stopped before its bus is closed. */
export const openPublishersBook = (
  bus: Bus,
  metrics: PublishersBookMetrics,
  life: () => number | undefined,
  log: Log,
): PublishersFeed & { readonly book: PublishersBook } => {
  const publisher = createPublisher(bus, publishing);
  const book = createPublishersBook({
    life,
    now: performance.now.bind(performance),
    onUnbooked: (stream) => metrics.unbooked.inc({ stream }),
  });
  const feed = startPublishersFeed({
    publisher,
    book,
    onPublished: (kind, rows) => metrics.ledgerRows.inc({ kind }, rows),
    log,
  });
  return {
    book,
    stop: async () => {
      await feed.stop();
      publisher.close();
    },
  };
};
