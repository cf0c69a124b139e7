import type { Delivery } from '../bus/puller.ts';
import type { MetricsEnvelope } from '../wire/metrics-envelope.ts';

/** A message between its delivery and its settlement. */
export type HeldMessage<E = MetricsEnvelope> = {
  readonly delivery: Delivery;
  readonly envelope: E;
  /** Rows it brings to the store. */
  readonly rows: number;
  readonly bytes: number;
  /** It is written over many writes (`Sink.isWide`). */
  readonly isWide?: boolean;
  /** When the server last started its ack wait, at delivery or at the last `working`: ms of the worker's `elapsed`. */
  touchedAt: number;
  /** When it was delivered, ms since the epoch. */
  readonly takenAt: number;
};
