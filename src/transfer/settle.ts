import { setTimeout as delay } from 'node:timers/promises';
import type { Delivery } from '../bus/puller.ts';
import { bytesIdentity, type DeadLetterHeader, type DeadLetters } from '../dead-letters/dead-letters.ts';
import { errorText } from '../model/fault.ts';
import type { Ledger } from '../outcomes/ledger.ts';
import { itemKeyOf, keyOfBytes, outcomeRows, redriveRows, unreadableRow } from '../outcomes/outcome-rows.ts';
import type { OutcomeRow } from '../outcomes/rows.ts';
import { moveToDeadLetters } from '../outcomes/tally.ts';
import { minuteText } from '../outcomes/times.ts';
import { backOffMs } from '../runtime/back-off.ts';
import type { Log } from '../telemetry/log.ts';
import type { TransferMetrics } from '../telemetry/metrics.ts';
import type { MessageKey } from '../wire/message-key.ts';
import type { HeldMessage } from './held-message.ts';
import type { TransferSamples } from './samples.ts';
import type { DeadLettered, Judged, Sink, Written } from './sink.ts';

export type SettlerDependencies<E> = {
  readonly sink: Pick<Sink<E>, 'pipeline' | 'label' | 'judge'>;
  readonly stream: string;
  readonly deadLetters: DeadLetters;
  readonly ledger: Ledger;
  readonly samples: TransferSamples;
  readonly metrics: TransferMetrics;
  readonly log: Log;
  readonly now: () => number;
  /** Asked while the ledger does not confirm: true = give the messages back. */
  readonly isStopping: () => boolean;
};

/** Settles messages: store confirmed -> dead letters confirmed -> outcome recorded -> ack (architecture 6.4). */
export type Settler<E> = {
  /**
   * Settles what was written. A message whose dead letter is not confirmed stays unsettled and comes again. While LEDGER is full or
   * away the batch waits: its messages must be kept alive meanwhile.
   */
  settle(batch: readonly HeldMessage<E>[], written: Written<E>): Promise<void>;
  /** Sets a message aside that cannot be read. Throws the publisher's Faults: it is not settled then and comes again. */
  settleUnreadable(delivery: Delivery, why: string): Promise<void>;
  giveBack(delivery: Delivery, delayMs: number): void;
  /** Why outcomes are not recorded just now, or undefined. */
  readonly problem: string | undefined;
};

const homelessRetryMs = 5_000;
const backOff = { firstMs: 100, mostMs: 2_000 };

/** A message that is ready to be acknowledged once its outcomes are recorded. */
type Settled<E> = { readonly message: HeldMessage<E>; readonly judged: Judged; readonly stored: number };

