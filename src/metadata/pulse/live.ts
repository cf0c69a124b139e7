import type { Bus } from '../../bus/connection.ts';
import { errorText, Fault } from '../../model/fault.ts';
import type { DropFilter } from '../../outcomes/drops.ts';
import type { Log } from '../../telemetry/log.ts';
import { createDropGathering, filterText, type Gathered } from './drop-gathering.ts';
import type { Topic } from './live-topics.ts';

/** The live view: an event stream for each reader, made of one set of figures a second. */
export type Live = {
  /**
   * Server-sent events without an end: the figures at once, then each second.
   * Transient Faults: `too_many_readers`, `stopping`, or when NATS does not answer.
   */
  open(topics: readonly Topic[]): Promise<ReadableStream<Uint8Array>>;
  /** Ends every stream, and opens no other. */
  stop(): void;
};

export type LiveOptions = {
  readonly bus: Bus;
  /** The line as JSON. */
  readonly line: () => Promise<string>;
  /** The acts on dead letters that run or have just ended, in all processes. */
  readonly acts: () => readonly unknown[];
  readonly log: Log;
};

export const readersMax = 64;
const everyMs = 1_000;
const beatEveryMs = 10_000;
/** An event, as a browser shows no comment to its page: without it a page cannot know a quiet stream from a dead one. */
const beat = 'event: beat\ndata: {}\n\n';
/** Only a write shows that a reader without a goodbye has left: its place is for another one. */
const quietTicks = 2;
/** Events that a reader may be behind; then it gets none until it has read some. */
const behindMax = 4;

type Reader = {
  readonly controller: ReadableStreamDefaultController<Uint8Array>;
  readonly topics: readonly Topic[];
  /** Drops that it was too slow for. */
  skipped: number;
};

const eventText = (id: number, event: string, json: string): string =>
  `id: ${id}\nevent: ${event}\ndata: ${json}\n\n`;

/** Which of its topics an event answers. */
const ownerOf = ({ dataId, appId }: DropFilter) => ({
  ...(dataId === undefined ? {} : { data_id: dataId }),
  ...(appId === undefined ? {} : { app_id: appId }),
});

const wants = ({ topics }: Reader, kind: Topic['kind']): boolean =>
  topics.some((topic) => topic.kind === kind);

/** One chunk for each reader and second: those who are behind get none, and later the number of drops that they missed. */
const send = (reader: Reader, text: string): boolean => {
  const { controller } = reader;
  if (text === '' || (controller.desiredSize ?? 0) <= 0) return false;
  controller.enqueue(Buffer.from(text));
  return true;
};

/** The drops for a reader, and how many they are. */
const dropsFor = (
  reader: Reader,
  id: number,
  gathered: ReadonlyMap<string, Gathered>,
): { text: string; count: number } => {
  let text = '';
  let count = 0;
  for (const topic of reader.topics) {
    const group = topic.kind === 'drops' ? gathered.get(filterText(topic.filter)) : undefined;
    if (group === undefined) continue;
    const missed = count === 0 ? reader.skipped : 0;
    const { filter, items, skipped } = group;
    if (items.length + skipped + missed === 0) continue;
    count += items.length + skipped + missed;
    const event = { ...ownerOf(filter), items, skipped: skipped + missed };
    text += eventText(id, 'drops', JSON.stringify(event));
  }
  return { text, count };
};

/** The readers, and what each of them gets. */
class Readers {
  readonly all = new Set<Reader>();
  private readonly options: LiveOptions;
  private readonly gathering: ReturnType<typeof createDropGathering>;
  private timers: NodeJS.Timeout[] = [];
  private id = 0;
  private isTicking = false;

  constructor(options: LiveOptions) {
    this.options = options;
    this.gathering = createDropGathering(options.bus);
  }

  /** Takes a reader in; its events come from the next second on. */
  add(topics: readonly Topic[]) {
    const begun = Promise.withResolvers<Reader>();
    const stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          const reader: Reader = { controller, topics, skipped: 0 };
          this.all.add(reader);
          begun.resolve(reader);
        },
        cancel: async () => this.release(await begun.promise),
      },
      new CountQueuingStrategy({ highWaterMark: behindMax }),
    );
    this.startTimers();
    return { stream, reader: begun.promise };
  }

  /** Listens to what they want. Transient Fault when NATS does not answer. */
  follow(): Promise<void> {
    const topics = [...this.all].flatMap((reader) => reader.topics);
    return this.gathering.follow(topics.flatMap((topic) => (topic.kind === 'drops' ? topic.filter : [])));
  }

  /** The beginning of a stream: the line as it is now. */
  async greet(reader: Reader): Promise<void> {
    const line = wants(reader, 'line') ? eventText(this.id, 'line', await this.options.line()) : '';
    if (this.all.has(reader)) send(reader, `retry: 2000\n\n${beat}${line}`);
  }

  end(reader: Reader): void {
    if (!this.all.has(reader)) return;
    this.release(reader);
    reader.controller.close();
  }

  endAll(): void {
    for (const reader of [...this.all]) this.end(reader);
    this.gathering.end();
  }

  private release(reader: Reader): void {
    if (!this.all.delete(reader)) return;
    void this.follow().catch(() => undefined);
    if (this.all.size > 0) return;
    for (const timer of this.timers) clearInterval(timer);
    this.timers = [];
  }

  private startTimers(): void {
    if (this.timers.length > 0) return;
    const sendBeat = (): void => {
      for (const reader of this.all) send(reader, beat);
    };
    this.timers = [setInterval(() => void this.tick(), everyMs), setInterval(sendBeat, beatEveryMs)];
    for (const timer of this.timers) timer.unref();
  }

  private async tick(): Promise<void> {
    if (this.isTicking) return;
    this.isTicking = true;
    try {
      await this.tellAll();
    } catch (error) {
      this.options.log.error({ error: errorText(error) }, 'the live view was not drawn');
    }
    this.isTicking = false;
  }

  private async tellAll(): Promise<void> {
    const id = ++this.id;
    const isLineWanted = [...this.all].some((reader) => wants(reader, 'line'));
    const line = isLineWanted ? eventText(id, 'line', await this.options.line()) : '';
    const running = this.options.acts();
    const acts = running.length === 0 ? '' : eventText(id, 'dead_letters', JSON.stringify({ acts: running }));
    const gathered = this.gathering.take();
    for (const reader of this.all) {
      const drops = dropsFor(reader, id, gathered);
      const own = [wants(reader, 'line') ? line : '', wants(reader, 'dead_letters') ? acts : '', drops.text];
      const text = own.join('') || (id % quietTicks === 0 ? ':\n\n' : '');
      if (send(reader, text)) reader.skipped = 0;
      else if (drops.count > 0) reader.skipped = drops.count;
    }
  }
}

export const createLive = (options: LiveOptions): Live => {
  const readers = new Readers(options);
  let isStopped = false;
  return {
    open: async (topics) => {
      // A reader that reconnects over an open connection would delay the stop.
      if (isStopped) throw new Fault('transient', 'stopping', 'the admin API stops');
      if (readers.all.size >= readersMax)
        throw new Fault('transient', 'too_many_readers', `the limit of ${readersMax} readers is reached`);
      const added = readers.add(topics);
      const reader = await added.reader;
      try {
        await readers.follow();
        await readers.greet(reader);
      } catch (error) {
        readers.end(reader);
        throw error;
      }
      return added.stream;
    },
    stop: () => {
      isStopped = true;
      readers.endAll();
    },
  };
};
