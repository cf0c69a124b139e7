import type { TraceSpan, Tracing } from '../telemetry/tracing.ts';
import type { HeldMessage } from './held-message.ts';
import type { Sink, WriteOutcome, Written } from './sink.ts';

type Result = Pick<Written<unknown>, 'retryLater' | 'deadLettered' | 'unfinished'>;

/** Spans of one batch on its way to a store. They exist only where a message of it is traced. */
export type BatchTrace = {
  /** Reports the end of a request to the store, after this many seconds. */
  sent(outcome: WriteOutcome, seconds: number): void;
  /** Reports the result of the batch; undefined: its messages were returned to NATS. */
  written(result: Result | undefined): void;
  /** Its messages are acknowledged, or will be redelivered. */
  settled(): void;
};

export type BatchTraces = {
  begin<E>(
    sink: Pick<Sink<E>, 'pipeline' | 'store'>,
    batch: readonly HeldMessage<E>[],
  ): BatchTrace | undefined;
};

const settlementOf = (
  message: HeldMessage<unknown>,
  { retryLater, unfinished, deadLettered }: Result,
): string => {
  if (retryLater.has(message)) return 'retry';
  if (unfinished?.has(message)) return 'unfinished';
  return deadLettered.has(message) ? 'dead_letter' : 'ack';
};

/** Messages of one batch that have a span; further ones do not. */
const messagesMax = 100;

/** One message from its delivery to its settlement, in the trace of its request. */
type Processed = { readonly message: HeldMessage<unknown>; readonly span: TraceSpan };

/**
 * Each traced message has a span of its own, under the publish that brought it. A batch is written once for all: its spans are in
 * the trace of the first such message, with links to the others.
 */
export const createBatchTraces = (tracing: Tracing): BatchTraces => {
  const process = (pipeline: string, batch: readonly HeldMessage<unknown>[]): Processed[] => {
    const processed: Processed[] = [];
    for (const message of batch) {
      const { delivery, takenAt, bytes, rows } = message;
      if (delivery.traceparent === undefined || delivery.traceparent === '') continue;
      const span = tracing.start(`process ${pipeline}`, {
        kind: 'consumer',
        parent: delivery.traceparent,
        startedAtMs: takenAt,
        attributes: {
          'messaging.system': 'nats',
          'messaging.message.body.size': bytes,
          'tidemark.pipeline': pipeline,
          'tidemark.stream_sequence': delivery.streamSequence,
          'tidemark.redelivered': delivery.redelivered,
          'tidemark.rows': rows,
        },
      });
      if (span !== undefined) processed.push({ message, span });
      if (processed.length >= messagesMax) break;
    }
    return processed;
  };

  return {
    begin: ({ pipeline, store }, batch) => {
      const processed = process(pipeline, batch);
      const [first, ...others] = processed;
      if (first === undefined) return undefined;
      const write = tracing.start(`write ${store}`, {
        kind: 'internal',
        parent: first.span,
        links: others.map(({ span }) => span),
        attributes: {
          'tidemark.pipeline': pipeline,
          'tidemark.messages': batch.length,
          'tidemark.rows': batch.reduce((sum, { rows }) => sum + rows, 0),
        },
      });
      if (write !== undefined) for (const { span } of others) span.link(write);
      let settle: TraceSpan | undefined;
      const end = (failure?: string): void => {
        for (const { span } of processed) span.end(failure);
      };
      return {
        sent: (outcome, seconds) => {
          const isFailed = outcome === 'failed';
          const span = tracing.start(`insert ${store}`, {
            kind: 'client',
            parent: write,
            startedAtMs: Date.now() - seconds * 1000,
            attributes: { 'tidemark.outcome': outcome },
          });
          span?.end(isFailed ? 'the store did not accept it' : undefined);
        },
        written: (result) => {
          write?.end(result === undefined ? 'returned to the stream: the store is not available' : undefined);
          if (result === undefined) return end('returned to the stream');
          for (const { message, span } of processed) {
            span.set({ 'tidemark.settlement': settlementOf(message, result) });
          }
          settle = tracing.start(`settle ${pipeline}`, { kind: 'internal', parent: first.span });
        },
        settled: () => {
          settle?.end();
          end();
        },
      };
    },
  };
};