export const createSettler = <E>(deps: SettlerDependencies<E>): Settler<E> => {
  const { sink, metrics, log } = deps;
  const { pipeline } = sink;
  const label = sink.label ?? pipeline;
  let problem: string | undefined;

  const count = (settlement: 'ack' | 'retry' | 'dead_letter', messages = 1): void => {
    metrics.messages.inc({ pipeline: label, settlement }, messages);
  };

  const giveBack = (delivery: Delivery, delayMs: number): void => {
    delivery.nak(delayMs);
    count('retry');
  };

  const publishDeadLetter = async (
    delivery: Delivery,
    aside: DeadLettered,
    outcome: Pick<DeadLetterHeader, 'items' | 'outcome' | 'ordinal'>,
  ): Promise<void> => {
    const { reason, why, bytes, identity, place, part, arrivedAt } = aside;
    const header: DeadLetterHeader = {
      version: 1,
      reason,
      error: why,
      stream: deps.stream,
      streamSequence: delivery.streamSequence,
      subject: delivery.subject,
      ...place,
      ...outcome,
      ...(part === undefined ? {} : { part }),
      ...(arrivedAt === undefined ? {} : { arrivedAt }),
      redrive: delivery.redrive,
      at: deps.now(),
    };
    await deps.deadLetters.put(identity, header, bytes);
    metrics.deadLettered.inc({ pipeline: label, reason }, outcome.items);
    deps.samples.deadLettered(pipeline, aside);
    log.error({ reason, why, ...place, sequence: delivery.streamSequence }, 'set aside in the dead letters');
  };

  const unreadable = (payload: Uint8Array, why: string): DeadLettered => ({
    reason: 'unreadable_message',
    why,
    bytes: payload,
    identity: bytesIdentity(payload),
    items: 1,
    place: {},
  });

  /** Records rows until LEDGER confirms them. False: it was stopped before. */
  const record = async (rows: readonly OutcomeRow[]): Promise<boolean> => {
    if (rows.length === 0) return true;
    for (let failures = 1; ; failures++) {
      try {
        await deps.ledger.record(rows);
        if (problem !== undefined) log.info({ pipeline }, 'outcomes are recorded again');
        problem = undefined;
        return true;
      } catch (error) {
        const why = errorText(error);
        if (problem === undefined)
          log.warn({ pipeline, error: why }, 'outcomes are not recorded; messages wait unacknowledged');
        problem = why;
        if (deps.isStopping()) return false;
        await delay(backOffMs(backOff, failures));
      }
    }
  };

  /** Sets aside what the message brings to the dead letters, and moves it there in the tally. */
  const deadLetterAll = async (
    { delivery }: HeldMessage<E>,
    judged: Judged,
    refused: readonly DeadLettered[],
    key: MessageKey | undefined,
  ): Promise<number> => {
    // Of a redriven one the minute of its first record: another one would stand beside it.
    const minute = judged.redrive?.outcome?.minute ?? minuteText(judged.arrivedAt);
    const recordOf = (uid: bigint | undefined): Pick<DeadLetterHeader, 'outcome' | 'ordinal'> => {
      if (key === undefined) return {};
      if (uid === undefined) return { outcome: { ...key, minute } };
      const { base, first, ordinal } = itemKeyOf(key, uid);
      return { outcome: { base, first, minute }, ordinal };
    };
    let refusedItems = 0;
    for (const each of refused) {
      const owner = each.place.dataId ?? each.place.appId;
      const items = owner === undefined ? each.items : moveToDeadLetters(judged.tally, owner, each.items);
      await publishDeadLetter(delivery, each, { items, ...recordOf(each.uid) });
      refusedItems += items;
    }
    for (const each of judged.passed) {
      await publishDeadLetter(delivery, each, { items: each.items, ...recordOf(each.uid) });
    }
    if (judged.unreadableItems > 0) {
      const aside = unreadable(delivery.payload, 'a section of deferred items cannot be read');
      await publishDeadLetter(delivery, aside, { items: judged.unreadableItems, ...recordOf(undefined) });
    }
    return refusedItems;
  };

  const acknowledge = (settled: readonly Settled<E>[]): void => {
    let stored = 0;
    let rows = 0;
    for (const { message, judged, stored: items } of settled) {
      stored += items;
      rows += judged.rows;
      for (const [reason, dropped] of judged.dropped)
        metrics.dropped.inc({ pipeline: label, reason }, dropped);
      message.delivery.ack();
      count(judged.unreadableItems > 0 ? 'dead_letter' : 'ack');
    }
    metrics.stored.inc({ pipeline: label }, stored);
    metrics.rows.inc({ pipeline: label }, rows);
  };

  const rowsOf = (judged: Judged, key: MessageKey | undefined): OutcomeRow[] => {
    if (pipeline === 'ledger' || key === undefined) return [];
    const { redrive, tally } = judged;
    if (redrive !== undefined) return redriveRows(pipeline, redrive, tally, deps.now());
    return outcomeRows(pipeline, key, tally, judged.arrivedAt, deps.now());
  };

  return {
    settle: async (batch, written) => {
      deps.samples.purged(written.purged);
      const settled: Settled<E>[] = [];
      const rows: OutcomeRow[] = [];
      for (const message of batch) {
        if (written.retryLater.has(message)) {
          giveBack(message.delivery, homelessRetryMs);
          continue;
        }
        const judged = sink.judge(message.envelope, written.purged);
        const key =
          judged.key ?? (judged.tally.size === 0 ? undefined : keyOfBytes(message.delivery.payload));
        try {
          const refusedItems = await deadLetterAll(
            message,
            judged,
            written.deadLettered.get(message) ?? [],
            key,
          );
          rows.push(...rowsOf(judged, key));
          settled.push({ message, judged, stored: judged.kept - refusedItems });
        } catch (error) {
          log.warn({ error: errorText(error) }, 'a dead letter was not confirmed; its message comes again');
        }
      }
      if (await record(rows)) acknowledge(settled);
      else for (const { message } of settled) giveBack(message.delivery, 0);
    },
    settleUnreadable: async (delivery, why) => {
      const { payload } = delivery;
      const now = deps.now();
      const rows: OutcomeRow[] =
        pipeline === 'ledger' ? [] : [unreadableRow(pipeline, payload, now, delivery.redrive)];
      const [row] = rows;
      await publishDeadLetter(delivery, unreadable(payload, why), {
        items: 1,
        ...(row === undefined ? {} : { outcome: { base: row.base, first: row.first, minute: row.minute } }),
      });
      await deps.ledger.record(rows);
      delivery.ack();
      count('dead_letter');
    },
    giveBack,
    get problem() {
      return problem;
    },
  };
};
