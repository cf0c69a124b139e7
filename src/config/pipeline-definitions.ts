/** A stream of the bus and its durable consumer. Sizes are bytes, times milliseconds. */
export type StreamDefinition = {
  readonly name: string;
  readonly subjects: readonly string[];
  readonly retention: 'workqueue' | 'limits';
  /** What happens when the stream is full: `new` refuses the new message to its publisher, `old` removes the oldest message. */
  readonly discard: 'new' | 'old';
  readonly bytesMax: number;
  readonly duplicateWindowMs: number;
  readonly replicas: number;
  readonly consumer: ConsumerDefinition | undefined;
  /** Receivers publish to this stream: a request of several messages is stored there whole or not at all. */
  readonly isAtomic?: true;
  /** The stream belongs to a further QuestDB instance: all others continue without it. */
  readonly isFurther?: true;
};

export type ConsumerDefinition = {
  readonly name: string;
  readonly stream: string;
  readonly ackWaitMs: number;
  readonly ackPendingMax: number;
};

/** When a consumer stops because too many of its items go to the dead letters. Counted in items. */
export type BreakerDefinition = {
  /** Dead-lettered items in a row, with no stored item between them. */
  readonly inARowMax: number;
  /** Share of the last `shareItemsMin` items or more, 0 to 1. */
  readonly shareMax: number;
  readonly shareItemsMin: number;
  /** The pause before the consumer tries one batch again, ms. */
  readonly pauseMs: number;
};
