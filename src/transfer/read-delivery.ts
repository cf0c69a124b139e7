import type { Delivery } from '../bus/puller.ts';
import { errorText } from '../model/fault.ts';
import type { Log } from '../telemetry/log.ts';
import type { TransferMetrics } from '../telemetry/transfer-metrics.ts';
import type { Breaker } from './breaker.ts';
import type { HeldMessage } from './held-message.ts';
import type { Settler } from './settle.ts';
import type { Sink } from './sink.ts';

export type ReaderDependencies<E> = {
  readonly sink: Pick<Sink<E>, 'pipeline' | 'label' | 'read' | 'rowsOf' | 'isWide'>;
  readonly breaker: Breaker;
  readonly metrics: TransferMetrics;
  readonly log: Log;
  /** Ms since the epoch. */
  readonly now: () => number;
  /** The clock of `createElapsed`. */
  readonly elapsed: () => number;
  /** Receives each wide message: the message as it is taken, or the ms after which NATS is to deliver it again. */
  readonly admitWide: (message: HeldMessage<E>) => HeldMessage<E> | number;
};

/** The first stage of a worker. */
export type Reader<E> = {
  /**
   * The message of a delivery. Undefined where it goes no further: it is returned for a newer program, because the breaker is open or
   * because wide messages before it wait, or it is dead-lettered because it cannot be read.
   */
  read(delivery: Delivery): HeldMessage<E> | undefined;
  /** Version of a message that only a newer program can read, or undefined. */
  readonly newerVersion: number | undefined;
};

const newerRetryMs = 30_000;

export const createReader = <E>(
  { sink, breaker, metrics, log, now, elapsed, admitWide }: ReaderDependencies<E>,
  settler: Pick<Settler<E>, 'giveBack' | 'settleUnreadable'>,
): Reader<E> => {
  const pipeline = sink.label ?? sink.pipeline;
  let newer: { readonly version: number; readonly seenAt: number } | undefined;

  const holdBack = (delivery: Delivery, version: number): void => {
    newer = { version, seenAt: elapsed() };
    metrics.heldBack.set({ pipeline }, version);
    log.error({ version }, 'a newer program wrote this message: it is held back, upgrade transfer');
    settler.giveBack(delivery, newerRetryMs);
  };

  const deadLetter = (delivery: Delivery, why: string): void => {
    if (breaker.state === 'trial' && !breaker.tried(1, 1)) return settler.giveBack(delivery, 0);
    breaker.note(1, 1);
    settler.settleUnreadable(delivery, why).catch((error: unknown) => {
      log.error(
        { sequence: delivery.streamSequence, error: errorText(error) },
        'the dead letter was not confirmed; NATS delivers the message again',
      );
    });
  };

  /** The message that the worker takes of a delivery that can be read. */
  const admit = (delivery: Delivery, envelope: E): HeldMessage<E> | undefined => {
    const isWide = sink.isWide?.(envelope) ?? false;
    const rows = sink.rowsOf(envelope);
    const bytes = delivery.payload.length;
    const message = { delivery, envelope, rows, bytes, isWide, touchedAt: elapsed(), takenAt: now() };
    const admitted = isWide ? admitWide(message) : message;
    if (typeof admitted !== 'number') {
      if (admitted.delivery.redelivered) metrics.redelivered.inc({ pipeline });
      return admitted;
    }
    settler.giveBack(delivery, admitted);
    delivery.free();
    return undefined;
  };

  return {
    read: (delivery) => {
      const read = sink.read(delivery.payload, delivery.version);
      if (read.kind === 'envelope' && breaker.state !== 'open') return admit(delivery, read.envelope);
      if (delivery.redelivered) metrics.redelivered.inc({ pipeline });
      if (read.kind === 'newer') holdBack(delivery, read.version);
      else if (breaker.state === 'open') settler.giveBack(delivery, 0);
      else if (read.kind === 'unreadable') deadLetter(delivery, read.why);
      return undefined;
    },
    get newerVersion() {
      // It is redelivered after each hold-back; once it stays away, a newer program has taken it.
      return newer !== undefined && elapsed() - newer.seenAt < 2 * newerRetryMs ? newer.version : undefined;
    },
  };
};
