import type { HeldMessage } from './held-message.ts';

export type HeldMessagesOptions = {
  readonly ackWaitMs: number;
  readonly rowsPerWriteMax: number;
  /** The clock of `createElapsed`. */
  readonly elapsed: () => number;
  /** Called with the bytes of all messages each time they change. */
  readonly onBytes: (bytes: number) => void;
};

/** The messages of a worker: gathered for a later write, or in the current one. */
export type HeldMessages<E> = {
  /** The bytes of all of them. */
  readonly bytes: number;
  /** Messages and rows that wait for a write, and how many messages were ever added. */
  readonly gathered: { readonly messages: number; readonly rows: number; readonly arrived: number };
  add(message: HeldMessage<E>): void;
  /**
   * The next write: whole messages up to the rows of one write. A message that was not kept alive for half its ack wait is
   * released, because NATS redelivers it by itself.
   */
  next(): readonly HeldMessage<E>[];
  /** Releases the messages of a finished write. */
  release(batch: readonly HeldMessage<E>[]): void;
  /** Releases the messages that wait for a write, and returns them. */
  releaseGathered(): readonly HeldMessage<E>[];
  /** Reports to NATS that the work on the messages continues, where it is time. Call it at an eighth of the ack wait. */
  keepAlive(): void;
};

export const createHeldMessages = <E>({
  ackWaitMs,
  rowsPerWriteMax,
  elapsed,
  onBytes,
}: HeldMessagesOptions): HeldMessages<E> => {
  let gathered: HeldMessage<E>[] = [];
  let rows = 0;
  let inWrite: readonly HeldMessage<E>[] = [];
  let bytes = 0;
  let arrived = 0;

  const addBytes = (added: number): void => {
    bytes += added;
    onBytes(bytes);
  };

  const letGo = (messages: readonly HeldMessage<E>[]): void => {
    addBytes(-messages.reduce((sum, message) => sum + message.bytes, 0));
  };

  return {
    get bytes() {
      return bytes;
    },
    get gathered() {
      return { messages: gathered.length, rows, arrived };
    },
    add: (message) => {
      arrived++;
      gathered.push(message);
      rows += message.rows;
      addBytes(message.bytes);
    },
    next: () => {
      const staleBefore = elapsed() - ackWaitMs / 2;
      const batch: HeldMessage<E>[] = [];
      let batchRows = 0;
      let index = 0;
      for (; index < gathered.length; index++) {
        const message = gathered[index];
        if (message === undefined) break;
        if (message.touchedAt < staleBefore) {
          rows -= message.rows;
          letGo([message]);
          continue;
        }
        if (batch.length > 0 && batchRows + message.rows > rowsPerWriteMax) break;
        batch.push(message);
        batchRows += message.rows;
      }
      gathered.splice(0, index);
      rows -= batchRows;
      inWrite = batch;
      return batch;
    },
    release: (batch) => {
      letGo(batch);
      inWrite = [];
    },
    releaseGathered: () => {
      const released = gathered;
      letGo(released);
      gathered = [];
      rows = 0;
      return released;
    },
    keepAlive: () => {
      const now = elapsed();
      for (const message of [...inWrite, ...gathered]) {
        if (now - message.touchedAt < ackWaitMs / 4) continue;
        // NATS may have redelivered a message that was left alone for half its ack wait to another worker.
        if (now - message.touchedAt > ackWaitMs / 2) continue;
        message.delivery.working();
        message.touchedAt = now;
      }
    },
  };
};
