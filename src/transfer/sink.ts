import type { DeadLetterPart, DeadLetterReason } from '../dead-letters/dead-letters.ts';
import type { Pipeline } from '../model/signals.ts';
import type { Tally } from '../outcomes/tally.ts';
import type { ReadResult } from '../wire/envelope.ts';
import type { MessageKey } from '../wire/message-key.ts';
import type { OwnerDays } from '../wire/part-days.ts';
import type { Redrive } from '../wire/redrive.ts';
import type { HeldMessage } from './held-message.ts';
import type { BusyShares } from './write-pace.ts';

/** Bytes of a message that go to the dead letters, and the items they stand for. */
export type DeadLettered = {
  readonly reason: DeadLetterReason;
  readonly why: string;
  readonly bytes: Uint8Array;
  /** Makes the dead letter's message id. */
  readonly identity: string;
  readonly items: number;
  /** The destination, for the header of the dead letter. */
  readonly place: {
    readonly dataId?: number;
    readonly appId?: number;
    readonly table?: string;
    readonly uid?: string;
  };
  /** For one item: makes the key of the record that its redrive writes. */
  readonly uid?: bigint;
  /** The description of the bytes, where they are rows: a redrive needs it. */
  readonly part?: DeadLetterPart;
  /** For an item as it was received: its arrival, ms since the epoch. A redrive encodes the item with it. */
  readonly arrivedAt?: number;
};

/** The outcome of a written batch: all of it is stored except the messages and items named here. A message is in one of them at most. */
export type Written<E> = {
  readonly deadLettered: ReadonlyMap<HeldMessage<E>, readonly DeadLettered[]>;
  /** Messages that cannot be stored now, while others can: returned to NATS, for redelivery. */
  readonly retryLater: ReadonlySet<HeldMessage<E>>;
  /** When NATS delivers those again at the earliest, ms, where that is later than by default. */
  readonly retryLaterMs?: number;
  /** Messages of which a part waits for a later write, of which each takes a bounded part: not settled yet. Default: none. */
  readonly unfinished?: ReadonlySet<HeldMessage<E>>;
  /** Why the store accepted nothing of the batch, where it answered and all of it waits; undefined when it accepted something. */
  readonly problem?: string;
  /** Data ids that were left out of the whole batch, because they are purged. */
  readonly purged: ReadonlySet<number>;
};

/** The results for the items of a message after its write. */
export type Validated = {
  readonly arrivedAt: number;
  /** Undefined where the message has none. */
  readonly key: MessageKey | undefined;
  /** Items whose rows were written, those included that the store refused. */
  readonly kept: number;
  readonly rows: number;
  /** Dropped in transfer, by reason. */
  readonly dropped: ReadonlyMap<string, number>;
  /** All items of the message, with the drops of the receiver; empty where its items have no owner. */
  readonly tally: Tally;
  /** Items whose time is valid after all: they cannot be encoded here. */
  readonly passed: readonly DeadLettered[];
  /** Deferred items that are malformed: the whole message is dead-lettered. */
  readonly unreadableItems: number;
  /** For a message from the dead letters: the record of its items. */
  readonly redrive?: Redrive | undefined;
  /** Rows that the store has taken, by owner and event day; an owner is absent where a message of an earlier program does not tell. */
  readonly days?: ReadonlyMap<number, OwnerDays> | undefined;
};

export type WriteOutcome = 'stored' | 'row_refused' | 'table_missing' | 'table_broken' | 'failed';

/** The differences between the signals: how a message is read, written and validated. All share one worker. */
export type Sink<E> = {
  readonly pipeline: Pipeline | 'ledger';
  /** Label `pipeline` of its figures; the default is `name`, unless several consumers share it. */
  readonly label?: string;
  /** The store's name in logs and readiness. */
  readonly store: string;
  /** Nobody waits for its rows: while they come without a pause, writes are as far apart as they may be. */
  readonly isUnhurried?: boolean;
  /** When its writes come further apart, and when closer again; default: `busyShares`. */
  readonly busyShares?: BusyShares;
  read(payload: Uint8Array, version: number | undefined): ReadResult<E>;
  /** The rows that it brings to the store. */
  rowsOf(envelope: E): number;
  /** Whether a message takes more inserts than others may wait for; absent: none does. */
  isWide?(envelope: E): boolean;
  /** Throws a transient Fault when the outcome is unknown: the worker calls again with the same batch. */
  write(
    batch: readonly HeldMessage<E>[],
    onWrite: (outcome: WriteOutcome, seconds: number) => void,
  ): Promise<Written<E>>;
  /** The results for items that the receiver deferred, and for those that the write omitted as purged. */
  validate(envelope: E, purged: ReadonlySet<number>): Validated;
};
