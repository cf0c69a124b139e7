import type { HeldMessage } from './held-message.ts';

export type HeldMessagesOptions = {
  readonly ackWaitMs: () => number;
  readonly rowsPerWriteMax: number;
  /** The clock of `createElapsed`. */
  readonly elapsed: () => number;
  /** Called each time they change with the bytes of all messages, and of the wide ones among them. */
  readonly onBytes: (bytes: number, wideBytes: number) => void;
};

/** The messages of a worker: gathered for a later write, left unfinished by an earlier one, or in the current one. */
export type HeldMessages<E> = {
  /** The bytes of all of them, and of the wide ones among them. */
  readonly bytes: number;
  readonly wideBytes: number;
  /** Whether the last write left messages unfinished: what is held may be held for many writes. */
  readonly hasUnfinished: boolean;
  /** Messages that wait for a write, the rows of those that no write had, and how many messages were ever added. */
  readonly gathered: { readonly messages: number; readonly rows: number; readonly arrived: number };
  add(message: HeldMessage<E>): void;
  /**
   * The next write: the unfinished messages, and further ones up to the rows of one write. A message that was not kept alive for half its ack wait is
   * released, because NATS redelivers it by itself.
   */
  next(): readonly HeldMessage<E>[];
  /** Releases the messages of a finished write. Those that it left unfinished wait for the next one, before the gathered ones. */
  release(batch: readonly HeldMessage<E>[], left: ReadonlySet<HeldMessage<E>>): void;
  /** Releases the messages that wait for a write, and returns them. */
  releaseGathered(): readonly HeldMessage<E>[];
  /** Releases those, and what the present write leaves unfinished. */
  forget(): void;
  /** Reports to NATS that the work on the messages continues, where it is time. Call it at an eighth of the ack wait. */
  keepAlive(): void;
};

const keepAlive = (message: HeldMessage<unknown>, now: number, ackWaitMs: number): void => {
  const silentMs = now - message.touchedAt;
  // NATS may have redelivered a message that was left alone for half its ack wait to another worker.
  if (silentMs < ackWaitMs / 4 || silentMs > ackWaitMs / 2) return;
  message.delivery.working();
  message.touchedAt = now;
};

/** Whole messages up to these rows, one at least; what remains in the list waits. */
const takeUpTo = <E>(gathered: HeldMessage<E>[], rowsMax: number): HeldMessage<E>[] => {
  let rows = 0;
  const end = gathered.findIndex((message, index) => {
    rows += message.rows;
    return index > 0 && rows > rowsMax;
  });
  return gathered.splice(0, end === -1 ? gathered.length : end);
};

const rowsIn = (messages: readonly HeldMessage<unknown>[]): number =>
  messages.reduce((sum, { rows }) => sum + rows, 0);

/** The bytes of messages, and of the wide ones among them. */
const createHeldBytes = (onBytes: HeldMessagesOptions['onBytes']) => {
  const held = { all: 0, wide: 0 };
  const change = (messages: readonly HeldMessage<unknown>[], sign: 1 | -1): void => {
    for (const { bytes, isWide = false } of messages) {
      held.all += sign * bytes;
      if (isWide) held.wide += sign * bytes;
    }
    onBytes(held.all, held.wide);
  };
  return { held, change };
};

export const createHeldMessages = <E>({
  ackWaitMs,
  rowsPerWriteMax,
  elapsed,
  onBytes,
}: HeldMessagesOptions): HeldMessages<E> => {
  let gathered: HeldMessage<E>[] = [];
  let rows = 0;
  let unfinished: HeldMessage<E>[] = [];
  let hasUnfinished = false;
  let isForgotten = false;
  let inWrite: readonly HeldMessage<E>[] = [];
  const { held, change } = createHeldBytes(onBytes);
  let arrived = 0;

  const letGo = (messages: readonly HeldMessage<E>[]): void => change(messages, -1);

  const releaseGathered = (): readonly HeldMessage<E>[] => {
    const released = [...unfinished, ...gathered];
    letGo(released);
    unfinished = [];
    hasUnfinished = false;
    gathered = [];
    rows = 0;
    return released;
  };

  return {
    get bytes() {
      return held.all;
    },
    get wideBytes() {
      return held.wide;
    },
    get hasUnfinished() {
      return hasUnfinished;
    },
    get gathered() {
      return { messages: unfinished.length + gathered.length, rows, arrived };
    },
    add: (message) => {
      arrived++;
      gathered.push(message);
      rows += message.rows;
      change([message], 1);
    },
    next: () => {
      // Thousands may be held, and most writes find all of them alive.
      const aliveSince = elapsed() - ackWaitMs() / 2;
      const isStale = ({ touchedAt }: HeldMessage<E>): boolean => touchedAt < aliveSince;
      const stale = [...unfinished.filter(isStale), ...gathered.filter(isStale)];
      if (stale.length > 0) {
        letGo(stale);
        unfinished = unfinished.filter((message) => !isStale(message));
        gathered = gathered.filter((message) => !isStale(message));
      }
      inWrite = [...unfinished, ...takeUpTo(gathered, rowsPerWriteMax)];
      unfinished = [];
      isForgotten = false;
      rows = rowsIn(gathered);
      return inWrite;
    },
    release: (batch, left) => {
      unfinished = isForgotten ? [] : batch.filter((message) => left.has(message));
      hasUnfinished = unfinished.length > 0;
      letGo(isForgotten ? batch : batch.filter((message) => !left.has(message)));
      inWrite = [];
    },
    releaseGathered,
    forget: () => {
      releaseGathered();
      isForgotten = true;
    },
    keepAlive: () => {
      const now = elapsed();
      for (const message of [...inWrite, ...unfinished, ...gathered]) keepAlive(message, now, ackWaitMs());
    },
  };
};
