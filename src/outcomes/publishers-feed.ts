import type { Bus } from '../bus/connection.ts';
import { createPublisher, type Publisher } from '../bus/publisher.ts';
import { errorText } from '../model/fault.ts';
import type { PublishersBookMetrics } from '../telemetry/ingress-metrics.ts';
import type { Log } from '../telemetry/log.ts';
import { encodeLines, linesBytesMax } from './ledger.ts';
import {
  type BookFlush,
  createPublishersBook,
  manyLinesEveryMs,
  type PublishersBook,
} from './publishers-book.ts';
import { createRedaction } from './redaction.ts';
import { ledgerSubjects, ledgerVersion } from './rows.ts';
import { createUsageBook, type UsageBook } from './usage-book.ts';

type Kind = 'published' | 'doubtful' | 'usage';

/** Writes the publishers' book, and the usage beside it, to LEDGER, every two and a half seconds. No request waits for it. */
export type PublishersFeed = {
  /** Ends the book and writes its last lines, within two seconds; to be called once the publishers are closed. */
  stop(): Promise<void>;
};

export type PublishersFeedDependencies = {
  readonly publisher: Pick<Publisher, 'publish' | 'sizeMax'>;
  readonly book: PublishersBook;
  readonly usage: UsageBook;
  readonly onPublished: (kind: Kind, rows: number) => void;
  readonly log: Pick<Log, 'debug' | 'info' | 'warn' | 'error'>;
};

/** A killed receiver takes this much of its book with it; each flush costs it, NATS and transfer a message. */
const everyMs = 2_500;
/** For the publish itself. */
const publishMs = 1_000;
/** The line of a confirmed message is in LEDGER this long after it, where few lines change, as in an installation without senders. */
export const fewLinesWrittenMs = everyMs + publishMs;
/** The same for any number of lines. */
export const linesWrittenMs = manyLinesEveryMs + everyMs + publishMs;
/** Lines that are made into text at once. */
const linesPerTurn = 1_000;
const stopMsMax = 2_000;

/** No caller waits for these publishes. A failed one is followed by newer lines, so it need not be repeated for long. */
const publishing = { deadlineMs: 10_000, awayMs: 10_000 };

const publishAll = async (
  { publisher, onPublished }: PublishersFeedDependencies,
  kind: Kind,
  rows: readonly object[],
  id: string,
): Promise<void> => {
  let count = 0;
  for (let at = 0; at < rows.length; at += linesPerTurn) {
    const lines = rows.slice(at, at + linesPerTurn);
    for (const payload of encodeLines(lines, linesBytesMax(publisher)))
      await publisher.publish(ledgerSubjects[kind], `${kind}:${id}:${count++}`, payload, ledgerVersion);
    onPublished(kind, lines.length);
  }
};

/** The account does not depend on it: where LEDGER accepts nothing, the lines of the book say so. */
const writeUsage = async (deps: PublishersFeedDependencies): Promise<void> => {
  const { usage, log } = deps;
  const lines = usage.take();
  const [first] = lines;
  if (first === undefined) return;
  try {
    await publishAll(deps, 'usage', lines, `${first.life}:${first.version}`);
    usage.written();
  } catch (error) {
    usage.failed();
    log.debug({ error: errorText(error) }, 'usage does not reach LEDGER');
  }
};

export const startPublishersFeed = (deps: PublishersFeedDependencies): PublishersFeed => {
  const { book, usage, log } = deps;
  let sending: Promise<void> | undefined;
  let isFailing = false;

  /** One after the other: no line may say that more is closed than the lines before it hold. */
  const write = async ({ life, version, doubtful, published }: BookFlush): Promise<void> => {
    const id = `${life}:${version}`;
    try {
      await publishAll(deps, 'doubtful', doubtful, id);
      await publishAll(deps, 'published', published, id);
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
    await writeUsage(deps);
  };

  const tick = (): void => {
    sending ??= flush()
      .catch((error: unknown) => log.error({ error: errorText(error) }, 'internal error of the book'))
      .finally(() => {
        sending = undefined;
      });
  };
  const timer = setInterval(tick, everyMs).unref();

  const writeLast = async (): Promise<void> => {
    await sending;
    book.end();
    usage.end();
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

export type PublishersBookSources = {
  readonly bus: Bus;
  readonly metrics: PublishersBookMetrics;
  /** The first epoch of the process; undefined while there is none. */
  readonly life: () => number | undefined;
  /** Whether a text is a credential of this deployment. */
  readonly isCredential: (text: string) => boolean;
  readonly log: Log;
};

/** The publishers' book and the usage of this process, on their way to LEDGER from now on. To be stopped before its bus is closed. */
export const openPublishersBook = ({
  bus,
  metrics,
  life,
  isCredential,
  log,
}: PublishersBookSources): PublishersFeed & {
  readonly book: PublishersBook;
  readonly usage: UsageBook;
} => {
  const publisher = createPublisher(bus, publishing);
  const book = createPublishersBook({
    life,
    now: performance.now.bind(performance),
    onUnbooked: (stream) => metrics.unbooked.inc({ stream }),
  });
  const usage = createUsageBook({ life, redaction: createRedaction(isCredential), now: Date.now });
  const feed = startPublishersFeed({
    publisher,
    book,
    usage,
    onPublished: (kind, rows) => metrics.ledgerRows.inc({ kind }, rows),
    log,
  });
  return {
    book,
    usage,
    stop: async () => {
      await feed.stop();
      publisher.close();
    },
  };
};
