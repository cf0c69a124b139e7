/** A stream of the bus and its durable consumer. Sizes are bytes, times milliseconds. */
export type StreamDefinition = {
  readonly name: string;
  readonly subjects: readonly string[];
  readonly retention: 'workqueue' | 'limits';
  /** What gives way when the stream is full: the message that comes (its publisher is refused) or the oldest one. */
  readonly discard: 'new' | 'old';
  readonly bytesMax: number;
  readonly duplicateWindowMs: number;
  readonly replicas: number;
  readonly consumer: ConsumerDefinition | undefined;
  /** Receivers publish to it: a request of several messages is stored there whole or not at all. */
  readonly isAtomic?: true;
  /** Of a further QuestDB instance: everything else goes on without it. */
  readonly isFurther?: true;
};

export type ConsumerDefinition = {
  readonly name: string;
  readonly stream: string;
  readonly ackWaitMs: number;
  readonly ackPendingMax: number;
};

/** When a consumer stops because too much of what it writes goes to the dead letters. Counted in items. */
export type BreakerDefinition = {
  /** Dead-lettered items in a row, with no stored item between them. */
  readonly inARowMax: number;
  /** Share of the last `shareItemsMin` items or more, 0 to 1. */
  readonly shareMax: number;
  readonly shareItemsMin: number;
  /** Until one batch is tried again, ms. */
  readonly pauseMs: number;
};
