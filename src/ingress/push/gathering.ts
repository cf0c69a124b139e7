import { isTooLarge } from '../../bus/too-large.ts';
import { Fault } from '../../model/fault.ts';
import { runBudget } from '../../rules/points/cutting.ts';
import { runLength } from '../../rules/points/encoded-points.ts';
import type { TraceSpan } from '../../telemetry/tracing.ts';
import type { RequestPublisher } from '../request-publisher.ts';
import { type Fragment, messageParts } from './message.ts';

/** A run and the latest time of its sender's answer, ms of `performance.now()`. */
export type DueFragment = Fragment & { readonly deadlineAt: number };

/** A run that waits for its publish. */
export type Waiting = {
  readonly fragment: DueFragment;
  /** The span of its request, where that is traced. */
  readonly trace: TraceSpan | undefined;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
};

/** From this size on, bytes do not wait for the publish in flight. */
const fullEnough = 256 * 1024;
const inFlightMax = 4;

const sizeOf = ({ fragment }: Waiting): number => runLength(fragment.run);

/** Rejects the runs whose deadline has passed. A message stays in flight for its other runs. */
const expire = (waiting: readonly Waiting[], now: number, code: 'not_stored' | 'unconfirmed'): void => {
  for (const { fragment, reject } of waiting)
    if (fragment.deadlineAt <= now) reject(new Fault('transient', code, 'the deadline has passed'));
};

const lastDeadline = (batch: readonly Waiting[]): number =>
  batch.reduce((last, { fragment }) => Math.max(last, fragment.deadlineAt), 0);

/** Gathers the runs that arrive for one subject while a publish is in flight, and publishes them as one message. */
export class Gathering {
  readonly subject: string;
  private readonly publisher: RequestPublisher;
  private readonly onFlight: () => void;
  private waiting: Waiting[] = [];
  private size = 0;
  /** The runs of each publish in flight. */
  private readonly flights = new Set<readonly Waiting[]>();
  private isScheduled = false;

  /** `onFlight` is called when a publish begins. */
  constructor(subject: string, publisher: RequestPublisher, onFlight: () => void) {
    this.subject = subject;
    this.publisher = publisher;
    this.onFlight = onFlight;
  }

  get isBusy(): boolean {
    return this.flights.size > 0;
  }

  add(one: Waiting): void {
    this.waiting.push(one);
    this.size += sizeOf(one);
    if (this.isScheduled) return;
    this.isScheduled = true;
    // After the other requests that this turn of the event loop has read.
    setImmediate(() => {
      this.isScheduled = false;
      this.flush();
    });
  }

  /** Rejects the runs whose deadline has passed, so that a publish that hangs delays no sender longer. */
  expire(now: number): void {
    expire(this.waiting, now, 'not_stored');
    this.waiting = this.waiting.filter(({ fragment }) => fragment.deadlineAt > now);
    this.size = this.waiting.reduce((size, one) => size + sizeOf(one), 0);
    for (const batch of this.flights) expire(batch, now, 'unconfirmed');
  }

  private flush(): void {
    const { flights } = this;
    while (
      this.waiting.length > 0 &&
      (flights.size === 0 || (this.size >= fullEnough && flights.size < inFlightMax))
    )
      this.publish(this.takeBatch());
  }

  /** Takes waiting runs up to the limit of one message. */
  private takeBatch(): Waiting[] {
    let size = 0;
    let count = 0;
    for (const one of this.waiting) {
      const more = sizeOf(one);
      if (size + more > runBudget && count > 0) break;
      size += more;
      count++;
    }
    this.size -= size;
    return this.waiting.splice(0, count);
  }

  private publish(batch: readonly Waiting[]): void {
    const { flights, subject } = this;
    const leading = batch[0]?.fragment;
    if (leading === undefined) return;
    flights.add(batch);
    this.onFlight();
    const messageId = `${leading.base.text}:${leading.run.first}`;
    const parts = messageParts(batch.map(({ fragment }) => fragment));
    const requests = batch.map(({ trace }) => trace);
    this.publisher
      .publish({ subject, messageId, ...parts }, requests, lastDeadline(batch))
      .then(
        () => {
          for (const { resolve } of batch) resolve();
        },
        (error: unknown) => {
          if (batch.length > 1 && isTooLarge(error)) return this.publishHalves(batch);
          for (const { reject } of batch) reject(error);
        },
      )
      .finally(() => {
        flights.delete(batch);
        this.flush();
      });
  }

  /** Nothing of the batch was sent. A run that is too large by itself is refused alone in the end. */
  private publishHalves(batch: readonly Waiting[]): void {
    const middle = Math.ceil(batch.length / 2);
    this.publish(batch.slice(0, middle));
    this.publish(batch.slice(middle));
  }
}
