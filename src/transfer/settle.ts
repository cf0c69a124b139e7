import type { Delivery } from '../bus/puller.ts';
import type { DeadLetters } from '../dead-letters/dead-letters.ts';
import { errorText } from '../model/fault.ts';
import type { Ledger } from '../outcomes/ledger.ts';
import { keyOfBytes } from '../outcomes/outcome-rows.ts';
import type { SettledLine } from '../outcomes/rows.ts';
import type { Log } from '../telemetry/log.ts';
import type { TransferMetrics } from '../telemetry/transfer-metrics.ts';
import type { HeldMessage } from './held-message.ts';
import { createOutcomeRecorder, settledLinesOf, unreadableLineOf } from './record-outcomes.ts';
import type { TransferSamples } from './samples.ts';
import { createSettleDeadLetters } from './settle-dead-letters.ts';
import type { DeadLettered, Sink, Validated, Written } from './sink.ts';
import { takenDays } from './taken-days.ts';

export type SettlerDependencies<E> = {
  readonly sink: Pick<Sink<E>, 'pipeline' | 'label' | 'validate'>;
  readonly stream: string;
  readonly deadLetters: DeadLetters;
  readonly ledger: Ledger;
  readonly samples: TransferSamples;
  readonly metrics: TransferMetrics;
  readonly log: Log;
  readonly now: () => number;
  /** Checked while LEDGER does not confirm: true = return the messages to NATS. */
  readonly isStopping: () => boolean;
};

/** Settles messages: store confirmed -> dead letters confirmed -> outcome recorded -> ack (architecture 6.3). */
export type Settler<E> = {
  /**
   * Validates the deferred items of the written messages, and settles the messages. A message whose dead letter is not confirmed
   * stays unsettled and is redelivered. While LEDGER is full or away the batch waits: its messages must be kept alive meanwhile.
   */
  settle(batch: readonly HeldMessage<E>[], written: Written<E>): Promise<void>;
  /**
   * Dead-letters a message that cannot be read. Throws the publisher's Faults: the message is not settled then and is redelivered.
   */
  settleUnreadable(delivery: Delivery, why: string): Promise<void>;
  giveBack(delivery: Delivery, delayMs: number): void;
  /** Why outcomes are not recorded now, or undefined. */
  readonly problem: string | undefined;
};

const retryLaterMsMin = 5_000;

/** A message that is ready to be acknowledged once its outcomes are recorded. */
type Settled<E> = {
  readonly message: HeldMessage<E>;
  readonly validated: Validated;
  readonly stored: number;
  readonly lines: readonly SettledLine[];
};

/** The figures of settled messages and of their items. */
const createSettleFigures = <E>({
  sink,
  metrics,
  now,
}: Pick<SettlerDependencies<E>, 'sink' | 'metrics' | 'now'>) => {
  const pipeline = sink.label ?? sink.pipeline;
  const visible = metrics.visibleSeconds.labels(pipeline);
  return {
    message: (settlement: 'ack' | 'retry' | 'dead_letter'): void =>
      metrics.messages.inc({ pipeline, settlement }),
    stored: (settled: readonly Settled<E>[]): void => {
      let items = 0;
      let rows = 0;
      let bytes = 0;
      for (const { message, validated, stored } of settled) {
        bytes += message.bytes;
        items += stored;
        rows += validated.rows;
        // A redriven item waited for an operator.
        if (stored > 0 && sink.pipeline !== 'ledger' && validated.redrive === undefined)
          visible.observe(Math.max(0, now() - validated.arrivedAt) / 1000);
        for (const [reason, dropped] of validated.dropped) metrics.dropped.inc({ pipeline, reason }, dropped);
      }
      metrics.stored.inc({ pipeline }, items);
      metrics.rows.inc({ pipeline }, rows);
      metrics.messageBytes.inc({ pipeline }, bytes);
    },
  };
};

/** The same results, without the rows that the store refused. */
const withoutRefused = (validated: Validated, refused: readonly DeadLettered[]): Validated =>
  validated.days === undefined || refused.length === 0
    ? validated
    : { ...validated, days: takenDays(validated.days, refused) };

export const createSettler = <E>(deps: SettlerDependencies<E>): Settler<E> => {
  const { sink, log } = deps;
  const { pipeline } = sink;
  const { stream } = deps;
  const count = createSettleFigures(deps);
  const deadLetter = createSettleDeadLetters(deps);
  const outcomes = createOutcomeRecorder(pipeline, deps.ledger, log, deps.isStopping);

  const giveBack = (delivery: Delivery, delayMs: number): void => {
    delivery.nak(delayMs);
    count.message('retry');
  };

  /** Undefined: a dead letter was not confirmed. */
  const deadLetterItems = async (
    message: HeldMessage<E>,
    { purged, deadLettered }: Written<E>,
  ): Promise<Settled<E> | undefined> => {
    const { delivery, envelope } = message;
    const refused = deadLettered.get(message) ?? [];
    const validated = withoutRefused(sink.validate(envelope, purged), refused);
    const key = validated.key ?? (validated.tally.size === 0 ? undefined : keyOfBytes(delivery.payload));
    try {
      const { refusedItems, letters } = await deadLetter.itemsOf(delivery, validated, refused, key);
      const lines = settledLinesOf(pipeline, { delivery, stream, validated, key, letters }, deps.now());
      return { message, validated, stored: validated.kept - refusedItems, lines };
    } catch (error) {
      log.warn(
        { stream, sequence: delivery.streamSequence, error: errorText(error) },
        'a dead letter was not confirmed; NATS delivers its message again',
      );
      return undefined;
    }
  };

  const acknowledge = (settled: readonly Settled<E>[]): void => {
    for (const { message, validated } of settled) {
      message.delivery.ack();
      message.delivery.free();
      count.message(validated.unreadableItems > 0 ? 'dead_letter' : 'ack');
    }
    count.stored(settled);
  };

  return {
    settle: async (batch, written) => {
      deps.samples.purged(written.purged);
      const retryLaterMs = Math.max(retryLaterMsMin, written.retryLaterMs ?? 0);
      const settled: Settled<E>[] = [];
      for (const message of batch) {
        if (written.retryLater.has(message)) giveBack(message.delivery, retryLaterMs);
        else {
          const one = await deadLetterItems(message, written);
          if (one !== undefined) settled.push(one);
        }
      }
      const isRecorded = await outcomes.record(settled.flatMap(({ lines }) => lines));
      if (isRecorded) acknowledge(settled);
      else for (const { message } of settled) giveBack(message.delivery, 0);
    },
    settleUnreadable: async (delivery, why) => {
      const line = unreadableLineOf(pipeline, delivery, stream, deps.now());
      await deadLetter.unreadable(delivery, why, line);
      await deps.ledger.record(line === undefined ? [] : [line]);
      delivery.ack();
      count.message('dead_letter');
    },
    giveBack,
    get problem() {
      return outcomes.problem;
    },
  };
};
