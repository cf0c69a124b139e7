import type { Delivery } from '../bus/puller.ts';
import { bytesIdentity, type DeadLetterHeader, type DeadLetters } from '../dead-letters/dead-letters.ts';
import { itemKeyOf } from '../outcomes/outcome-rows.ts';
import type { OutcomeRow } from '../outcomes/rows.ts';
import type { Letters } from '../outcomes/settled-lines.ts';
import { deadLetteredOutcome, moveToDeadLetters, type Tally } from '../outcomes/tally.ts';
import { minuteText } from '../outcomes/times.ts';
import type { Log } from '../telemetry/log.ts';
import type { TransferMetrics } from '../telemetry/transfer-metrics.ts';
import type { MessageKey } from '../wire/message-key.ts';
import type { TransferSamples } from './samples.ts';
import type { DeadLettered, Sink, Validated } from './sink.ts';

export type SettleDeadLettersDependencies = {
  readonly sink: Pick<Sink<unknown>, 'pipeline' | 'label'>;
  readonly stream: string;
  readonly deadLetters: DeadLetters;
  readonly samples: TransferSamples;
  readonly metrics: TransferMetrics;
  readonly log: Log;
  readonly now: () => number;
};

/** What one message left in the dead letters. */
export type KeptLetters = {
  /** Items that the store refused. */
  readonly refusedItems: number;
  readonly letters: Letters;
};

/** The dead letters of messages that settle. Both throw the Faults of the publisher: the message is redelivered then. */
export type SettleDeadLetters = {
  /**
   * Dead-letters the items that the store refused and those that the message brings for the dead letters, and moves them there in
   * the tally.
   */
  itemsOf(
    delivery: Delivery,
    validated: Validated,
    refused: readonly DeadLettered[],
    key: MessageKey | undefined,
  ): Promise<KeptLetters>;
  /** Dead-letters a message that cannot be read; `row` is its record. */
  unreadable(delivery: Delivery, why: string, row: OutcomeRow | undefined): Promise<void>;
};

/** The place of a dead letter in the records of outcomes. */
type RecordPlace = Pick<DeadLetterHeader, 'outcome' | 'ordinal'>;

const unreadableMessage = (payload: Uint8Array, why: string): DeadLettered => ({
  reason: 'unreadable_message',
  why,
  bytes: payload,
  identity: bytesIdentity(payload),
  items: 1,
  place: {},
});

const recordPlaceOf = (
  key: MessageKey | undefined,
  { redrive, arrivedAt }: Validated,
  uid: bigint | undefined,
): RecordPlace => {
  if (key === undefined) return {};
  // For a redriven message, the minute of its first record: another minute would make a second record.
  const minute = redrive?.outcome?.minute ?? minuteText(arrivedAt);
  if (uid === undefined) return { outcome: { ...key, minute } };
  const { base, first, ordinal } = itemKeyOf(key, uid);
  return { outcome: { base, first, minute }, ordinal };
};

/**
 * The number of an item's letter: that of the record which names it, as a message that is redriven as it was writes its standing record
 * again. A line of LEDGER has no record: its bytes are those of the letter before, whose message id is taken.
 */
const redriveOf = (pipeline: Sink<unknown>['pipeline'], delivery: Delivery, { redrive }: Validated): number =>
  redrive?.number ?? (pipeline === 'ledger' ? delivery.redrive : 0);

/** Collects the dead letters of one message by owner. */
const createLetters = () => {
  const letters = new Map<number, Map<number, number>>();
  const add = (owner: number | undefined, ordinal: number | undefined, items: number): void => {
    if (owner === undefined || items <= 0) return;
    const place = ordinal ?? -1;
    const made = letters.get(owner);
    if (made === undefined) letters.set(owner, new Map([[place, items]]));
    else made.set(place, (made.get(place) ?? 0) + items);
  };
  /** What no other letter holds is in that of the whole message. */
  const addWhole = (tally: Tally): void => {
    for (const [owner, counts] of tally) {
      let items = counts.get(deadLetteredOutcome) ?? 0;
      for (const named of letters.get(owner)?.values() ?? []) items -= named;
      add(owner, undefined, items);
    }
  };
  return { letters, add, addWhole };
};

export const createSettleDeadLetters = (deps: SettleDeadLettersDependencies): SettleDeadLetters => {
  const { sink, metrics, log } = deps;

  const publish = async (
    delivery: Delivery,
    deadLettered: DeadLettered,
    outcome: RecordPlace & Pick<DeadLetterHeader, 'items' | 'redrive'>,
  ): Promise<void> => {
    const { reason, why, bytes, identity, place, part, arrivedAt } = deadLettered;
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
      at: deps.now(),
    };
    await deps.deadLetters.put(identity, header, bytes);
    metrics.deadLettered.inc({ pipeline: sink.label ?? sink.pipeline, reason }, outcome.items);
    deps.samples.deadLettered(sink.pipeline, deadLettered);
    log.error({ reason, why, ...place, sequence: delivery.streamSequence }, 'dead-lettered');
  };

  return {
    itemsOf: async (delivery, validated, refused, key) => {
      const redrive = redriveOf(sink.pipeline, delivery, validated);
      let refusedItems = 0;
      const { letters, add, addWhole } = createLetters();
      for (const each of refused) {
        const owner = each.place.dataId ?? each.place.appId;
        const items =
          owner === undefined ? each.items : moveToDeadLetters(validated.tally, owner, each.items);
        const place = recordPlaceOf(key, validated, each.uid);
        await publish(delivery, each, { items, redrive, ...place });
        add(owner, place.ordinal, items);
        refusedItems += items;
      }
      for (const each of validated.passed) {
        const place = recordPlaceOf(key, validated, each.uid);
        await publish(delivery, each, { items: each.items, redrive, ...place });
        add(each.place.dataId ?? each.place.appId, place.ordinal, each.items);
      }
      if (validated.unreadableItems > 0) {
        const whole = unreadableMessage(delivery.payload, 'a section of deferred items cannot be read');
        const place = recordPlaceOf(key, validated, undefined);
        // Its bytes are those of the letter before, whose message ids are taken.
        await publish(delivery, whole, {
          items: validated.unreadableItems,
          redrive: delivery.redrive,
          ...place,
        });
        addWhole(validated.tally);
      }
      return { refusedItems, letters };
    },
    unreadable: async (delivery, why, row) => {
      const place: RecordPlace =
        row === undefined ? {} : { outcome: { base: row.base, first: row.first, minute: row.minute } };
      await publish(delivery, unreadableMessage(delivery.payload, why), {
        items: 1,
        redrive: delivery.redrive,
        ...place,
      });
    },
  };
};
